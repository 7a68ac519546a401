/* The Pi adapter: how it starts Pi, what an error's text means, and how a session opens. */
#include "pi_session.h"

#include "harnesses/spawn_plan.h"

static struct harness_plan plan;

static int teardown(void **state)
{
	harness_plan_done(&plan);
	return session_teardown(state);
}

/* --- plan --------------------------------------------------------------------------------------------------- */

static void test_plan(void **state _unused_)
{
	struct harness_req req = request();

	req.provider = &provider;
	req.approval = APPROVAL_ACCEPT_EDITS;
	req.system_prompt = "Be brief.";
	req.system_override = true;
	req.additional_dirs = SLICE("[\"/data\"]");
	assert_int_equal(harness_pi.plan(&def, &req, &plan, NULL), 0);
	assert_string_equal(plan.argv[0], "node");
	assert_string_equal(plan.argv[1], "/opt/pi/cli.js");
	assert_string_equal(plan.argv[2], "--mode");
	assert_string_equal(plan.argv[3], "rpc");
	assert_string_equal(plan.argv[5], "sess_1");
	assert_string_equal(plan.argv[6], "--no-approve");
	assert_string_equal(plan.argv[8], "/home/agent/.acpd/bridge.mjs");
	assert_null(plan.argv[9]);
	/* commands of the model could read it there */
	for (size_t i = 0; i < plan.nenv; i++)
		assert_null(strstr(plan.env[i].value, "sk-1"));
	assert_string_equal(harness_plan_getenv(&plan, "PI_OFFLINE"), "1");
	assert_string_equal(harness_plan_getenv(&plan, "PI_CODING_AGENT_DIR"),
			    "/home/agent/.pi/agent");
	assert_string_equal(
		harness_plan_getenv(&plan, "ACPD_PI_0"),
		"{\"approval\":\"accept-edits\",\"rules\":0,\"dirs\":[\"/data\"],\"mcp\":[],"
		"\"elicitation\":false,"
		"\"system\":\"Be brief.\",\"override\":true,\"provider\":{\"api\":\"anthropic\","
		"\"baseUrl\":\"http://gw/v1\",\"headers\":{\"x\":\"1\"},\"models\":[\"m-1\",\"m-2\"]}}");
	assert_null(harness_plan_getenv(&plan, "ACPD_PI_1"));
}

static void test_plan_silence(void **state _unused_)
{
	struct harness_provider patient = provider;
	struct harness_req req = request();

	patient.idle_timeout_ms = 45000;
	req.provider = &patient;
	assert_int_equal(harness_pi.plan(&def, &req, &plan, NULL), 0);
	assert_non_null(
		strstr(harness_plan_getenv(&plan, "ACPD_PI_0"), "\"idleTimeoutMs\":45000,"));
	/* Pi's own limit lets any through: the file is written once */
	assert_non_null(strstr(plan.files[0].value, "\"httpIdleTimeoutMs\":3600000,"));
}

/* A fork has a home with the context of the session that it was copied from, under that one's id; at its every start. */
static void test_plan_fork(void **state _unused_)
{
	struct harness_req req = request();

	req.mode = HARNESS_RESTORE;
	req.native_id = "sess_0";
	assert_int_equal(harness_pi.plan(&def, &req, &plan, NULL), 0);
	assert_string_equal(plan.argv[4], "--session-id");
	assert_string_equal(plan.argv[5], "sess_0");
	open_session(&req, STATE("1", OTHER, "3"), "true");
	feed(STATE("3", OTHER, "3"));
	feed(LEVELS("4"));
	assert_true(logged("ready sess_0 restored=1"));
}

static void test_plan_files(void **state _unused_)
{
	struct harness_req req = request();

	assert_int_equal(harness_pi.plan(&def, &req, &plan, NULL), 0);
	assert_int_equal(plan.nfiles, 1);
	assert_int_equal(plan.nprograms, 1);
	assert_string_equal(plan.files[0].name, ".pi/agent/settings.json");
	assert_true(jscan_value(slice_of(plan.files[0].value), NULL) == JSCAN_OK);
	assert_non_null(strstr(plan.files[0].value, "\"cacheWarming\":\"off\""));
	/* the whole script, as it stands */
	assert_string_equal(plan.programs[0].name, ".acpd/bridge.mjs");
	assert_true(slice_starts(slice_of(plan.programs[0].value), "// bridge.mjs"));
	assert_string_equal(plan.programs[0].value + strlen(plan.programs[0].value) - 3, "\n}\n");
}

