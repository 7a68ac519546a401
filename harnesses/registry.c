#include "harnesses/registry.h"

#include "base/file.h"
#include "base/limits.h"
#include "harnesses/acp/acp.h"
#include "harnesses/acp/quirks.h"
#include "harnesses/codex/codex.h"
#include "harnesses/opencode/opencode.h"
#include "harnesses/pi/pi.h"
#include "json/jdec.h"
#include "json/jenc.h"
#include "json/jstr.h"

#include <errno.h>
#include <stdio.h>

#define MANIFEST_MAX (1 * MIB)
#define MANIFEST_ENTRIES_MAX 64
#define MANIFEST_ARGS_MAX 64

struct builtin {
	const char *id, *title, *command;
	const char *const *args;
	const struct harness_ops *ops;
	struct harness_caps caps;
	const char *quirks;
	struct harness_places places; /* without quirks */
};

static const char *const opencode_args[] = { "acp", NULL };
static const char *const codex_args[] = { "app-server", NULL };
static const char *const copilot_args[] = { "--acp", "--no-auto-update", NULL };
static const char *const gemini_args[] = { "--acp", NULL };
static const char *const no_args[] = { NULL };

/* caps: measured on the pinned release (tests/harness checks them against the real program). */
static const struct builtin builtins[] = {
	{ "opencode",
	  "OpenCode",
	  "opencode",
	  opencode_args,
	  &harness_opencode,
	  { .image = true,
	    .embedded_context = true,
	    .http = true,
	    .sse = true,
	    .additional_dirs = true,
	    .restore = true,
	    .system_append = true,
	    .system_override = true },
	  NULL,
	  { .skills_dir = ".agents/skills",
	    .instructions_home = ".config/opencode/AGENTS.md",
	    .instructions_file = "AGENTS.md" } },
	{ "codex",
	  "Codex",
	  "codex",
	  codex_args,
	  &harness_codex,
	  { .image = true,
	    .embedded_context = true,
	    .http = true,
	    .additional_dirs = true,
	    .restore = true,
	    .steer = true,
	    .system_append = true,
	    .system_override = true },
	  NULL,
	  { .skills_dir = ".agents/skills",
	    .instructions_home = ".codex/AGENTS.md",
	    .instructions_file = "AGENTS.md" } },
	{ "pi",
	  "Pi",
	  "pi",
	  no_args,
	  &harness_pi,
	  { .image = true,
	    .embedded_context = true,
	    .http = true,
	    .additional_dirs = true,
	    .restore = true,
	    .steer = true,
	    .system_append = true,
	    .system_override = true,
	    .tool_text = 20480 },
	  NULL,
	  { .skills_dir = ".agents/skills",
	    .instructions_home = ".pi/agent/AGENTS.md",
	    .instructions_file = "AGENTS.md" } },
	{ "copilot",
	  "GitHub Copilot CLI",
	  "copilot",
	  copilot_args,
	  &harness_acp,
	  { .image = true, .embedded_context = true, .http = true, .sse = true, .restore = true },
	  "copilot",
	  { 0 } },
	{ "claude",
	  "Claude Agent",
	  "claude-agent-acp",
	  no_args,
	  &harness_acp,
	  { .image = true,
	    .embedded_context = true,
	    .http = true,
	    .sse = true,
	    .additional_dirs = true,
	    .restore = true,
	    .steer = true,
	    .system_append = true,
	    .system_override = true },
	  "claude",
	  { 0 } },
	{ "gemini",
	  "Gemini CLI",
	  "gemini",
	  gemini_args,
	  &harness_acp,
	  { .image = true,
	    .audio = true,
	    .embedded_context = true,
	    .http = true,
	    .sse = true,
	    .restore = true },
	  "gemini",
	  { 0 } },
};

struct entry {
	char *id, *command, *title, *quirks;
	struct slice args, env, capabilities, auth_methods;
};

