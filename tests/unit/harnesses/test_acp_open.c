/* The generic ACP adapter until it is ready: handshake, authentication, new, resume, load, and all that can go wrong. */
#include "adapter_session.h"

#include "harnesses/harness.h"

#define INITIALIZE(extra)                                                                                 \
	"send {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":1," \
	"\"clientCapabilities\":{\"fs\":{\"readTextFile\":false,\"writeTextFile\":false},"                \
	"\"terminal\":false" extra "},\"clientInfo\":{\"name\":\"acpd\",\"title\":\"acpd\","              \
	"\"version\":\"0.0.0-test\"}}}\n"
#define INIT_RESULT(caps)                                                                          \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":1" caps "}}"

static void start(const struct harness_req *req, const char *initialize_result)
{
	assert_int_equal(fake_open(&f, &harness_acp, req), 0);
	buf_reset(&f.log);
	feed(initialize_result);
}

static void test_new_session(void **state _unused_)
{
	assert_int_equal(fake_open(&f, &harness_acp, NULL), 0);
	assert_log(INITIALIZE(""));
	feed(INIT_RESULT(""));
	assert_log(
		"send {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"session/new\",\"params\":{\"cwd\":\"/ws\","
		"\"mcpServers\":[]}}\n");
	feed("{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"sessionId\":\"s\\u00e9\"}}");
	assert_log("ready s\xc3\xa9 restored=0 caps=\n");
}

static void test_everything_announced(void **state _unused_)
{
	struct harness_req req = fake_request();

	req.boolean_config = req.elicitation = true;
	req.cwd = "/a \"b\"";
	req.mcp_servers = SLICE("[{\"name\":\"x\",\"command\":\"/x\",\"args\":[],\"env\":[]}]");
	req.additional_dirs = SLICE("[\"/more\"]");
	assert_int_equal(fake_open(&f, &harness_acp, &req), 0);
	assert_log(INITIALIZE(
		",\"session\":{\"configOptions\":{\"boolean\":{}}},\"elicitation\":{\"form\":{}}"));
	feed(INIT_RESULT(
		",\"agentCapabilities\":{\"loadSession\":true,\"promptCapabilities\":{\"image\":true,"
		"\"embeddedContext\":true},\"mcpCapabilities\":{\"sse\":true},"
		"\"sessionCapabilities\":{\"additionalDirectories\":{}}},\"authMethods\":[]"));
	assert_log(
		"send {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"session/new\",\"params\":{\"cwd\":\"/a \\\"b\\\"\","
		"\"mcpServers\":[{\"name\":\"x\",\"command\":\"/x\",\"args\":[],\"env\":[]}],"
		"\"additionalDirectories\":[\"/more\"]}}\n");
	feed("{\"id\":2,\"result\":{\"sessionId\":\"n\",\"modes\":{\"currentModeId\":\"a\"},\"configOptions\":[{}]}}");
	assert_log(
		"ready n restored=0 caps=image,context,sse,dirs,restore, modes={\"currentModeId\":\"a\"} options=[{}]\n");
}

/* Directories that the agent cannot take are not sent. */
static void test_no_directories(void **state _unused_)
{
	struct harness_req req = fake_request();

	req.additional_dirs = SLICE("[\"/more\"]");
	start(&req, INIT_RESULT(""));
	assert_log(
		"send {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"session/new\",\"params\":{\"cwd\":\"/ws\","
		"\"mcpServers\":[]}}\n");
}

static void test_wrong_types_in_the_result_are_left_out(void **state _unused_)
{
	start(NULL, INIT_RESULT(",\"agentCapabilities\":[]"));
	buf_reset(&f.log);
	feed("{\"id\":2,\"result\":{\"sessionId\":\"n\",\"modes\":null,\"configOptions\":{}}}");
	assert_log("ready n restored=0 caps=\n");
}

/* --- what goes wrong ----------------------------------------------------------------------------------- */

static void test_wrong_version(void **state _unused_)
{
	static const char *const results[] = {
		"{\"id\":1,\"result\":{\"protocolVersion\":2}}",
		"{\"id\":1,\"result\":{\"protocolVersion\":\"1\"}}",
		"{\"id\":1,\"result\":{}}",
		"{\"id\":1,\"result\":null}",
		"{\"id\":1,\"result\":[1]}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(results); i++) {
		start(NULL, results[i]);
		assert_log(
			"failed -32603 HARNESS_PROTOCOL the harness does not speak ACP version 1\n");
		fake_close(&f);
	}
}

static void test_initialize_refused(void **state _unused_)
{
	start(NULL, "{\"id\":1,\"error\":{\"code\":-32603,\"message\":\"no\\nway\"}}");
	assert_log("failed -32603 HARNESS_OPEN_FAILED the harness refused initialize: no way\n");
	/* late lines change nothing */
	feed("{\"id\":1,\"result\":{\"protocolVersion\":1}}");
	feed("{\"id\":2,\"result\":{\"sessionId\":\"n\"}}");
	assert_log("");
}

