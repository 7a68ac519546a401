/*
 * opencode.c - starts OpenCode: its configuration, environment and permission rules.
 *
 * The configuration is passed in OPENCODE_CONFIG_CONTENT, and a repository's own configuration is
 * disabled: it could answer permission questions. Of permission rules the last match wins, so
 * general rules precede specific ones. The provider key is in a variable of its own that the
 * configuration refers to. The plugin (plugin.mjs) reports and enforces the rest, for which ACP has
 * no message.
 */

#include "base/os/file.h"
#include "harnesses/acp/internal.h"
#include "harnesses/adapter.h"
#include "harnesses/opencode/internal.h"
#include "json/json.h"

EMBED(opencode_plugin, "harnesses/opencode/plugin.mjs");

#define PROVIDER_KEY_ENV "ACPD_PROVIDER_KEY"
#define SKILLS_BELOW ".agents/skills/*"
#define MODELS_FILE ".cache/acpd-models.json"

/* Nothing is fetched, updated or shared behind the orchestrator's back (reference: OpenCode 1.18.34). */
static const char *const quiet_env[] = {
	"OPENCODE_DISABLE_AUTOUPDATE",
	"OPENCODE_DISABLE_MODELS_FETCH",
	"OPENCODE_DISABLE_DEFAULT_PLUGINS",
	"OPENCODE_DISABLE_LSP_DOWNLOAD",
	"OPENCODE_DISABLE_SHARE",
	"OPENCODE_DISABLE_CLAUDE_CODE",
	/* a repository's own configuration could answer the questions that we must ask */
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

#define HARMLESS                                                                                   \
	"\"skill\":\"allow\",\"todoread\":\"allow\",\"todowrite\":\"allow\",\"task\":\"allow\","   \
	"\"question\":\"deny\""
/* Reading is never asked, except for files of secrets; the last rule that matches counts. */
#define READING                                                                                         \
	"\"read\":{\"*\":\"allow\",\"*.env\":\"ask\",\"*.env.*\":\"ask\",\"*.env.example\":\"allow\"}," \
	"\"glob\":\"allow\",\"grep\":\"allow\",\"list\":\"allow\",\"lsp\":\"allow\"," HARMLESS

/* Of what is asked here acp/asks.c knows what the approval allows. */
static const char asks_all[] = "\"*\":\"ask\"," HARMLESS;
static const char asks_changes[] = "\"*\":\"ask\"," READING;
static const char asks_nothing[] = "\"*\":\"allow\",\"question\":\"deny\"";

static const char *permission_rules(const struct harness_req *req)
{
	if (req->rules & HARNESS_RULES_READS)
		return asks_all;
	return req->approval == APPROVAL_NEVER && !req->rules ? asks_nothing : asks_changes;
}

static void put_permission_rule(struct jw *w, const char *pattern, const char *action)
{
	jw_lead_key(w, pattern);
	jw_str(w, NULL, action);
}

static void put_outside_rules(struct jw *w, const struct harness_req *req)
{
	_cleanup_(freep) char *skills = file_join(req->home, SKILLS_BELOW);

	jw_obj(w, "external_directory");
	/* First, because the last match wins. */
	put_permission_rule(w, "*", "ask");
	/* skills may be read: OpenCode's own rules allow it, and ours come after them */
	put_permission_rule(w, skills, "allow");
	jarr_each(v, req->additional_dirs) {
		_cleanup_(freep) char *dir = NULL, *below = NULL;

		if (jstr_decode(v, 4096, &dir) < 0)
			continue;
		below = file_join(dir, "*");
		put_permission_rule(w, dir, "allow");
		put_permission_rule(w, below, "allow");
	}
	jw_end_obj(w);
}

static void put_permission_rules(struct jw *w, const struct harness_req *req)
{
	jw_obj(w, "permission");
	jw_raw(w, NULL, slice_of(permission_rules(req)));
	if (req->approval != APPROVAL_NEVER || req->rules)
		put_outside_rules(w, req);
	jw_end_obj(w);
}

static void put_agents(struct jw *w, const struct harness_req *req)
{
	const char *prompt = req->system_override ? req->system_prompt : NULL;

	jw_obj(w, "agent");
	jw_object(w, "build", JW_STR("prompt", prompt));
	jw_obj(w, "plan");
	jw_str(w, "prompt", prompt);
	/* a rule for edits would override the purpose of plan mode */
	jw_raw(w, "permission", SLICE("{\"edit\":\"deny\"}"));
	jw_end_obj(w);
	/* else a model call without a usage report, for a title that ACP does not show */
	jw_raw(w, "title", SLICE("{\"disable\":true}"));
	jw_end_obj(w);
}

/* What is allowed is the orchestrator's decision. */
static void put_common_config(struct jw *w, const struct harness_req *req)
{
	_cleanup_(freep) char *agents = file_join(req->cwd, "AGENTS.md");
	_cleanup_(freep) char *plugin = file_join(req->home, OPENCODE_PLUGIN_FILE);
	char url[4200];

	/* dropped with the project's configuration, but needed */
	jw_arr(w, "instructions");
	jw_str(w, NULL, agents);
	jw_end_arr(w);
	snprintf(url, sizeof(url), "file://%s", plugin);
	jw_arr(w, "plugin");
	jw_str(w, NULL, url);
	jw_end_arr(w);
	put_agents(w, req);
	jw_bool(w, "autoupdate", false);
	jw_str(w, "share", "disabled");
	/* a rejected call is an answer for the model, not the end of the turn */
	jw_obj(w, "experimental");
	jw_bool(w, "continue_loop_on_deny", true);
	if (req->mcp_call_ms)
		jw_int(w, "mcp_timeout", req->mcp_call_ms);
	jw_end_obj(w);
	put_permission_rules(w, req);
}

static bool put_model_entry(void *ctx, const char *model)
{
	struct jw *w = ctx;

	jw_lead_key(w, model);
	jw_raw(w, NULL,
	       SLICE("{\"tool_call\":true,\"reasoning\":true,\"attachment\":true,"
		     "\"modalities\":{\"input\":[\"text\",\"image\"],\"output\":[\"text\"]},"
		     "\"limit\":{\"context\":200000,\"output\":32000}}"));
	return true;
}

static void put_reference(struct jw *w, const char *key, const char *model)
{
	jw_str(w, key, SHORT_TEXT(300, OPENCODE_PROVIDER_ID "/%s", model));
}

/* A model that may only be used, not chosen, has to be in the list as well. */
static void put_model_entries(struct jw *w, const struct harness_provider *p, const char *wanted)
{
	const char *side = p->small_model;

	jw_obj(w, "models");
	if (p->model || p->models.n)
		harness_provider_each_model(p, put_model_entry, w);
	else
		put_model_entry(w, wanted);
	if (side && !harness_provider_offers(p, side) && strcmp(side, wanted) != 0)
		put_model_entry(w, side);
	jw_end_obj(w);
}

static void put_provider_config(struct jw *w, const struct harness_provider *p, const char *wanted,
				const char *npm)
{
	jw_raw(w, "enabled_providers", SLICE("[\"" OPENCODE_PROVIDER_ID "\"]"));
	put_reference(w, "model", wanted);
	/* else side calls go to a guessed model of another provider */
	put_reference(w, "small_model", p->small_model ? p->small_model : wanted);
	jw_obj(w, "provider");
	jw_obj(w, OPENCODE_PROVIDER_ID);
	jw_str(w, "npm", npm);
	jw_str(w, "name", "acpd");
	jw_obj(w, "options");
	jw_str(w, "baseURL", p->base_url);
	jw_str(w, "apiKey", "{env:" PROVIDER_KEY_ENV "}");
	jw_raw(w, "headers", p->headers);
	if (p->idle_timeout_ms) {
		jw_int(w, "headerTimeout", p->idle_timeout_ms);
		jw_int(w, "chunkTimeout", p->idle_timeout_ms);
	}
	jw_end_obj(w);
	put_model_entries(w, p, wanted);
	jw_end_obj(w);
	jw_end_obj(w);
}

static int plan_config(const struct harness_req *req, struct harness_plan *plan, struct err *e)
{
	const struct harness_provider *p = req->provider;
	JW_BUF(w, b);
	_cleanup_(freep) char *model = p ? harness_provider_first(p) : NULL;
	const char *npm = p ? api_npm(p->api) : NULL;

	if (p && !npm)
		return err_field(e, "_meta.acpd.provider.api", "PROVIDER_API_UNSUPPORTED",
				 "OpenCode has no client for this provider API");
	if (p && !model)
		model = xstrdup(req->model);
	if (p && !model)
		return err_field(e, "_meta.acpd.provider.model", "FIELD_MISSING",
				 "OpenCode needs to be told which model the provider has");
	jw_obj(&w, NULL);
	put_common_config(&w, req);
	if (p) {
		put_provider_config(&w, p, model, npm);
		harness_plan_env(plan, PROVIDER_KEY_ENV, p->key);
	}
	jw_end_obj(&w);
	buf_putc(&b, '\0');
	harness_plan_env(plan, "OPENCODE_CONFIG_CONTENT", b.data);
	if (req->system_prompt && !req->system_override)
		harness_plan_env(plan, "ACPD_SYSTEM_APPEND", req->system_prompt);
	return 0;
}

/* Where a subagent may edit without a question: those that it asks reach nobody but the plugin. */
static void plan_edits(const struct harness_req *req, struct harness_plan *plan)
{
	JW_BUF(w, b);

	/* rules are not known there: then nobody allows those edits */
	if (req->approval != APPROVAL_ACCEPT_EDITS || req->rules)
		return;
	jw_arr(&w, NULL);
	jw_str(&w, NULL, req->cwd);
	jarr_each(v, req->additional_dirs)
		jw_raw(&w, NULL, v.raw);
	jw_end_arr(&w);
	buf_putc(&b, '\0');
	harness_plan_env(plan, "ACPD_EDIT_DIRS", b.data);
}

/* Else OpenCode installs that package from the network into its configuration directory, in the background. */
static void plan_files(struct harness_plan *plan)
{
	harness_plan_program(plan, OPENCODE_PLUGIN_FILE, opencode_plugin);
	harness_plan_file(plan, ".config/opencode/node_modules", NULL);
	harness_plan_file(plan, ".config/opencode/package.json", "{}");
	harness_plan_file(
		plan, ".config/opencode/package-lock.json",
		"{\"lockfileVersion\":3,\"packages\":{\"\":{\"dependencies\":{\"@opencode-ai/plugin\":\"*\"}}}}");
}

/* OpenCode would read its bundled list of all known models at each start, about a quarter of its work there. With a
 * provider of ours no model of that list can be chosen. */
static void plan_models(const struct harness_req *req, struct harness_plan *plan)
{
	_cleanup_(freep) char *file = file_join(req->home, MODELS_FILE);

	if (!req->provider)
		return;
	harness_plan_file(plan, MODELS_FILE, "{}");
	harness_plan_env(plan, "OPENCODE_MODELS_PATH", file);
}

static int opencode_plan(const struct harness_def *def, const struct harness_req *req,
			 struct harness_plan *plan, struct err *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(quiet_env); i++)
		harness_plan_env(plan, quiet_env[i], "1");
	for (size_t i = 0; i < ARRAY_SIZE(xdg_dirs); i++)
		harness_plan_env(plan, xdg_dirs[i].var,
				 SHORT_TEXT(4096, "%s/%s", req->home, xdg_dirs[i].below_home));
	/* its own HTTP port would show the provider's key to anybody without a password */
	harness_plan_env(plan, "OPENCODE_SERVER_PASSWORD", RANDOM_HEX(16));
	plan_files(plan);
	plan_models(req, plan);
	plan_edits(req, plan);
	harness_acp_plan(def, req, plan, e);
	return plan_config(req, plan, e);
}