static const struct jfield entry_fields[] = {
	JF_STR(struct entry, id, "id", JF_REQUIRED, 64),
	JF_STR(struct entry, command, "command", 0, 4096),
	JF_STR(struct entry, title, "title", 0, 128),
	JF_STR(struct entry, quirks, "quirks", 0, 64),
	JF_ARR(struct entry, args, "args", 0),
	JF_OBJ(struct entry, env, "env", 0),
	JF_OBJ(struct entry, capabilities, "capabilities", 0),
	JF_ARR(struct entry, auth_methods, "authMethods", 0),
	JF_END,
};

static bool caps_flag(struct slice object, const char *key)
{
	return jobj_get(object, key).type == J_TRUE;
}

static bool caps_object(struct slice object, const char *key)
{
	return jobj_get(object, key).type == J_OBJECT;
}

void harness_caps_parse(struct slice agent, struct harness_caps *ret)
{
	struct slice prompt = jobj_get(agent, "promptCapabilities").raw;
	struct slice mcp = jobj_get(agent, "mcpCapabilities").raw;
	struct slice session = jobj_get(agent, "sessionCapabilities").raw;

	*ret = (struct harness_caps){
		.image = caps_flag(prompt, "image"),
		.audio = caps_flag(prompt, "audio"),
		.embedded_context = caps_flag(prompt, "embeddedContext"),
		.http = caps_flag(mcp, "http"),
		.sse = caps_flag(mcp, "sse"),
		.no_stdio = jobj_get(mcp, "stdio").type == J_FALSE, /* ours: ACP has it always */
		.additional_dirs = caps_object(session, "additionalDirectories"),
		.restore = caps_flag(agent, "loadSession") || caps_object(session, "resume"),
	};
}

static void def_done(struct harness_def *d)
{
	for (char **a = d->args; a && *a; a++)
		free(*a);
	for (size_t i = 0; i < d->nenv; i++) {
		free(d->env[i].name);
		free(d->env[i].value);
	}
	free(d->args);
	free(d->env);
	free(d->id);
	free(d->title);
	free(d->command);
	free(d->auth_methods);
	memset(d, 0, sizeof(*d));
}

void harness_table_done(struct harness_table *t)
{
	for (size_t i = 0; i < t->n; i++)
		def_done(&t->defs[i]);
	free(t->defs);
	*t = (struct harness_table){ 0 };
}

const struct harness_def *harness_table_find(const struct harness_table *t, const char *id)
{
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->defs[i].id, id) == 0)
			return &t->defs[i];
	return NULL;
}

/* What differs between agents that share an adapter stands in their row. */
static void use_quirks(struct harness_def *d, const struct acp_quirks *q)
{
	d->quirks = q;
	d->places = q ? q->places : acp_no_quirks.places;
}

static struct harness_def *table_add(struct harness_table *t)
{
	t->defs = reallocarray(t->defs, t->n + 1, sizeof(*t->defs));
	if (!t->defs)
		abort();
	memset(&t->defs[t->n], 0, sizeof(*t->defs));
	return &t->defs[t->n++];
}

static void add_builtins(struct harness_table *t)
{
	for (size_t i = 0; i < ARRAY_SIZE(builtins); i++) {
		const struct builtin *b = &builtins[i];
		struct harness_def *d = table_add(t);
		size_t n = 0;

		while (b->args[n])
			n++;
		*d = (struct harness_def){ .id = xstrdup(b->id),
					   .title = xstrdup(b->title),
					   .ops = b->ops,
					   .command = xstrdup(b->command),
					   .caps = b->caps,
					   .places = b->places };
		if (b->quirks)
			use_quirks(d, acp_quirks_find(b->quirks));
		d->args = xalloc((n + 1) * sizeof(*d->args));
		for (size_t k = 0; k < n; k++)
			d->args[k] = xstrdup(b->args[k]);
	}
}

