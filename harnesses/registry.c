/*
 * registry.c - the table of harnesses: built-in rows, then the manifest.
 *
 * The capabilities of a built-in row are promised to clients before any process exists. They must
 * match the pinned release; tests/harness compares them with the real program. Rows with quirks
 * inherit places and stop behavior from quirks.c. The table is reallocated as it grows: no pointer
 * into defs is valid across harness_table_add.
 */
#include "harnesses/registry.h"

#include "base/util.h"
#include "base/os/file.h"
#include "base/limits.h"
#include "harnesses/acp/quirks.h"
#include "json/json.h"

#define MANIFEST_MAX (1 * MIB)

struct builtin {
	const char *id, *title, *command;
	const char *const *args;
	const struct harness_ops *ops;
	struct harness_caps caps;
	const char *quirks;
	struct harness_places
		places;		/* skills, instructions of the home, those of cwd; without quirks */
	enum harness_stop stop; /* the same */
};

static const char *const opencode_args[] = { "acp", NULL };
static const char *const codex_args[] = { "app-server", NULL };
static const char *const copilot_args[] = { "--acp", "--no-auto-update", NULL };
static const char *const gemini_args[] = { "--acp", NULL };
static const char *const no_args[] = { NULL };

/* caps: measured on the pinned release (tests/harness checks them against the real program). */
/* clang-format off */
static const struct builtin builtins[] = {
	{ "opencode", "OpenCode", "opencode", opencode_args, &harness_opencode,
	  .caps = { .image = true, .embedded_context = true, .images_alone = true,
		    .http = true, .sse = true, .additional_dirs = true, .restore = true,
		    .system_append = true, .system_override = true },
	  .places = { ".agents/skills", ".config/opencode/AGENTS.md", "AGENTS.md" },
	  .stop = HARNESS_STOP_402 },
	{ "codex", "Codex", "codex", codex_args, &harness_codex,
	  .caps = { .image = true, .embedded_context = true, .images_alone = true,
		    .http = true, .additional_dirs = true, .restore = true, .steer = true,
		    .system_append = true, .system_override = true,
		    .responses_only = true, .inner_sandbox = true },
	  .places = { ".agents/skills", ".codex/AGENTS.md", "AGENTS.md" },
	  .stop = HARNESS_STOP_QUOTA },
	{ "pi", "Pi", "pi", no_args, &harness_pi,
	  .caps = { .image = true, .embedded_context = true, .images_alone = true,
		    .http = true, .additional_dirs = true, .restore = true, .steer = true,
		    .system_append = true, .system_override = true, .tool_text = 20480 },
	  .places = { ".agents/skills", ".pi/agent/AGENTS.md", "AGENTS.md" },
	  .stop = HARNESS_STOP_402 },
	{ "copilot", "GitHub Copilot CLI", "copilot", copilot_args, &harness_acp,
	  .caps = { .image = true, .embedded_context = true, .http = true, .sse = true,
		    .restore = true },
	  .quirks = "copilot" },
	{ "claude", "Claude Agent", "claude-agent-acp", no_args, &harness_acp,
	  .caps = { .image = true, .embedded_context = true, .http = true, .sse = true,
		    .additional_dirs = true, .restore = true, .steer = true,
		    .system_append = true, .system_override = true },
	  .quirks = "claude" },
	{ "gemini", "Gemini CLI", "gemini", gemini_args, &harness_acp,
	  .caps = { .image = true, .audio = true, .embedded_context = true,
		    .http = true, .sse = true, .restore = true },
	  .quirks = "gemini" },
};
/* clang-format on */

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
		.image = jobj_is_true(prompt, "image"),
		.audio = jobj_is_true(prompt, "audio"),
		.embedded_context = jobj_is_true(prompt, "embeddedContext"),
		.http = jobj_is_true(mcp, "http"),
		.sse = jobj_is_true(mcp, "sse"),
		.no_stdio = jobj_get(mcp, "stdio").type == J_FALSE, /* ours: ACP has it always */
		.additional_dirs = caps_object(session, "additionalDirectories"),
		/* Either call is enough (acp.c). */
		.restore = jobj_is_true(agent, "loadSession") || caps_object(session, "resume"),
	};
}

