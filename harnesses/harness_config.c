/*
 * harness_config.c - loads the manifest of --harness-config into the table of harnesses.
 *
 * The file is strict: an unknown member or capability is an error, because the daemon would
 * otherwise start with a setting that has no effect. Errors name line, entry and member. The line
 * is found in a copy of the text, because the loaded text has no line breaks. Entries change the
 * table in place: after an error the caller frees the whole table, and the daemon does not start.
 */
#include "harnesses/registry.h"

#include "base/limits.h"
#include "base/strv.h"
#include "base/util.h"
#include "harnesses/acp/quirks.h"
#include "json/json.h"

#define MANIFEST_ENTRIES_MAX 64
#define MANIFEST_ARGS_MAX 64
#define ENV_NAME_MAX 256

struct config_entry {
	char *id, *command, *title, *quirks;
	struct slice args, env, capabilities, auth_methods;
};

static const struct jfield entry_fields[] = {
	JF_STR(struct config_entry, id, "id", JF_REQUIRED, 64),
	JF_STR(struct config_entry, command, "command", 0, 4096),
	JF_STR(struct config_entry, title, "title", 0, 128),
	JF_STR(struct config_entry, quirks, "quirks", 0, 64),
	JF_ARR(struct config_entry, args, "args", 0),
	JF_OBJ(struct config_entry, env, "env", 0),
	JF_OBJ(struct config_entry, capabilities, "capabilities", 0),
	JF_ARR(struct config_entry, auth_methods, "authMethods", 0),
	JF_END,
};

/* --- capabilities ----------------------------------------------------------------------------------------- */

/* What ACP's agentCapabilities have, and mcpCapabilities.stdio. Only their types are checked here: harness_caps_parse
 * reads those with a meaning. */
struct caps_words {
	bool flag;
	struct slice object, prompt, mcp, session;
};

#define FLAG(name) JF_BOOL(struct caps_words, flag, name, 0)
#define OBJECT(name) JF_OBJ(struct caps_words, object, name, 0)

static const struct jfield caps_fields[] = {
	FLAG("loadSession"),
	JF_OBJ(struct caps_words, prompt, "promptCapabilities", 0),
	JF_OBJ(struct caps_words, mcp, "mcpCapabilities", 0),
	JF_OBJ(struct caps_words, session, "sessionCapabilities", 0),
	OBJECT("auth"),
	OBJECT("providers"),
	OBJECT("_meta"),
	JF_END,
};

static const struct jfield prompt_caps_fields[] = {
	FLAG("image"), FLAG("audio"), FLAG("embeddedContext"), OBJECT("_meta"), JF_END,
};

static const struct jfield mcp_caps_fields[] = {
	FLAG("stdio"), FLAG("http"), FLAG("sse"), FLAG("acp"), OBJECT("_meta"), JF_END,
};

static const struct jfield session_caps_fields[] = {
	OBJECT("list"),	   OBJECT("resume"), OBJECT("close"),
	OBJECT("delete"),  OBJECT("fork"),   OBJECT("additionalDirectories"),
	OBJECT("archive"), OBJECT("status"), OBJECT("systemPrompt"),
	OBJECT("title"),   OBJECT("_meta"),  JF_END,
};

static int check_caps(struct slice raw, const char *prefix, struct err *e)
{
	struct caps_words w = { 0 };
	const struct {
		const struct slice *object;
		const char *name;
		const struct jfield *fields;
	} parts[] = {
		{ &raw, "capabilities.", caps_fields },
		{ &w.prompt, "capabilities.promptCapabilities.", prompt_caps_fields },
		{ &w.mcp, "capabilities.mcpCapabilities.", mcp_caps_fields },
		{ &w.session, "capabilities.sessionCapabilities.", session_caps_fields },
	};
	char path[96];
	int r = 0;

	/* In this order: the first part fills the slices of the others. */
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(parts); i++) {
		snprintf(path, sizeof(path), "%s%s", prefix, parts[i].name);
		if (parts[i].object->n)
			r = jdec_strict(*parts[i].object, parts[i].fields, path,
					"there is no such capability", &w, e);
	}
	return r;
}

/* --- the other members ------------------------------------------------------------------------------------ */

/* What a program is given: more than max is refused when it is started. */
static int decode_program_text(struct jval v, size_t max, const char *path, char **ret,
			       struct err *e)
{
	int r = jstr_decode(v, max, ret);

	if (r == -ENAMETOOLONG)
		return err_field(e, path, "FIELD_TOO_LONG", "%s is longer than %zu bytes", path,
				 max);
	return r < 0 ? err_field(e, path, "FIELD_INVALID", "%s must be a string without NUL",
				 path) :
		       0;
}