static int parse_args(struct slice raw, const char *prefix, char ***ret, struct err *e)
{
	struct jiter it;
	struct jval v;
	char path[96];
	size_t n = 0;
	char **args;

	jiter_init(&it, (struct jval){ J_ARRAY, raw });
	args = xalloc((MANIFEST_ARGS_MAX + 1) * sizeof(*args));
	*ret = args;
	for (; jiter_next(&it, NULL, &v); n++) {
		snprintf(path, sizeof(path), "%sargs[%zu]", prefix, n);
		if (n >= MANIFEST_ARGS_MAX)
			return err_field(e, path, "TOO_MANY", "more than %d args",
					 MANIFEST_ARGS_MAX);
		if (jstr_decode(v, 64 * KIB, &args[n]) < 0)
			return err_field(e, path, "FIELD_INVALID", "%s must be a string", path);
	}
	return 0;
}

static int parse_env(struct slice raw, const char *prefix, struct harness_def *d, struct err *e)
{
	struct slice key;
	struct jiter it;
	struct jval v;

	jiter_init(&it, (struct jval){ J_OBJECT, raw });
	while (jiter_next(&it, &key, &v)) {
		char path[128], *value = NULL;

		snprintf(path, sizeof(path), "%senv.%.*s", prefix, (int)MIN(key.n, 40u), key.p);
		if (d->nenv >= EXTRA_ENV_MAX)
			return err_field(e, path, "TOO_MANY", "more than %d variables",
					 EXTRA_ENV_MAX);
		if (!key.n || memchr(key.p, '=', key.n) || memchr(key.p, '\\', key.n) ||
		    jstr_decode(v, 1 * MIB, &value) < 0)
			return err_field(e, path, "FIELD_INVALID",
					 "%s must be a plain name and a string", path);
		d->env = reallocarray(d->env, d->nenv + 1, sizeof(*d->env));
		if (!d->env)
			abort();
		d->env[d->nenv++] = (struct harness_env){ xstrndup(key.p, key.n), value };
	}
	return 0;
}

/* A "terminal" method has the client run the agent's program itself: there is none on its side of the socket. */
static char *usable_auth_methods(struct slice methods)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jval v = { J_ARRAY, methods };
	struct jw w = JW(&b);
	struct jiter it;

	jw_arr(&w, NULL);
	jiter_init(&it, v);
	while (jiter_next(&it, NULL, &v))
		if (v.type == J_OBJECT && !jstr_is(jobj_get(v.raw, "type"), "terminal"))
			jw_raw(&w, NULL, v.raw);
	jw_end_arr(&w);
	return b.len > 2 ? xstrndup(b.data, b.len) : NULL;
}

/* An adapter of its own has its own row. */
static int set_quirks(struct harness_def *d, const char *name, const char *prefix, struct err *e)
{
	if (d->ops != &harness_acp)
		return err_field(e, "quirks", "FIELD_INVALID",
				 "%squirks: '%s' has an adapter of its own", prefix, d->id);
	use_quirks(d, acp_quirks_find(name));
	return d->quirks ? 0 :
			   err_field(e, "quirks", "QUIRKS_UNKNOWN",
				     "%squirks: no row is called '%s'", prefix, name);
}

static int apply_entry(struct harness_def *d, struct entry *en, const char *prefix, struct err *e)
{
	int r = 0;

	if (en->command) {
		free(d->command);
		d->command = TAKE_PTR(en->command);
	}
	if (en->title) {
		free(d->title);
		d->title = TAKE_PTR(en->title);
	}
	if (en->capabilities.n)
		harness_caps_parse(en->capabilities, &d->caps);
	if (en->auth_methods.n)
		d->auth_methods = usable_auth_methods(en->auth_methods);
	if (en->args.n) {
		for (char **a = d->args; a && *a; a++)
			free(*a);
		free(d->args);
		d->args = NULL;
		r = parse_args(en->args, prefix, &d->args, e);
	}
	if (r == 0 && en->env.n)
		r = parse_env(en->env, prefix, d, e);
	if (r == 0 && en->quirks)
		r = set_quirks(d, en->quirks, prefix, e);
	if (r == 0 && (!d->command || !*d->command))
		r = err_field(e, "command", "FIELD_MISSING", "%scommand is required", prefix);
	return r;
}

