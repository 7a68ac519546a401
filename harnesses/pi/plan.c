/* plan.c - how Pi is started: nothing is fetched or reported, the project's own extensions are off, and the session's
 * parameters are in the environment, from which the bridge takes (and removes) them. */
#include "harnesses/adapter.h"
#include "harnesses/pi/internal.h"

#include "base/os/file.h"
#include "base/limits.h"
#include "json/jstr.h"

EMBED(pi_bridge, "harnesses/pi/bridge.mjs");

#define AGENT_DIR ".pi/agent"
#define BRIDGE_FILE ".acpd/bridge.mjs"
#define TEXT_OF(n) #n
#define NUMBER(n) TEXT_OF(n)
#define ENV_CHUNK (96u * KIB) /* one variable may have 128 KiB */

/* A lasting error is reported after 1.5 s; the provider's own clients do not retry beneath. The bridge limits silence,
 * with the setting of each start. */
static const char settings[] =
	"{\"retry\":{\"enabled\":true,\"maxRetries\":2,\"baseDelayMs\":500,\"maxAgentDelayMs\":4000,"
	"\"provider\":{\"maxRetries\":0}},\"enableInstallTelemetry\":false,\"enableAnalytics\":false,"
	"\"httpIdleTimeoutMs\":" NUMBER(
		PROVIDER_IDLE_MAX_MS) ","
				      "\"cacheWarming\":\"off\",\"defaultProjectTrust\":\"never\",\"extensions\":[\"-builtin:llama.cpp\"]}";

static const struct {
	const char *name, *value;
} quiet_env[] = {
	{ "PI_OFFLINE", "1" },
	{ "PI_TELEMETRY", "0" },
	{ "PI_SKIP_VERSION_CHECK", "1" },
};

static bool put_model_id(void *ctx, const char *model)
{
	jw_str(ctx, NULL, model);
	return true;
}

static void put_bridge_provider(struct jw *w, const struct harness_provider *p)
{
	jw_obj(w, "provider");
	jw_str(w, "api", p->api);
	jw_str(w, "baseUrl", p->base_url);
	jw_raw(w, "headers", p->headers);
	if (p->idle_timeout_ms)
		jw_int(w, "idleTimeoutMs", p->idle_timeout_ms);
	jw_arr(w, "models");
	harness_provider_each_model(p, put_model_id, w);
	jw_end_arr(w);
	jw_end_obj(w);
}

/* The value in pieces, cut between characters: each variable is decoded by itself. */
static void put_chunks(struct harness_plan *plan, struct slice text)
{
	for (unsigned i = 0; text.n; i++) {
		_cleanup_(freep) char *part = NULL;
		size_t n = MIN(text.n, (size_t)ENV_CHUNK);

		/* 10xxxxxx is a continuation byte in UTF-8 (RFC 3629). */
		while (n < text.n && ((unsigned char)text.p[n] & 0xc0) == 0x80)
			n--;
		part = xstrndup(text.p, n);
		harness_plan_env(plan, SHORT_TEXT(24, "ACPD_PI_%u", i), part);
		text = slice_after(text, n);
	}
}

static void plan_session(const struct harness_req *req, struct harness_plan *plan)
{
	JW_BUF(w, b);

	jw_obj(&w, NULL);
	jw_str(&w, "approval", harness_approvals[req->approval]);
	jw_uint(&w, "rules", req->rules);
	jw_raw(&w, "dirs", req->additional_dirs);
	jw_raw(&w, "mcp", req->mcp_servers);
	if (req->mcp_call_ms)
		jw_int(&w, "mcpCallMs", req->mcp_call_ms);
	jw_bool(&w, "elicitation", req->elicitation);
	jw_str(&w, "system", req->system_prompt);
	jw_bool(&w, "override", req->system_override);
	if (req->provider)
		put_bridge_provider(&w, req->provider);
	jw_end_obj(&w);
	put_chunks(plan, buf_slice(&b));
}

static int check_provider_models(const struct harness_provider *p, struct err *e)
{
	/* More than "[]". */
	if (!p || p->model || p->models.n > 2)
		return 0;
	return err_field(e, "_meta.acpd.provider.model", "FIELD_MISSING",
			 "Pi needs to be told which model the provider has");
}

int pi_plan(const struct harness_def *def, const struct harness_req *req, struct harness_plan *plan,
	    struct err *e)
{
	_cleanup_(freep) char *bridge = file_join(req->home, BRIDGE_FILE);
	_cleanup_(freep) char *dir = file_join(req->home, AGENT_DIR);
	/* a fork's context has the id of the session that it was copied from */
	const char *id = req->native_id ? req->native_id : req->session_id;
	const char *const args[] = { "--mode",	     "rpc", "--session-id", id,
				     "--no-approve", "-e",  bridge };
	int r = check_provider_models(req->provider, e);

	if (r < 0)
		return r;
	harness_plan_command(plan, def, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(args); i++)
		harness_plan_arg(plan, args[i]);
	for (size_t i = 0; i < ARRAY_SIZE(quiet_env); i++)
		harness_plan_env(plan, quiet_env[i].name, quiet_env[i].value);
	harness_plan_env(plan, "PI_CODING_AGENT_DIR", dir);
	plan_session(req, plan);
	harness_plan_file(plan, AGENT_DIR "/settings.json", settings);
	harness_plan_program(plan, BRIDGE_FILE, pi_bridge);
	return 0;
}