/* One variable holds 128 KiB; a character is never cut in two. */
static void test_plan_long(void **state _unused_)
{
	struct harness_req req = request();
	_cleanup_(freep) char *text = xalloc(200001);
	size_t n = 0;

	for (size_t i = 0; i < 200000; i += 2)
		memcpy(text + i, "\xc3\xa4", 2);
	req.system_prompt = text;
	assert_int_equal(harness_pi.plan(&def, &req, &plan, NULL), 0);
	for (unsigned i = 0; i < 3; i++) {
		char name[16];
		const char *part;

		snprintf(name, sizeof(name), "ACPD_PI_%u", i);
		part = harness_plan_getenv(&plan, name);
		assert_non_null(part);
		assert_true(strlen(part) <= 96 * 1024 && ((unsigned char)*part & 0xc0) != 0x80);
		n += strlen(part);
	}
	assert_true(n > 200000);
}

static void test_plan_without_model(void **state _unused_)
{
	struct harness_provider bare = { .api = api, .key = key };
	struct harness_req req = request();
	struct err e = { 0 };

	req.provider = &bare;
	assert_true(harness_pi.plan(&def, &req, &plan, &e) < 0);
	assert_string_equal(e.field, "_meta.acpd.provider.model");
	bare.models = SLICE("[\"m\"]");
	assert_int_equal(harness_pi.plan(&def, &req, &plan, &e), 0);
}

/* --- errors ------------------------------------------------------------------------------------------------- */

static void test_errors(void **state _unused_)
{
	static const struct {
		const char *text, *cls;
		int status;
		bool retryable;
		const char *message;
	} rows[] = {
		{ "401: {\"message\":\"bad key\"}", "auth", 401, false, "bad key" },
		{ "401 {\"type\":\"error\",\"error\":{\"message\":\"bad x-api-key\"}}", "auth", 401,
		  false, "bad x-api-key" },
		{ "acpd API error (529): {\"message\":\"Overloaded\"}", "provider", 529, true,
		  "Overloaded" },
		{ "{\"error\":{\"code\":429,\"message\":\"slow down\"}}", "rate_limit", 429, true,
		  "slow down" },
		{ "429: {\"code\":\"insufficient_quota\"}", "quota", 429, false,
		  "429: {\"code\":\"insufficient_quota\"}" },
		{ "402: {}", "quota", 402, false, "402: {}" },
		{ "400: {\"code\":\"context_length_exceeded\",\"message\":\"long\"}",
		  "context_overflow", 400, false, "long" },
		{ "400: {\"message\":\"odd\"}", "provider", 400, false, "odd" },
		{ "404 no such model", "provider", 404, false, "404 no such model" },
		{ "408: timeout", "provider", 408, true, "408: timeout" },
		{ "terminated: read ECONNRESET", "provider", 0, true,
		  "terminated: read ECONNRESET" },
		{ "Request timed out.", "provider", 0, true, "Request timed out." },
		{ "4011 is no status", "provider", 0, true, "4011 is no status" },
		{ "No API key found for the selected model.\n\nUse /login", "auth", 0, false,
		  "No API key found for the selected model.  Use /login" },
		{ "", "provider", 0, true, "the model call failed without a message" },
	};
	struct turn_error e;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		pi_error_classify(rows[i].text, &e);
		if (strcmp(e.cls, rows[i].cls) != 0 || e.http_status != rows[i].status ||
		    e.retryable != rows[i].retryable || strcmp(e.message, rows[i].message) != 0)
			fail_row(i, rows[i].text);
	}
}

/* --- opening ----------------------------------------------------------------------------------------------- */