static int load_entry(struct harness_table *t, struct jval v, size_t index, struct err *e)
{
	struct harness_def *d;
	struct entry en = { 0 };
	char prefix[40];
	int r;

	snprintf(prefix, sizeof(prefix), "harnesses[%zu].", index);
	if (v.type != J_OBJECT)
		return err_field(e, prefix, "FIELD_INVALID", "%s must be an object", prefix);
	r = jdec_object(v.raw, entry_fields, prefix, &en, e);
	if (r < 0)
		return r;
	d = (struct harness_def *)harness_table_find(t, en.id);
	if (!*en.id) {
		r = err_field(e, "id", "FIELD_INVALID", "%sid must not be empty", prefix);
	} else if (d && d->configured) {
		r = err_field(e, "id", "DUPLICATE", "%sid '%s' appears twice", prefix, en.id);
	} else {
		if (!d) {
			d = table_add(t);
			d->id = xstrdup(en.id);
			d->ops = &harness_acp;
			use_quirks(d, NULL);
		}
		d->configured = true;
		if (index == 0)
			t->first_manifest = (size_t)(d - t->defs);
		r = apply_entry(d, &en, prefix, e);
	}
	jdec_free(entry_fields, &en);
	return r;
}

static int load_manifest(struct harness_table *t, struct slice text, struct err *e)
{
	struct jslot list = { .key = "harnesses" };
	enum jscan_error scan = jscan_object(text, &list, 1);
	struct jiter it;
	struct jval v;
	size_t i = 0;
	int r = 0;

	if (scan != JSCAN_OK)
		return err_field(e, "harness-config", "MANIFEST_INVALID", "%s",
				 jscan_strerror(scan));
	if (list.v.type != J_ARRAY)
		return err_field(e, "harnesses", "FIELD_INVALID", "harnesses must be an array");
	jiter_init(&it, list.v);
	for (; r == 0 && jiter_next(&it, NULL, &v); i++) {
		if (i >= MANIFEST_ENTRIES_MAX)
			return err_field(e, "harnesses", "TOO_MANY", "more than %d harnesses",
					 MANIFEST_ENTRIES_MAX);
		r = load_entry(t, v, i, e);
	}
	return r;
}

/* Where a file is not JSON is told before its line breaks go. */
static int check_json(struct slice text, struct err *e)
{
	enum jscan_error scan = jscan_object(text, NULL, 0);
	char why[JSCAN_TEXT_SIZE];

	if (scan == JSCAN_OK)
		return 0;
	return err_field(e, "harness-config", "MANIFEST_INVALID", "%s",
			 jscan_explain(text, scan, why));
}

int harness_table_load(struct harness_table *t, const char *path, struct err *e)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	int r;

	*t = (struct harness_table){ 0 };
	add_builtins(t);
	t->first_manifest = SIZE_MAX;
	if (!path) {
		t->first_manifest = t->n;
		return 0;
	}
	r = file_read(path, MANIFEST_MAX, &b);
	if (r < 0)
		r = err_set(e, r, 0, "MANIFEST_UNREADABLE", "%s", strerror(-r));
	else
		r = check_json(buf_slice(&b), e);
	if (r == 0) {
		jscan_join_lines(&b); /* raw parts of it end up in messages that are lines */
		r = load_manifest(t, buf_slice(&b), e);
	}
	if (r < 0) {
		err_wrap(e, "%s", path);
		harness_table_done(t);
	} else if (t->first_manifest == SIZE_MAX) {
		t->first_manifest = t->n;
	}
	return r;
}