static int parse_args(struct slice raw, const char *prefix, char ***ret, struct err *e)
{
	char path[96], **args;

	/* Owned by the table from here on, so an error below needs no cleanup. */
	args = xalloc((MANIFEST_ARGS_MAX + 1) * sizeof(*args));
	*ret = args;
	jarr_each_at(n, v, raw) {
		snprintf(path, sizeof(path), "%sargs[%zu]", prefix, n);
		if (n >= MANIFEST_ARGS_MAX)
			return err_field(e, path, "TOO_MANY", "%s: more than %d args", path,
					 MANIFEST_ARGS_MAX);
		if (decode_program_text(v, ARG_BYTES_MAX, path, &args[n], e) < 0)
			return -EINVAL;
	}
	return 0;
}

static int parse_env(struct slice raw, const char *prefix, struct harness_def *d, struct err *e)
{
	jobj_each(key, v, raw) {
		char path[128], *value = NULL;

		snprintf(path, sizeof(path), "%senv.%.*s", prefix, (int)MIN(key.n, 40u), key.p);
		if (d->nenv >= EXTRA_ENV_MAX)
			return err_field(e, path, "TOO_MANY", "%s: more than %d variables", path,
					 EXTRA_ENV_MAX);
		/* A backslash is the start of an escape in the raw key: names are not decoded. */
		if (!key.n || memchr(key.p, '=', key.n) || memchr(key.p, '\\', key.n) ||
		    key.n > ENV_NAME_MAX)
			return err_field(e, path, "FIELD_INVALID", "%s must be a plain name", path);
		/* The limit is for NAME=VALUE as one string (MAX_ARG_STRLEN, execve(2)). */
		if (decode_program_text(v, ARG_BYTES_MAX - key.n - 1, path, &value, e) < 0)
			return -EINVAL;
		*GROW(d->env, d->nenv) = (struct harness_env){ xstrndup(key.p, key.n), value };
	}
	return 0;
}

static int check_auth_methods(struct slice methods, const char *prefix, struct err *e)
{
	jarr_each_at(i, v, methods) {
		_cleanup_(freep) char *id = NULL;
		const char *member = SHORT_TEXT(48, "authMethods[%zu]", i);

		if (v.type != J_OBJECT || jstr_decode(jobj_get(v.raw, "id"), RPC_ID_MAX, &id) < 0)
			return jdec_refuse(e, prefix, member, "FIELD_INVALID",
					   "must be an object with an id");
	}
	return 0;
}

/* A "terminal" method has the client run the agent's program itself: there is none on its side of the socket. */
static char *usable_auth_methods(struct slice methods)
{
	JW_BUF(w, b);

	jw_arr(&w, NULL);
	jarr_each(v, methods)
		if (v.type == J_OBJECT && !jstr_is(jobj_get(v.raw, "type"), "terminal"))
			jw_raw(&w, NULL, v.raw);
	jw_end_arr(&w);
	return b.len > 2 ? xstrndup(b.data, b.len) : NULL;
}

/* Adapters that are no generic ACP have their own row. */
static int set_quirks(struct harness_def *d, const char *name, const char *prefix, struct err *e)
{
	_cleanup_(buf_done) struct buf known = { 0 };

	if (d->ops != &harness_acp)
		return jdec_refuse(e, prefix, "quirks", "FIELD_INVALID",
				   "is not for a harness that has an adapter of its own");
	harness_use_quirks(d, harness_quirks_find(name));
	if (d->quirks)
		return 0;
	buf_puts(&known, "is the name of no row; known are");
	for (const struct acp_quirks *q = acp_quirks; q->name; q++)
		buf_printf(&known, "%s %s", q == acp_quirks ? "" : ",", q->name);
	return jdec_refuse(e, prefix, "quirks", "QUIRKS_UNKNOWN", known.data);
}

static int apply_entry(struct harness_def *d, struct config_entry *en, const char *prefix,
		       struct err *e)
{
	int r = 0;

	if (en->command) {
		free(d->command);
		d->command = TAKE_PTR(en->command);
		d->own_command = true;
	}
	if (en->title) {
		free(d->title);
		d->title = TAKE_PTR(en->title);
	}
	if (en->capabilities.n) {
		r = check_caps(en->capabilities, prefix, e);
		harness_caps_parse(en->capabilities, &d->caps);
	}
	if (r == 0 && en->auth_methods.n) {
		r = check_auth_methods(en->auth_methods, prefix, e);
		d->auth_methods = usable_auth_methods(en->auth_methods);
	}
	if (r == 0 && en->args.n) {
		/* args replace the built-in ones, and do not follow them. */
		d->args = strv_free(d->args);
		r = parse_args(en->args, prefix, &d->args, e);
	}
	if (r == 0 && en->env.n)
		r = parse_env(en->env, prefix, d, e);
	if (r == 0 && en->quirks)
		r = set_quirks(d, en->quirks, prefix, e);
	if (r == 0 && (!d->command || !*d->command))
		r = jdec_refuse(e, prefix, "command", "FIELD_MISSING", "is required");
	return r;
}

