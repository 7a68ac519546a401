/*
 * plan.c - command line and environment. Settings that may change between two starts are passed by -c, which Codex
 * reads as TOML; a JSON string is a TOML string. Secrets are in the environment only, under names that Codex is told to
 * keep from commands.
 */
#include "harnesses/codex/internal.h"

#define OPENAI_URL "https://api.openai.com/v1"

/*
 * Quiet: nothing is fetched, updated or reported. Retries are few: a gateway retries by itself, and a turn
 * should fail while its client still waits for it. The shell does not see the provider's secrets, but all else of the
 * session.
 */
static const char *const settings[] = {
	"check_for_update_on_startup=false",
	"analytics.enabled=false",
	"feedback.enabled=false",
	"otel.exporter=\"none\"",
	"otel.metrics_exporter=\"none\"",
	"features.plugins=false",
	"features.remote_plugin=false",
	"features.apps=false",
	"features.unbounded_connection_retries=false", /* else it waits for ever for a provider that is down */
	"history.persistence=\"none\"",
	"tool_output_token_limit=16000", /* else the middle of a text of 10 KB is cut out for a model that it does not know */
	"allow_login_shell=false", /* /etc/profile would set PATH anew */
	"shell_environment_policy.inherit=\"all\"",
	"shell_environment_policy.exclude=[\"ACPD_PROVIDER_*\"]",
};

static const char *const provider_settings[] = {
	"model_provider=\"" PROVIDER_ID "\"",
	"model_providers." PROVIDER_ID ".name=\"" PROVIDER_ID "\"",
	"model_providers." PROVIDER_ID ".wire_api=\"responses\"",
	"model_providers." PROVIDER_ID ".env_key=\"" PROVIDER_KEY_ENV "\"",
	"model_providers." PROVIDER_ID ".request_max_retries=1",
	"model_providers." PROVIDER_ID ".stream_max_retries=1",
};

static void add_setting(struct harness_plan *plan, const char *text)
{
	harness_plan_arg(plan, "-c");
	harness_plan_arg(plan, text);
}

static void add_string_setting(struct harness_plan *plan, const char *key, const char *value)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	buf_printf(&b, "%s=", key);
	jstr_encode(&b, slice_of(value));
	buf_putc(&b, '\0');
	add_setting(plan, b.data);
}

/* Headers may be credentials too: the command line names the variables that hold them. */
static void add_header_settings(struct harness_plan *plan, struct slice headers)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	char var[64];
	unsigned n = 0;

	buf_puts(&b, "model_providers." PROVIDER_ID ".env_http_headers={");
	jobj_each(key, v, headers) {
		_cleanup_(freep) char *value = NULL;

		if (jstr_decode(v, 64 * KIB, &value) < 0)
			continue;
		snprintf(var, sizeof(var), PROVIDER_HEADER_ENV, n);
		harness_plan_env(plan, var, value);
		buf_printf(&b, "%s\"%.*s\"=\"%s\"", n++ ? "," : "", (int)key.n, key.p, var);
	}
	buf_puts(&b, "}");
	buf_putc(&b, '\0');
	if (n)
		add_setting(plan, b.data);
}

static void add_number(struct harness_plan *plan, const char *key, int64_t n)
{
	add_setting(plan, SHORT_TEXT(128, "%s=%lld", key, (long long)n));
}

static int plan_provider(struct harness_plan *plan, const struct harness_provider *p, struct err *e)
{
	if (strcmp(p->api, "openai-responses") != 0)
		return err_field(e, "_meta.acpd.provider.api", "PROVIDER_API_UNSUPPORTED",
				 "Codex speaks openai-responses only");
	for (size_t i = 0; i < ARRAY_SIZE(provider_settings); i++)
		add_setting(plan, provider_settings[i]);
	add_string_setting(plan, "model_providers." PROVIDER_ID ".base_url",
			   p->base_url ? p->base_url : OPENAI_URL);
	if (p->idle_timeout_ms)
		add_number(plan, "model_providers." PROVIDER_ID ".stream_idle_timeout_ms",
			   p->idle_timeout_ms);
	if (p->headers.n)
		add_header_settings(plan, p->headers);
	/* The command line is visible to every user in /proc/PID/cmdline, the environment only to the
	 * owner. */
	harness_plan_env(plan, PROVIDER_KEY_ENV, p->key);
	return 0;
}

char *codex_model_wanted(const struct harness_req *req)
{
	char *first = req->provider ? harness_provider_first(req->provider) : NULL;

	/* The core compares the wanted model with the options, and reports one that is missing. */
	if (first && !(req->model && harness_provider_offers(req->provider, req->model)))
		return first;
	free(first);
	return xstrdup(req->model);
}

/* Codex notes there, by its full path, in which file a thread is. A fork has a copy of its original's home and
 * would write into the original's file; so each session has a place of its own, which Codex fills from the files
 * of the home. */
static void add_state(struct harness_plan *plan, const char *home, const char *session_id)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	buf_printf(&b, "%s/state-%s", home, session_id);
	buf_putc(&b, '\0');
	add_string_setting(plan, "sqlite_home", b.data);
}

int codex_plan(const struct harness_def *def, const struct harness_req *req,
	       struct harness_plan *plan, struct err *e)
{
	_cleanup_(freep) char *model = codex_model_wanted(req);
	char home[PATH_LEN_MAX];

	harness_plan_command(plan, def, "app-server");
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
		add_setting(plan, settings[i]);
	if (model)
		add_string_setting(plan, "model", model);
	snprintf(home, sizeof(home), "%s/.codex", req->home);
	add_state(plan, home, req->session_id);
	harness_plan_env(plan, "CODEX_HOME", home);
	/* it does not make the directory itself */
	harness_plan_file(plan, ".codex", NULL);
	return req->provider ? plan_provider(plan, req->provider, e) : 0;
}
