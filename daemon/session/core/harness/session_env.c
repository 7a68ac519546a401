/*
 * session_env.c - merges a client's environment, and decides which values reach the journal. Pure.
 *
 * Only variables named in envKeep are stored with their values. Of all others the record has the
 * names (envNeeded): a later daemon requires their values again before it starts the harness. Names
 * contain no escapes, as session_env_name checked them: raw JSON keys are compared without
 * decoding.
 */
#include "session/core/harness/session_env.h"

#include "base/limits.h"
#include "json/jstr.h"

static struct slice between_quotes(struct jval v)
{
	return v.type == J_STRING ? (struct slice){ v.raw.p + 1, v.raw.n - 2 } : SLICE_NONE;
}

static bool has_variable(struct slice object, struct slice name)
{
	jobj_each(key, v, object)
		if (slice_eq(key, name))
			return true;
	return false;
}

static bool has_name(struct slice array, struct slice name)
{
	jarr_each(v, array)
		if (slice_eq(between_quotes(v), name))
			return true;
	return false;
}

bool session_env_name(struct slice key)
{
	/* ACPD_ variables belong to the daemon and its helpers. A client must not set them. */
	if (!key.n || key.n > 256 || slice_starts(key, "ACPD_"))
		return false;
	for (size_t i = 0; i < key.n; i++) {
		char c = key.p[i];

		if (!(c == '_' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
		      (i && c >= '0' && c <= '9')))
			return false;
	}
	return true;
}

/* --- checks of a session ------------------------------------------------------------------------------- */

static int check_keep(const struct setup *s, const struct setup_params *p, struct err *e)
{
	jarr_each(v, setup_given_text(p, &env_keep_parameter)) {
		struct slice name = between_quotes(v);

		/* The variable may be given by this call, or by an earlier one. */
		if (!has_variable(setup_given_text(p, &env_parameter), name) &&
		    !has_variable(slice_of(s->env), name))
			return err_field(e, "_meta.acpd.envKeep", "FIELD_INVALID",
					 "env has no variable %.*s", (int)MIN(name.n, 64u), name.p);
	}
	return 0;
}

bool session_env_put_missing(const struct setup *s, const struct setup_params *p, struct jw *w)
{
	struct slice env = setup_given_text(p, &env_parameter);
	struct slice secrets = setup_given_text(p, &secrets_parameter);
	bool any = false;

	jw_arr(w, "names");
	jarr_each(v, slice_of(s->env_needed)) {
		struct slice name = between_quotes(v);

		if (has_variable(env, name) || has_variable(secrets, name))
			continue;
		jw_slice(w, NULL, name);
		any = true;
	}
	jw_end_arr(w);
	return any;
}

int session_env_check(const struct setup *s, const struct setup_params *p, struct err *e)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	if (session_env_put_missing(s, p, &w))
		return err_field(
			e, "_meta.acpd.env", "ENV_REQUIRED",
			"the values of some variables were not written down: give them again");
	return check_keep(s, p, e);
}

/* --- changes ----------------------------------------------------------------------------------------- */

static bool replace(char **slot, struct slice s)
{
	if (slice_is(s, *slot ? *slot : ""))
		return false;
	free(*slot);
	*slot = s.n ? xstrndup(s.p, s.n) : NULL;
	return true;
}

/* Members of from whose names are in names, but for those of except. */
static void put_some(struct jw *w, struct slice from, struct slice names, struct slice except)
{
	jobj_each(key, v, from)
		if (has_name(names, key) && !has_variable(except, key))
			jw_member_raw(w, key, v.raw);
}

/* What is given, and what was kept. */
static bool apply_env(struct setup *s, struct slice given)
{
	_cleanup_(buf_done) struct buf b = { .max = SIZE_MAX / 2 };
	struct jw w = JW(&b);

	jw_obj(&w, NULL);
	jw_members(&w, given, NULL);
	/* A kept variable that is given again has the new value only. */
	put_some(&w, slice_of(s->env), slice_of(s->env_keep), given);
	jw_end_obj(&w);
	return replace(&s->env, buf_slice(&b));
}

/* All three at once: which variables of the earlier env stay depends on the new envKeep. */
static unsigned apply_variables(struct setup *s, const struct setup_params *p)
{
	struct slice env = setup_given_text(p, &env_parameter);
	struct slice secrets = setup_given_text(p, &secrets_parameter);
	struct slice keep = setup_given_text(p, &env_keep_parameter);
	bool noted = keep.n && replace(&s->env_keep, keep);
	bool changed = env.n && apply_env(s, env);

	if (secrets.n)
		changed |= replace(&s->secrets, secrets);
	/* session_env_check has made sure that all missing variables are given. */
	if (env.n || secrets.n)
		noted |= replace(&s->env_needed, SLICE_NONE);
	return (changed ? SETUP_ENV : 0) | (changed || noted ? SETUP_CHANGED : 0);
}

static unsigned apply_with_env(struct setup *s _unused_, const struct setup_params *p _unused_)
{
	return 0;
}

/* --- the journal ------------------------------------------------------------------------------------- */

static void put_others(struct jw *w, struct slice from, struct slice keep)
{
	jobj_each(key, v, from)
		if (!has_name(keep, key))
			jw_slice(w, NULL, key);
}