static void test_session_refused(void **state _unused_)
{
	static const struct {
		const char *error, *log;
	} rows[] = {
		{ "{\"code\":-32000,\"message\":\"login\"}",
		  "failed -32000 AUTH_REQUIRED the harness refused the session: login\n" },
		{ "{\"code\":-32603,\"message\":\"x\",\"data\":{\"statusCode\":401}}",
		  "failed -32000 AUTH_REQUIRED the harness refused the session: x\n" },
		{ "{\"code\":-32603,\"message\":\"cwd\"}",
		  "failed -32603 HARNESS_OPEN_FAILED the harness refused the session: cwd\n" },
		{ "{}", "failed -32603 HARNESS_OPEN_FAILED the harness refused the session: "
			"the harness reported an error without a message\n" },
		{ "\"boom\"", "failed -32603 HARNESS_OPEN_FAILED the harness refused the session: "
			      "the harness reported an error without a message\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[200];

		start(NULL, INIT_RESULT(""));
		buf_reset(&f.log);
		snprintf(text, sizeof(text), "{\"id\":2,\"error\":%s}", rows[i].error);
		feed(text);
		assert_log(rows[i].log);
		assert_int_equal(f.readies, 0);
		fake_close(&f);
	}
}

static void test_session_without_id(void **state _unused_)
{
	static const char *const results[] = { "{}",
					       "null",
					       "{\"sessionId\":1}",
					       "{\"sessionId\":null}",
					       "{\"sessionId\":\"a\\u0000\"}",
					       "{\"sessionId\":\"a\",\"sessionId\":\"b\"}" };

	for (size_t i = 0; i < ARRAY_SIZE(results); i++) {
		char text[200];

		start(NULL, INIT_RESULT(""));
		buf_reset(&f.log);
		snprintf(text, sizeof(text), "{\"id\":2,\"result\":%s}", results[i]);
		feed(text);
		assert_log(
			"failed -32603 HARNESS_PROTOCOL the harness opened a session without a sessionId\n");
		fake_close(&f);
	}
}

/* The child's input is closed, at each step of the opening: the session fails at once, not after a timeout. */
static void test_child_does_not_read(void **state _unused_)
{
	struct harness_req req = fake_request();

	f.send_result = -EPIPE;
	assert_true(fake_open(&f, &harness_acp, NULL) < 0);
	assert_string_equal(f.err.reason, "HARNESS_OPEN_FAILED");
	fake_close(&f);

	assert_int_equal(fake_open(&f, &harness_acp, NULL), 0);
	f.send_result = -EPIPE;
	feed(INIT_RESULT(""));
	assert_int_equal(f.failures, 1);
	fake_close(&f);

	req.auth_method = "key";
	assert_int_equal(fake_open(&f, &harness_acp, &req), 0);
	f.send_result = -EPIPE;
	feed(INIT_RESULT(""));
	assert_int_equal(f.failures, 1);
}

/* --- authentication -------------------------------------------------------------------------------------- */

static void test_authenticate(void **state _unused_)
{
	struct harness_req req = fake_request();

	req.auth_method = "api-key";
	start(&req, INIT_RESULT(",\"authMethods\":[{\"id\":\"api-key\",\"name\":\"Key\"}]"));
	assert_log(
		"send {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"authenticate\",\"params\":{\"methodId\":\"api-key\"}}\n");
	feed("{\"id\":2,\"result\":{}}");
	assert_log(
		"send {\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"session/new\",\"params\":{\"cwd\":\"/ws\","
		"\"mcpServers\":[]}}\n");
	feed("{\"id\":3,\"result\":{\"sessionId\":\"n\"}}");
	assert_log("ready n restored=0 caps=\n");
}

static void test_authentication_fails(void **state _unused_)
{
	struct harness_req req = fake_request();

	req.auth_method = "api-key";
	start(&req, INIT_RESULT(""));
	buf_reset(&f.log);
	feed("{\"id\":2,\"error\":{\"code\":-32000,\"message\":\"bad key\"}}");
	assert_log("failed -32000 AUTH_REQUIRED authentication failed: bad key\n");
}

/* --- taking a session up again ----------------------------------------------------------------------------- */

static struct harness_req restore(void)
{
	struct harness_req req = fake_request();

	req.mode = HARNESS_RESTORE;
	req.native_id = "old";
	return req;
}

#define CAN_RESUME                                                                                 \
	",\"agentCapabilities\":{\"loadSession\":true,\"sessionCapabilities\":{\"resume\":{}}}"
#define CAN_LOAD ",\"agentCapabilities\":{\"loadSession\":true}"
#define UPDATE(id, update)                                                                         \
	"{\"method\":\"session/update\",\"params\":{\"sessionId\":\"" id "\",\"update\":" update   \
	"}}"
#define CHUNK                                                                                      \
	"{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"t\"}}"
#define COMMANDS "{\"sessionUpdate\":\"available_commands_update\",\"availableCommands\":[]}"

static void test_resume(void **state _unused_)
{
	struct harness_req req = restore();

	start(&req, INIT_RESULT(CAN_RESUME));
	assert_log(
		"send {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"session/resume\",\"params\":{\"sessionId\":\"old\","
		"\"cwd\":\"/ws\",\"mcpServers\":[]}}\n");
	feed("{\"id\":2,\"result\":{\"modes\":{}}}");
	assert_log("ready old restored=1 caps=restore, modes={}\n");
}

/* The replay is swallowed: the history is ours. What describes the present is kept. */
static void test_load(void **state _unused_)
{
	struct harness_req req = restore();

	start(&req, INIT_RESULT(CAN_LOAD));
	assert_log(
		"send {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"session/load\",\"params\":{\"sessionId\":\"old\","
		"\"cwd\":\"/ws\",\"mcpServers\":[]}}\n");
	feed(UPDATE("old", CHUNK));
	feed(UPDATE("old", COMMANDS));
	feed(UPDATE("old", CHUNK));
	feed(UPDATE("old", "{\"sessionUpdate\":\"invented\"}"));
	feed("{\"id\":2,\"result\":null}");
	feed(UPDATE("old", CHUNK));
	assert_log("event available_commands_update " COMMANDS "\n"
		   "ready old restored=1 caps=restore,\n"
		   "event agent_message_chunk " CHUNK "\n");
}

static void test_falls_back_to_new(void **state _unused_)
{
	static const char *const caps[] = { CAN_LOAD, CAN_RESUME };

	for (size_t i = 0; i < ARRAY_SIZE(caps); i++) {
		struct harness_req req = restore();
		char text[200];

		snprintf(text, sizeof(text), INIT_RESULT("%s"), caps[i]);
		start(&req, text);
		buf_reset(&f.log);
		feed(UPDATE("old", CHUNK));
		buf_reset(&f.log);
		feed("{\"id\":2,\"error\":{\"code\":-32002,\"message\":\"unknown\"}}");
		assert_log(
			"send {\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"session/new\",\"params\":{\"cwd\":\"/ws\","
			"\"mcpServers\":[]}}\n");
		/* updates of the new session may come before its answer */
		feed(UPDATE("new", COMMANDS));
		feed("{\"id\":3,\"result\":{\"sessionId\":\"new\"}}");
		assert_log("event available_commands_update " COMMANDS
			   "\nready new restored=0 caps=restore,\n");
		feed(UPDATE("old", CHUNK));
		assert_log("");
		feed(UPDATE("new", CHUNK));
		assert_log("event agent_message_chunk " CHUNK "\n");
		fake_close(&f);
	}
}

static void test_cannot_restore(void **state _unused_)
{
	struct harness_req req = restore();

	start(&req, INIT_RESULT(""));
	assert_log(
		"send {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"session/new\",\"params\":{\"cwd\":\"/ws\","
		"\"mcpServers\":[]}}\n");
	feed(UPDATE("new", COMMANDS));
	feed("{\"id\":2,\"result\":{\"sessionId\":\"new\"}}");
	assert_log("event available_commands_update " COMMANDS "\nready new restored=0 caps=\n");
}

/* --- banners ------------------------------------------------------------------------------------------------ */

static void test_banner(void **state _unused_)
{
	static const char *const rows[] = {
		"Welcome to Agent 3.1",
		"  indented, and 123",
		"[info] starting",
		"\x1b[1mbold\x1b[0m",
		"\xff\xfe",
		"{\"level\":30,\"id\":1}",
	};

	assert_int_equal(fake_open(&f, &harness_acp, NULL), 0);
	buf_reset(&f.log);
	feed("");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(fake_line(&f, slice_of(rows[i])), HARNESS_NOT_A_MESSAGE);
	feed(INIT_RESULT(""));
	assert_int_equal(fake_line(&f, SLICE("late banner")), HARNESS_NOT_A_MESSAGE);
}

#define T(fn) cmocka_unit_test_teardown(fn, session_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_new_session),
		T(test_everything_announced),
		T(test_no_directories),
		T(test_wrong_types_in_the_result_are_left_out),
		T(test_wrong_version),
		T(test_initialize_refused),
		T(test_session_refused),
		T(test_session_without_id),
		T(test_child_does_not_read),
		T(test_authenticate),
		T(test_authentication_fails),
		T(test_resume),
		T(test_load),
		T(test_falls_back_to_new),
		T(test_cannot_restore),
		T(test_banner),
	};

	return RUN(tests, NULL, NULL);
}