static void def_done(struct harness_def *d)
{
	for (char **a = d->args; a && *a; a++)
		free(*a);
	for (size_t i = 0; i < d->nenv; i++) {
		free_each(d->env[i].name, d->env[i].value);
	}
	free_each(d->args, d->env, d->id, d->title, d->command, d->auth_methods);
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

const struct acp_quirks *harness_quirks_find(const char *name)
{
	for (const struct acp_quirks *q = acp_quirks; q->name; q++)
		if (strcmp(q->name, name) == 0)
			return q;
	return NULL;
}

/* The row has what differs between agents that share an adapter. */
void harness_use_quirks(struct harness_def *d, const struct acp_quirks *q)
{
	d->quirks = q;
	d->stop = q ? q->stop : acp_no_quirks.stop;
	d->places = q ? q->places : acp_no_quirks.places;
}

struct harness_def *harness_table_add(struct harness_table *t)
{
	return GROW(t->defs, t->n);
}

static void add_builtins(struct harness_table *t)
{
	for (size_t i = 0; i < ARRAY_SIZE(builtins); i++) {
		const struct builtin *b = &builtins[i];
		struct harness_def *d = harness_table_add(t);
		size_t n = 0;

		while (b->args[n])
			n++;
		*d = (struct harness_def){ .id = xstrdup(b->id),
					   .title = xstrdup(b->title),
					   .ops = b->ops,
					   .command = xstrdup(b->command),
					   .caps = b->caps,
					   .places = b->places,
					   .stop = b->stop };
		if (b->quirks)
			/* After the row was copied: it replaces places and stop. */
			harness_use_quirks(d, harness_quirks_find(b->quirks));
		d->args = xalloc((n + 1) * sizeof(*d->args));
		for (size_t k = 0; k < n; k++)
			d->args[k] = xstrdup(b->args[k]);
	}
}

int harness_table_load(struct harness_table *t, const char *path, struct err *e)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	int r;

	*t = (struct harness_table){ 0 };
	add_builtins(t);
	/* SIZE_MAX until the first entry of the manifest is loaded. */
	t->first_manifest = SIZE_MAX;
	if (!path) {
		t->first_manifest = t->n;
		return 0;
	}
	r = file_read(path, MANIFEST_MAX, &b);
	if (r < 0)
		r = err_set(e, r, 0, "MANIFEST_UNREADABLE", "%s", strerror(-r));
	else
		r = manifest_load(t, &b, e);
	if (r < 0) {
		err_wrap(e, "%s", path);
		harness_table_done(t);
	} else if (t->first_manifest == SIZE_MAX) {
		t->first_manifest = t->n;
	}
	return r;
}

/* --- keys: variables in which agents look for one when nobody names another ------------------------------------- */

/* Those that are for one agent alone come last: for others they are keys of something else. */
static const char *const key_variables[] = {
	"OPENAI_API_KEY",
	"CODEX_API_KEY",
	"ANTHROPIC_API_KEY",
	"ANTHROPIC_AUTH_TOKEN",
	"CLAUDE_CODE_OAUTH_TOKEN",
	"GEMINI_API_KEY",
	"GOOGLE_API_KEY",
	"GOOGLE_GENERATIVE_AI_API_KEY",
	"OPENROUTER_API_KEY",
	"AZURE_OPENAI_API_KEY",
	"AWS_BEARER_TOKEN_BEDROCK",
	"MISTRAL_API_KEY",
	"GROQ_API_KEY",
	"XAI_API_KEY",
	"DEEPSEEK_API_KEY",
	"CEREBRAS_API_KEY",
	"AI_GATEWAY_API_KEY",
	"COPILOT_PROVIDER_API_KEY",
	"COPILOT_GITHUB_TOKEN",
};
static const char *const copilot_key_variables[] = { "GH_TOKEN", "GITHUB_TOKEN" };

static bool is_copilot(const struct harness_def *def)
{
	return def->quirks && strcmp(def->quirks->name, "copilot") == 0;
}

const char *harness_key_variable(const struct harness_def *def, size_t i)
{
	if (i < ARRAY_SIZE(key_variables))
		return key_variables[i];
	i -= ARRAY_SIZE(key_variables);
	return is_copilot(def) && i < ARRAY_SIZE(copilot_key_variables) ? copilot_key_variables[i] :
									  NULL;
}

bool harness_takes_provider(const struct harness_def *def)
{
	return def->ops != &harness_acp || (def->quirks && def->quirks->env);
}

void harness_login_hint(const struct harness_def *def, char *ret, size_t size)
{
	const char *keys = def->quirks ? def->quirks->login_keys : NULL;

	if (harness_takes_provider(def))
		snprintf(ret, size, "set _meta.acpd.provider, or %s in _meta.acpd.env",
			 keys ? keys : "the variable of its key");
	else
		snprintf(ret, size,
			 "set the variable of its key in _meta.acpd.env or in env of its manifest "
			 "entry, or name its authMethods there");
}
