#include "harnesses/opencode/opencode.h"

#include "base/buf.h"
#include "base/file.h"
#include "harnesses/acp/acp.h"
#include "json/jdec.h"
#include "json/jenc.h"

#include <stdio.h>

#define PROVIDER_ID "acpd"
#define PROVIDER_KEY_ENV "ACPD_PROVIDER_KEY"

/* Nothing is fetched, updated or shared behind the orchestrator's back (reference: OpenCode 1.18.33). */
static const char *const quiet_env[] = {
	"OPENCODE_DISABLE_AUTOUPDATE",
	"OPENCODE_DISABLE_MODELS_FETCH",
	"OPENCODE_DISABLE_DEFAULT_PLUGINS",
	"OPENCODE_DISABLE_LSP_DOWNLOAD",
	"OPENCODE_DISABLE_SHARE",
	"OPENCODE_PURE",
	"OPENCODE_DISABLE_CLAUDE_CODE",
	/* a repository's own configuration could answer the questions that are ours to ask */
	"OPENCODE_DISABLE_PROJECT_CONFIG",
};

static const struct {
	const char *var, *below_home;
} xdg_dirs[] = {
	{ "XDG_CONFIG_HOME", ".config" },
	{ "XDG_DATA_HOME", ".local/share" },
	{ "XDG_STATE_HOME", ".local/state" },
	{ "XDG_CACHE_HOME", ".cache" },
};

/* Which bundled SDK speaks the provider's API. */
static const struct {
	const char *api, *npm;
} apis[] = {
	{ "openai-chat", "@ai-sdk/openai-compatible" },
	{ "openai-responses", "@ai-sdk/openai" },
	{ "anthropic", "@ai-sdk/anthropic" },
	{ "google", "@ai-sdk/google" },
};

static const char *api_npm(const char *api)
{
	for (size_t i = 0; i < ARRAY_SIZE(apis); i++)
		if (strcmp(apis[i].api, api) == 0)
			return apis[i].npm;
	return NULL;
}

/* The default rule is to ask: what is allowed is the orchestrator's decision. */
static void put_common(struct jw *w, const struct harness_req *req)
{
	_cleanup_(freep) char *agents = file_join(req->cwd, "AGENTS.md");

	/* dropped with the project's configuration, but wanted */
	jw_arr(w, "instructions");
	jw_str(w, NULL, agents);
	jw_end_arr(w);
	/* "ask" for edits would override what plan mode is for */
	jw_raw(w, "agent", SLICE("{\"plan\":{\"permission\":{\"edit\":\"deny\"}}}"));
	jw_bool(w, "autoupdate", false);
	jw_str(w, "share", "disabled");
	jw_raw(w, "permission", SLICE("{\"bash\":\"ask\",\"edit\":\"ask\",\"webfetch\":\"ask\"}"));
}

static void put_provider(struct jw *w, const struct harness_provider *p, const char *npm)
{
	char model[300];

	snprintf(model, sizeof(model), PROVIDER_ID "/%s", p->model);
	jw_raw(w, "enabled_providers", SLICE("[\"" PROVIDER_ID "\"]"));
	jw_str(w, "model", model);
	jw_str(w, "small_model", model); /* else titles go to a guessed model of another provider */
	jw_obj(w, "provider");
	jw_obj(w, PROVIDER_ID);
	jw_str(w, "npm", npm);
	jw_str(w, "name", "acpd");
	jw_obj(w, "options");
	jw_str(w, "baseURL", p->base_url);
	jw_str(w, "apiKey", "{env:" PROVIDER_KEY_ENV "}");
	jw_raw(w, "headers", p->headers);
	jw_end_obj(w);
	jw_obj(w, "models");
	jw_lead_key(w, p->model);
	jw_raw(w, NULL,
	       SLICE("{\"tool_call\":true,\"limit\":{\"context\":200000,\"output\":32000}}"));
	jw_end_obj(w);
	jw_end_obj(w);
	jw_end_obj(w);
}

static int plan_config(const struct harness_req *req, struct harness_plan *plan, struct err *e)
{
	const struct harness_provider *p = req->provider;
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);
	const char *npm = p ? api_npm(p->api) : NULL;

	if (p && !npm)
		return err_field(e, "_meta.acpd.provider.api", "PROVIDER_API_UNSUPPORTED",
				 "OpenCode has no client for this provider API");
	if (p && !p->model)
		return err_field(e, "_meta.acpd.provider.model", "FIELD_MISSING",
				 "OpenCode needs to be told which model the provider has");
	jw_obj(&w, NULL);
	put_common(&w, req);
	if (p) {
		put_provider(&w, p, npm);
		harness_plan_env(plan, PROVIDER_KEY_ENV, p->key);
	}
	jw_end_obj(&w);
	buf_putc(&b, '\0');
	harness_plan_env(plan, "OPENCODE_CONFIG_CONTENT", b.data);
	return 0;
}

/* Else OpenCode installs that package from the network into its configuration directory, in the background. */
static void plan_files(struct harness_plan *plan)
{
	harness_plan_file(plan, ".config/opencode/node_modules", NULL);
	harness_plan_file(plan, ".config/opencode/package.json", "{}");
	harness_plan_file(
		plan, ".config/opencode/package-lock.json",
		"{\"lockfileVersion\":3,\"packages\":{\"\":{\"dependencies\":{\"@opencode-ai/plugin\":\"*\"}}}}");
}

static int opencode_plan(const struct harness_def *def, const struct harness_req *req,
			 struct harness_plan *plan, struct err *e)
{
	char path[4096], password[33];

	for (size_t i = 0; i < ARRAY_SIZE(quiet_env); i++)
		harness_plan_env(plan, quiet_env[i], "1");
	for (size_t i = 0; i < ARRAY_SIZE(xdg_dirs); i++) {
		snprintf(path, sizeof(path), "%s/%s", req->home, xdg_dirs[i].below_home);
		harness_plan_env(plan, xdg_dirs[i].var, path);
	}
	/* its own HTTP port would show the provider's key to whoever asks without one */
	random_hex(password, 16);
	harness_plan_env(plan, "OPENCODE_SERVER_PASSWORD", password);
	plan_files(plan);
	harness_acp_plan(def, req, plan, e);
	return plan_config(req, plan, e);
}

const struct harness_ops harness_opencode = {
	.name = "opencode",
	.plan = opencode_plan,
	HARNESS_ACP_PROTOCOL,
};