static int load_entry(struct harness_table *t, struct jval v, size_t index, struct err *e)
{
	struct harness_def *d;
	struct config_entry en = { 0 };
	char prefix[40];
	int r;

	snprintf(prefix, sizeof(prefix), "harnesses[%zu]", index);
	if (v.type != J_OBJECT)
		return jdec_refuse(e, prefix, "", "FIELD_INVALID", "must be an object");
	snprintf(prefix, sizeof(prefix), "harnesses[%zu].", index);
	r = jdec_strict(v.raw, entry_fields, prefix, "an entry has no such member", &en, e);
	if (r < 0)
		return r;
	/* The table is the caller's and not const; only the lookup is shared with readers. */
	d = (struct harness_def *)harness_table_find(t, en.id);
	if (!*en.id) {
		r = jdec_refuse(e, prefix, "id", "FIELD_INVALID", "must not be empty");
	} else if (d && d->configured) {
		r = jdec_refuse(e, prefix, "id", "DUPLICATE", "appears twice");
	} else {
		if (!d) {
			d = harness_table_add(t);
			d->id = xstrdup(en.id);
			d->ops = &harness_acp;
			harness_use_quirks(d, NULL);
		}
		d->configured = true;
		if (index == 0)
			/* An index, since the table moves when it grows. */
			t->first_manifest = (size_t)(d - t->defs);
		r = apply_entry(d, &en, prefix, e);
	}
	jdec_free(entry_fields, &en);
	return r;
}

/* --- lines, for messages to the people who wrote the file ---------------------------------------------------- */

/* One step of a path: a member's name, or an index. */
struct path_step {
	struct slice name;
	size_t index;
	bool element;
};

static bool next_path_step(const char **path, struct path_step *ret)
{
	const char *p = *path;
	char *end;

	p += *p == '.';
	if (!*p)
		return false;
	ret->element = *p == '[';
	if (ret->element) {
		ret->index = strtoul(p + 1, &end, 10);
		*path = end + (*end == ']');
		return true;
	}
	ret->name = (struct slice){ p, strcspn(p, ".[") };
	*path = p + ret->name.n;
	return true;
}

/* begin: where the member begins, its name included. */
static bool take_path_step(const struct path_step *s, struct jval *v, const char **begin)
{
	struct slice key = SLICE_NONE;
	struct jval item;
	struct jiter it;

	if (!jiter_init(&it, *v) || it.object == s->element)
		return false;
	for (size_t i = 0; jiter_next(&it, &key, &item); i++) {
		if (s->element ? i != s->index : !slice_eq(key, s->name))
			continue;
		*begin = s->element ? item.raw.p : key.p;
		*v = item;
		return true;
	}
	return false;
}

/* The line (from 1) of the value that path names in a valid object or array: "harnesses[2].env.A", members as they
 * stand in text. If a part of path is absent, the line of the value that should hold it. */
static unsigned long line_of_value(struct slice text, const char *path)
{
	const char *begin = text.p;
	unsigned long line = 1;
	struct path_step step;
	struct jval v;

	if (jscan_value(text, &v) != JSCAN_OK)
		return line;
	while (next_path_step(&path, &step) && take_path_step(&step, &v, &begin))
		;
	for (const char *p = text.p; p < begin; p++)
		line += *p == '\n';
	return line;
}

/* --- the file ---------------------------------------------------------------------------------------------- */

struct config_file {
	struct slice harnesses;
};

static const struct jfield file_fields[] = {
	JF_ARR(struct config_file, harnesses, "harnesses", JF_REQUIRED),
	JF_END,
};

static int load_entries(struct harness_table *t, struct slice text, struct err *e)
{
	struct config_file f = { 0 };
	int r = jdec_strict(text, file_fields, NULL, "a manifest has no such member", &f, e);

	if (r < 0)
		return r;
	jarr_each_at(i, v, f.harnesses) {
		if (i >= MANIFEST_ENTRIES_MAX)
			return err_field(e, "harnesses", "TOO_MANY",
					 "harnesses: more than %d of them", MANIFEST_ENTRIES_MAX);
		r = load_entry(t, v, i, e);
		if (r < 0)
			break;
	}
	return r;
}

int manifest_load(struct harness_table *t, struct buf *text, struct err *e)
{
	enum jscan_error scan = jscan_object(buf_slice(text), NULL, 0);
	_cleanup_(freep) char *lines = NULL;
	char why[JSCAN_TEXT_SIZE];
	struct slice whole;
	int r;

	if (scan != JSCAN_OK)
		return err_field(e, "harness-config", "MANIFEST_INVALID", "%s",
				 jscan_explain(buf_slice(text), scan, why));
	whole = buf_slice(text);
	whole.p = lines = xstrndup(whole.p, whole.n);
	jscan_join_lines(text); /* raw parts of it end up in messages that are lines */
	r = load_entries(t, buf_slice(text), e);
	if (r < 0)
		err_wrap(e, "line %lu", line_of_value(whole, e->field));
	return r;
}