static void put_variables_kept(const struct setup *s, struct jw *w)
{
	struct slice keep = slice_of(s->env_keep);

	if (keep.n) {
		jw_obj(w, "env");
		put_some(w, slice_of(s->env), keep, SLICE_NONE);
		jw_end_obj(w);
	}
	jw_raw(w, "envKeep", keep);
	if (s->env_needed) { /* nobody has given them yet */
		jw_raw(w, "envNeeded", slice_of(s->env_needed));
		return;
	}
	if (!s->env && !s->secrets)
		return;
	/* Names only: values that are not in envKeep are never written to disk. */
	jw_arr(w, "envNeeded");
	put_others(w, slice_of(s->env), keep);
	put_others(w, slice_of(s->secrets), SLICE_NONE);
	jw_end_arr(w);
}

static void load_raw(struct slice record, const char *key, enum jtype type, char **slot)
{
	struct jval v = jobj_get(record, key);

	replace(slot, v.type == type ? v.raw : SLICE_NONE);
}

static void load_variables(struct setup *s, struct slice record)
{
	load_raw(record, "env", J_OBJECT, &s->env);
	load_raw(record, "envKeep", J_ARRAY, &s->env_keep);
	load_raw(record, "envNeeded", J_ARRAY, &s->env_needed);
	/* The list is empty if all variables were kept: then none is missing. */
	if (s->env_needed && strcmp(s->env_needed, "[]") == 0)
		replace(&s->env_needed, SLICE_NONE);
}

/* --- the parameters -------------------------------------------------------------------------------------- */

static int check_value(struct jval v, size_t name, const char *path, struct err *e)
{
	_cleanup_(freep) char *value = NULL;
	/* NAME=VALUE is one string for execve(2), which limits its length. */
	size_t max = ARG_BYTES_MAX - name - 1;
	int r = jstr_decode(v, max, &value);

	if (r == -ENAMETOOLONG)
		return err_field(e, path, "FIELD_TOO_LONG",
				 "%s: a variable has at most %zu bytes on this system; "
				 "pass a file instead",
				 path, max);
	return r < 0 ? err_field(e, path, "FIELD_INVALID",
				 "the value must be a string without NUL") :
		       0;
}

static int check_variables(struct jval env, const struct parameter_check *c, struct err *e)
{
	size_t n = 0;

	jobj_each(key, v, env) {
		int r;
		const char *path = SHORT_TEXT(96, "%s.%.*s", c->field, (int)MIN(key.n, 64u), key.p);

		if (n++ >= EXTRA_ENV_MAX)
			return err_field(e, path, "TOO_MANY", "more than %d variables",
					 EXTRA_ENV_MAX);
		/* The name is raw text: one with an escape is not valid. */
		if (!session_env_name(key))
			return err_field(e, path, "ENV_NAME_INVALID",
					 "not a variable name, or one that belongs to the daemon");
		r = check_value(v, key.n, path, e);
		if (r < 0)
			return r;
	}
	return 0;
}

/* A name in both would leave open which value holds. */
static int check_secrets(struct jval secrets, const struct parameter_check *c, struct err *e)
{
	struct slice env = setup_given_text(c->params, &env_parameter);
	char path[96];

	if (check_variables(secrets, c, e) < 0)
		return -EINVAL;
	jobj_each(key, v, secrets) {
		snprintf(path, sizeof(path), "%s.%.*s", c->field, (int)MIN(key.n, 64u), key.p);
		/* As raw text: valid names have no escapes. */
		if (has_variable(env, key))
			return err_field(e, path, "FIELD_INVALID", "the variable is in env, too");
	}
	return 0;
}

static int check_env_keep(struct jval names, const struct parameter_check *c, struct err *e)
{
	char path[48];

	jarr_each_at(n, v, names) {
		snprintf(path, sizeof(path), "%s[%zu]", c->field, n);
		if (n >= EXTRA_ENV_MAX)
			return err_field(e, path, "TOO_MANY", "more than %d names", EXTRA_ENV_MAX);
		if (v.type != J_STRING)
			return err_field(e, path, "FIELD_INVALID",
					 "must be the name of a variable");
		if (!session_env_name(between_quotes(v)))
			return err_field(e, path, "ENV_NAME_INVALID", "not a variable name");
	}
	return 0;
}

#define KEPT(member) .kept = offsetof(struct setup, member)

const struct session_parameter env_parameter = {
	PARAMETER("env", OBJ, "variables that are added to the environment"),
	.order = { .checked = 10, .stored = 240 },
	.change = SETUP_ENV,
	KEPT(env),
	.check = check_variables,
	.apply = apply_variables,
	.put_record = put_variables_kept,
	.load_record = load_variables,
};

const struct session_parameter secrets_parameter = {
	PARAMETER("secrets", OBJ, "variables that are hidden everywhere and never written down"),
	.order = { .checked = 20 },
	KEPT(secrets),
	.check = check_secrets,
	.apply = apply_with_env,
};

const struct session_parameter env_keep_parameter = {
	PARAMETER("envKeep", ARR, "names of env that are kept with the session"),
	.order = { .checked = 30 },
	KEPT(env_keep),
	.check = check_env_keep,
	.apply = apply_with_env,
};