static const struct harness_asking *opencode_asks(const struct harness_def *def _unused_,
						  enum harness_approval approval _unused_,
						  bool inner_sandbox _unused_)
{
	return opencode_quirks.asks;
}

static struct harness *opencode_open(const struct harness_def *def _unused_,
				     const struct harness_req *req, const struct harness_host *host)
{
	return acp_open_with(&opencode_quirks, req, host);
}

/* To the plugin, which hears what comes in; OpenCode itself knows no such message. Its words are those that
 * plugin.mjs looks for. */
static void opencode_limit(struct harness *h, int64_t tool_calls)
{
	_cleanup_(buf_done) struct buf params = { 0 }, b = { 0 };

	if (tool_calls < 0)
		buf_puts(&params, "{\"toolCalls\":null}");
	else
		buf_printf(&params, "{\"toolCalls\":%lld}", (long long)tool_calls);
	rpc_put_notification(&b, "_acpd/limit", buf_slice(&params));
	harness_send(&h->host, &b);
}

const struct harness_ops harness_opencode = {
	.name = "opencode",
	.asks = opencode_asks,
	.plan = opencode_plan,
	.open = opencode_open,
	.limit = opencode_limit,
	.limit_holds = true,
	.reports_calls = true,
	HARNESS_ACP_PROTOCOL,
};