static void test_open(void **state _unused_)
{
	struct harness_req req = request();

	req.provider = &provider;
	req.model = "m-1";
	open_session(&req, STATE("1", M1, "0"), "false");
	feed(STATE("3", M1, "0"));
	feed(LEVELS("4"));
	feed(ANSWER(
		"5", "get_commands",
		"{\"commands\":[{\"name\":\"acpd:set\",\"description\":\"x\"},{\"name\":\"skill:a\"}]}"));
	assert_log(
		"send {\"id\":\"1\",\"type\":\"get_state\"}\n"
		"send {\"type\":\"prompt\",\"message\":\"/acpd:key {\\\"key\\\":\\\"sk-1\\\"}\"}\n"
		"send {\"id\":\"2\",\"type\":\"get_available_models\"}\n"
		"send {\"id\":\"3\",\"type\":\"get_state\"}\n"
		"send {\"id\":\"4\",\"type\":\"get_available_thinking_levels\"}\n"
		"ready sess_1 restored=0 caps= options=["
		"{\"id\":\"model\",\"name\":\"Model\",\"category\":\"model\",\"type\":\"select\","
		"\"currentValue\":\"m-1\",\"options\":[{\"value\":\"m-1\",\"name\":\"One\"}]},"
		"{\"id\":\"thought_level\",\"name\":\"Thinking\",\"category\":\"thought_level\",\"type\":\"select\","
		"\"currentValue\":\"off\",\"options\":[{\"value\":\"off\",\"name\":\"off\"},{\"value\":\"high\","
		"\"name\":\"high\"}]},"
		"{\"id\":\"mode\",\"name\":\"Mode\",\"category\":\"mode\",\"type\":\"select\",\"currentValue\":\"build\","
		"\"options\":[{\"value\":\"build\",\"name\":\"Build\"},{\"value\":\"plan\",\"name\":\"Plan\"}]},"
		"{\"id\":\"approval\",\"name\":\"Approval\",\"category\":\"_approval\",\"type\":\"select\","
		"\"currentValue\":\"ask\",\"options\":[{\"value\":\"ask\",\"name\":\"Ask\"},{\"value\":\"accept-edits\","
		"\"name\":\"Accept edits\"},{\"value\":\"never\",\"name\":\"Never ask\"}]}]\n"
		"send {\"id\":\"5\",\"type\":\"get_commands\"}\n"
		"event available_commands_update {\"sessionUpdate\":\"available_commands_update\",\"availableCommands\":"
		"[{\"name\":\"skill:a\",\"description\":\"\",\"input\":{\"hint\":\"arguments\"}}]}\n");
}

/* Another model than the wanted one is switched before the session is ready; a taken up session keeps its own. */
static void test_open_other_model(void **state _unused_)
{
	struct harness_req req = request();

	req.provider = &provider;
	req.model = "m-2";
	open_session(&req, STATE("1", M1, "0"), "false");
	assert_true(logged(
		"{\"id\":\"3\",\"type\":\"set_model\",\"provider\":\"acpd\",\"modelId\":\"m-2\"}"));
	feed(REFUSED("3", "Model not found"));
	assert_true(logged("{\"id\":\"4\",\"type\":\"get_state\"}"));
	fake_close(&f);
	req.mode = HARNESS_RESTORE;
	req.native_id = "sess_1";
	open_session(&req, STATE("1", M1, "4"), "true");
	assert_false(logged("set_model"));
}

static void test_restored(void **state _unused_)
{
	static const struct {
		const char *state, *prompted;
		bool restored;
	} rows[] = {
		{ STATE("1", OTHER, "3"), "true", true },
		{ STATE("1", OTHER, "0"), "true", false },
		{ STATE("1", OTHER, "0"), "false", true }, /* nothing was ever said */
	};
	struct harness_req req = request();

	req.mode = HARNESS_RESTORE;
	req.native_id = "sess_9";
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		open_session(&req, rows[i].state, rows[i].prompted);
		feed(STATE("3", OTHER, "0"));
		feed(LEVELS("4"));
		if (!logged(rows[i].restored ? "ready sess_9 restored=1" :
					       "ready sess_9 restored=0"))
			fail_row(i, rows[i].state);
		/* no provider of ours: Pi's names */
		assert_true(logged("\"currentValue\":\"openai/gpt\""));
		fake_close(&f);
	}
}

static void test_open_without_bridge(void **state _unused_)
{
	struct harness_req req = request();

	req.provider = &provider;
	fake_open(&f, &harness_pi, &req);
	assert_int_equal(fake_line(&f, SLICE("Warning: something prints here")),
			 HARNESS_NOT_A_MESSAGE);
	feed(STATE("1", M1, "0"));
	assert_int_equal(f.failures, 1);
	assert_true(
		logged("failed -32603 HARNESS_OPEN_FAILED Pi did not load the bridge extension"));
	assert_false(logged("sk-1"));
}

static void test_garbage(void **state _unused_)
{
	ready_session();
	feed("{\"type\":\"of_next_week\",\"x\":1}\r");
	feed("");
	assert_log("");
	assert_int_equal(fake_line(&f, SLICE("no record")), HARNESS_NOT_A_MESSAGE);
	assert_int_equal(fake_line(&f, SLICE("{\"level\":30}")), HARNESS_NOT_A_MESSAGE);
}

#define T(fn) cmocka_unit_test_teardown(fn, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_plan),
		T(test_plan_silence),
		T(test_plan_fork),
		T(test_plan_files),
		T(test_plan_long),
		T(test_plan_without_model),
		T(test_errors),
		T(test_open),
		T(test_open_other_model),
		T(test_restored),
		T(test_open_without_bridge),
		T(test_garbage),
	};

	return RUN(tests, NULL, NULL);
}
