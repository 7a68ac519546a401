/*
 * session_env.c - merges a client's environment, and decides which values reach the journal. Pure.
 *
 * Only variables named in envKeep are stored with their values. Of all others the record has the
 * names (envNeeded): a later daemon requires their values again before it starts the harness. Names
 * contain no escapes, as session_env_name checked them: raw JSON keys are compared without
 * decoding.
 */
#include "session/core/harness/session_env.h"

#include "json/jstr.h"

static struct slice between_quotes(struct jval v)
{
	return v.type == J_STRING ? (struct slice){ v.raw.p + 1, v.raw.n - 2 } : SLICE_NONE;
}

static bool has_variable(struct slice object, struct slice name)
{
	struct slice key;
	struct jiter it;
	struct jval v;

	if (!object.n || !jiter_init(&it, (struct jval){ J_OBJECT, object }))
		return false;
	while (jiter_next(&it, &key, &v))
		if (slice_eq(key, name))
			return true;
	return false;
}

static bool has_name(struct slice array, struct slice name)
{
	struct jiter it;
	struct jval v;

	if (!array.n || !jiter_init(&it, (struct jval){ J_ARRAY, array }))
		return false;
	while (jiter_next(&it, NULL, &v))
		if (slice_eq(between_quotes(v), name))
			return true;
	return false;
}

static void put_name(struct jw *w, struct slice name)
{
	jw_slice(w, NULL, name);
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

/* --- checks ------------------------------------------------------------------------------------------ */

static int check_keep(const struct setup *s, const struct setup_params *p, struct err *e)
{
	struct jiter it;
	struct jval v;

	if (!p->env_keep.n)
		return 0;
	jiter_init(&it, (struct jval){ J_ARRAY, p->env_keep });
	while (jiter_next(&it, NULL, &v)) {
		struct slice name = between_quotes(v);

		/* The variable may be given by this call, or by an earlier one. */
		if (!has_variable(p->env, name) && !has_variable(slice_of(s->env), name))
			return err_field(e, "_meta.acpd.envKeep", "FIELD_INVALID",
					 "env has no variable %.*s", (int)MIN(name.n, 64u), name.p);
	}
	return 0;
}

bool session_env_put_missing(const struct setup *s, const struct setup_params *p, struct jw *w)
{
	bool any = false;
	struct jiter it;
	struct jval v;

	jw_arr(w, "names");
	if (s->env_needed && jiter_init(&it, (struct jval){ J_ARRAY, slice_of(s->env_needed) }))
		while (jiter_next(&it, NULL, &v)) {
			struct slice name = between_quotes(v);

			if (has_variable(p->env, name) || has_variable(p->secrets, name))
				continue;
			put_name(w, name);
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
	struct slice key;
	struct jiter it;
	struct jval v;

	if (!from.n || !jiter_init(&it, (struct jval){ J_OBJECT, from }))
		return;
	while (jiter_next(&it, &key, &v))
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

bool session_env_apply(struct setup *s, const struct setup_params *p, bool *noted)
{
	bool changed = false;

	if (p->env_keep.n)
		*noted |= replace(&s->env_keep, p->env_keep);
	if (p->env.n)
		changed |= apply_env(s, p->env);
	if (p->secrets.n)
		changed |= replace(&s->secrets, p->secrets);
	/* session_env_check has made sure that all missing variables are given. */
	if (p->env.n || p->secrets.n)
		*noted |= replace(&s->env_needed, SLICE_NONE);
	return changed;
}

/* --- the journal ------------------------------------------------------------------------------------- */

static void put_others(struct jw *w, struct slice from, struct slice keep)
{
	struct slice key;
	struct jiter it;
	struct jval v;

	if (!from.n || !jiter_init(&it, (struct jval){ J_OBJECT, from }))
		return;
	while (jiter_next(&it, &key, &v))
		if (!has_name(keep, key))
			put_name(w, key);
}

void session_env_put(const struct setup *s, struct jw *w)
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

void session_env_load(struct setup *s, struct slice record)
{
	load_raw(record, "env", J_OBJECT, &s->env);
	load_raw(record, "envKeep", J_ARRAY, &s->env_keep);
	load_raw(record, "envNeeded", J_ARRAY, &s->env_needed);
	/* The list is empty if all variables were kept: then none is missing. */
	if (s->env_needed && strcmp(s->env_needed, "[]") == 0)
		replace(&s->env_needed, SLICE_NONE);
}
