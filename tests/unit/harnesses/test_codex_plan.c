/* Codex's plan: a private home, quiet settings, a provider by -c, and no secret on the command line. */
#include "unit.h"

#include "harnesses/harness.h"
#include "harnesses/spawn_plan.h"

static struct harness_plan plan;
static struct err e;

static int teardown(void **state _unused_)
{
	harness_plan_done(&plan);
	return 0;
}

static int make(const char *provider, char **args)
{
	struct harness_def def = { .id = "codex", .command = "/opt/codex", .args = args };
	struct harness_req req = {
		.session_id = "s1", .cwd = "/ws", .home = "/state/homes/s1", .model = "m \"1\""
	};
	struct harness_provider p;
	int r;

	harness_plan_done(&plan);
	memset(&e, 0, sizeof(e));
	if (!provider)
		return harness_codex.plan(&def, &req, &plan, &e);
	assert_int_equal(harness_provider_parse(slice_of(provider), &p, &e), 0);
	req.provider = &p;
	r = harness_codex.plan(&def, &req, &plan, &e);
	harness_provider_done(&p);
	return r;
}

static bool has_setting(const char *text)
{
	for (size_t i = 1; i < plan.nargs; i++)
		if (strcmp(plan.argv[i], text) == 0)
			return strcmp(plan.argv[i - 1], "-c") == 0;
	return false;
}

static void test_command_line(void **state _unused_)
{
	char *args[] = { "--strict-config", "app-server", NULL };

	assert_int_equal(make(NULL, NULL), 0);
	assert_string_equal(plan.argv[0], "/opt/codex");
	assert_string_equal(plan.argv[1], "app-server");
	assert_string_equal(plan.argv[2], "-c");
	assert_int_equal(make(NULL, args), 0);
	assert_string_equal(plan.argv[1], "--strict-config");
	assert_string_equal(plan.argv[2], "app-server");
	assert_string_equal(plan.argv[3], "-c");
}

static void test_quiet_and_private(void **state _unused_)
{
	static const char *const rows[] = {
		"check_for_update_on_startup=false",
		"analytics.enabled=false",
		"features.plugins=false",
		"features.apps=false",
		"features.unbounded_connection_retries=false",
		"shell_environment_policy.exclude=[\"ACPD_PROVIDER_*\"]",
		"model=\"m \\\"1\\\"\"",
		"sqlite_home=\"/state/homes/s1/.codex/state-s1\"",
	};

	assert_int_equal(make(NULL, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!has_setting(rows[i]))
			fail_row(i, rows[i]);
	assert_string_equal(harness_plan_getenv(&plan, "CODEX_HOME"), "/state/homes/s1/.codex");
	assert_int_equal(plan.nfiles, 1);
	assert_string_equal(plan.files[0].name, ".codex");
	assert_null(plan.files[0].value);
	assert_null(harness_plan_getenv(&plan, "ACPD_PROVIDER_KEY"));
}

static void test_provider(void **state _unused_)
{
	static const char *const rows[] = {
		"model_provider=\"acpd\"",
		"model_providers.acpd.wire_api=\"responses\"",
		"model_providers.acpd.env_key=\"ACPD_PROVIDER_KEY\"",
		"model_providers.acpd.base_url=\"http://gw/v1\"",
		"model_providers.acpd.request_max_retries=1",
		"model_providers.acpd.stream_max_retries=1",
		"model_providers.acpd.stream_idle_timeout_ms=45000",
		"model_providers.acpd.env_http_headers={\"x-a\"=\"ACPD_PROVIDER_HEADER_0\","
		"\"x-b\"=\"ACPD_PROVIDER_HEADER_1\"}",
	};

	assert_int_equal(
		make("{\"api\":\"openai-responses\",\"baseUrl\":\"http://gw/v1\",\"key\":\"sk-secret\","
		     "\"idleTimeoutMs\":45000,\"headers\":{\"x-a\":\"secret-a\",\"x-b\":\"secret-b\"}}",
		     NULL),
		0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!has_setting(rows[i]))
			fail_row(i, rows[i]);
	for (size_t i = 0; i < plan.nargs; i++)
		assert_null(strstr(plan.argv[i], "secret"));
	assert_string_equal(harness_plan_getenv(&plan, "ACPD_PROVIDER_KEY"), "sk-secret");
	assert_string_equal(harness_plan_getenv(&plan, "ACPD_PROVIDER_HEADER_1"), "secret-b");
}

/* The first one is begun with when the wanted one is not listed: the core then misses that among the options. */
static void test_model(void **state _unused_)
{
	static const struct {
		const char *provider, *setting;
	} rows[] = {
		{ "{\"api\":\"openai-responses\",\"key\":\"k\",\"model\":\"a\",\"models\":[\"a\",\"b\"]}",
		  "model=\"a\"" },
		{ "{\"api\":\"openai-responses\",\"key\":\"k\",\"models\":[\"b\"]}",
		  "model=\"b\"" },
		{ "{\"api\":\"openai-responses\",\"key\":\"k\",\"model\":\"a\",\"models\":[\"m \\\"1\\\"\"]}",
		  "model=\"m \\\"1\\\"\"" },
		{ "{\"api\":\"openai-responses\",\"key\":\"k\"}", "model=\"m \\\"1\\\"\"" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(make(rows[i].provider, NULL), 0);
		if (!has_setting(rows[i].setting))
			fail_row(i, rows[i].provider);
	}
}

static void test_public_address_is_the_default(void **state _unused_)
{
	assert_int_equal(make("{\"api\":\"openai-responses\",\"key\":\"k\"}", NULL), 0);
	assert_true(has_setting("model_providers.acpd.base_url=\"https://api.openai.com/v1\""));
}

static void test_silence_is_codex_s_own_by_default(void **state _unused_)
{
	assert_int_equal(make("{\"api\":\"openai-responses\",\"key\":\"k\"}", NULL), 0);
	for (size_t i = 0; i < plan.nargs; i++)
		assert_null(strstr(plan.argv[i], "stream_idle_timeout_ms"));
}

static void test_other_apis_are_refused(void **state _unused_)
{
	static const char *const apis[] = { "openai-chat", "anthropic", "google" };
	char text[80];

	for (size_t i = 0; i < ARRAY_SIZE(apis); i++) {
		snprintf(text, sizeof(text), "{\"api\":\"%s\",\"key\":\"k\"}", apis[i]);
		assert_true(make(text, NULL) < 0);
		assert_string_equal(e.reason, "PROVIDER_API_UNSUPPORTED");
		assert_string_equal(e.field, "_meta.acpd.provider.api");
	}
}

#define T(fn) cmocka_unit_test_teardown(fn, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_command_line),
		T(test_quiet_and_private),
		T(test_provider),
		T(test_model),
		T(test_public_address_is_the_default),
		T(test_silence_is_codex_s_own_by_default),
		T(test_other_apis_are_refused),
	};

	return RUN(tests, NULL, NULL);
}
