/* The handshake that finds out the era, calls that wait for it, and calls to a modern server. */
#include "upstream_rig.h"

#define DISCOVERED                                                                                 \
	"\"result\":{\"supportedVersions\":[\"2026-07-28\",\"2027-01-01\"],\"capabilities\":{},"   \
	"\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"new\",\"version\":\"2\"}}}}"
#define INITIALIZED                                                                                \
	"\"result\":{\"protocolVersion\":\"2024-11-05\",\"capabilities\":{},\"serverInfo\":"       \
	"{\"name\":\"old\",\"version\":\"1\"}}}"
#define NO "\"error\":{\"code\":-32601,\"message\":\"Method not found\"}}"

static struct told a, b;

static bool sent(const char *what)
{
	bool found = ups_sent.data && memmem(ups_sent.data, ups_sent.len, what, strlen(what));

	buf_reset(&ups_sent);
	return found;
}

static void begin(void)
{
	upstream_begin(ups);
	loop_run_deferred(ups_loop);
}

static void test_modern(void **state _unused_)
{
	begin();
	ups_expect(
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{\"_meta\":"
		"{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
		"\"io.modelcontextprotocol/clientCapabilities\":{},"
		"\"io.modelcontextprotocol/clientInfo\":{\"name\":\"acpd\",\"version\":\"0.0.0-test\"}}}}\n");
	ups_feed("{\"id\":1," DISCOVERED);
	assert_true(ups_up && !ups->is_legacy);
	assert_string_equal(ups->revision, "2026-07-28");
	ups_expect("");
}

static void test_legacy(void **state _unused_)
{
	begin();
	buf_reset(&ups_sent);
	ups_feed("{\"id\":1," NO);
	ups_expect("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"initialize\",\"params\":"
		   "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"elicitation\":"
		   "{\"form\":{},\"url\":{}},\"sampling\":{\"tools\":{}},\"roots\":{}},"
		   "\"clientInfo\":{\"name\":\"acpd\",\"version\":\"0.0.0-test\"}}}\n");
	ups_feed("{\"id\":2," INITIALIZED);
	assert_true(ups_up && ups->is_legacy);
	assert_string_equal(ups->revision, "2024-11-05");
	ups_expect(
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\",\"params\":{}}\n");
	upstream_end(ups, &(struct err){ .reason = "SERVER_GONE" });
	begin(); /* what it was is tried first */
	assert_true(sent("\"initialize\""));
	ups_feed("{\"id\":3," NO);
	assert_true(sent("server/discover"));
	ups_feed("{\"id\":4," DISCOVERED);
	assert_false(ups->is_legacy);
}

/* What the server says to discover, and then to initialize; whether it comes up. */
static const struct {
	const char *discover, *initialize;
	bool up;
} answers[] = {
	{ NO, NO, false },
	{ "\"result\":{}}", INITIALIZED, true },
	{ "\"result\":{\"supportedVersions\":[\"2027-01-01\"]}}", INITIALIZED, true },
	{ "\"result\":{\"supportedVersions\":\"2026-07-28\"}}", NO, false },
	{ "\"result\":null}", INITIALIZED, true },
	{ "\"error\":null}", INITIALIZED, true },
	{ NO, "\"result\":{}}", false },
	{ NO, "\"result\":{\"protocolVersion\":\"2099-01-01\",\"capabilities\":{}}}", false },
	{ NO, "\"result\":{\"protocolVersion\":\"2025-03-26\"}}", true },
	{ NO, "\"result\":{\"protocolVersion\":7}}", false },
};

static void test_answers(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		char text[600];

		ups_teardown(state);
		ups_setup(state);
		begin();
		snprintf(text, sizeof(text), "{\"id\":1,%s", answers[i].discover);
		ups_feed(text);
		snprintf(text, sizeof(text), "{\"id\":2,%s", answers[i].initialize);
		ups_feed(text);
		if (ups_up != answers[i].up)
			fail_row(i, answers[i].initialize);
		if (!ups_up)
			assert_string_equal(ups_refused.reason, "HANDSHAKE_FAILED");
	}
}

static void test_slow(void **state _unused_)
{
	begin();
	buf_reset(&ups_sent);
	ups->probe_timer.fn(ups); /* no answer yet */
	assert_true(sent("\"initialize\""));
	ups_feed("{\"id\":1," DISCOVERED);
	assert_true(ups_up && !ups->is_legacy);
	ups_feed("{\"id\":2," INITIALIZED);
	assert_false(ups->is_legacy);
	ups_expect("");
}

static void test_silent(void **state _unused_)
{
	ups->start_ms = 30;
	begin();
	told_call(&a, &ups->backend, "tools/list", "{}");
	ups_until(&a.done);
	assert_string_equal(ups_refused.reason, "START_TIMEOUT");
	assert_true(a.done && memmem(a.text.data, a.text.len, "START_TIMEOUT", 13));
	buf_done(&a.text);
}

static void test_waiting(void **state _unused_)
{
	begin();
	told_call(&a, &ups->backend, "tools/list", "{\"a\":1.0}");
	told_call(&b, &ups->backend, "tools/call", "{}");
	buf_reset(&ups_sent);
	mcp_call_cancel(b.call);
	ups_expect("");
	ups_feed("{\"id\":1," DISCOVERED);
	ups_expect(
		"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\",\"params\":{\"a\":1.0}}\n");
	ups_feed("{\"id\":2,\"result\":{ }}");
	assert_buf(&a.text, "= { }");
	assert_false(b.done);
	buf_done(&a.text);
}

static void test_down(void **state _unused_)
{
	told_call(&a, &ups->backend, "tools/list", "{}");
	loop_run_deferred(ups_loop);
	assert_buf(&a.text,
		   "! {\"code\":-32603,\"message\":\"the MCP server \\\"fake\\\" is not running\","
		   "\"data\":{\"reason\":\"SERVER_GONE\"}}");
	buf_done(&a.text);
	told_call(&a, &ups->backend, "tools/list", "{}");
	mcp_call_cancel(a.call); /* before it was told */
	loop_run_deferred(ups_loop);
	assert_false(a.done);
}

/* --- a modern server -------------------------------------------------------------------------------------- */

#define RAW                                                                                          \
	"{\"name\":\"t\",\"n\":9007199254740993.10,\"_meta\":{\"io.modelcontextprotocol/logLevel\":" \
	"\"info\",\"progressToken\":%s,\"x\":[ null]},\"requestState\":\"\\u00e9\"}"

static void test_modern_bytes(void **state _unused_)
{
	char params[300], want[400];

	ups_modern();
	snprintf(params, sizeof(params), RAW, "\"a\\u0062\"");
	told_call(&a, &ups->backend, "tools/call", params);
	snprintf(want, sizeof(want),
		 "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":" RAW "}\n",
		 "2");
	ups_expect(want);
	ups_feed(
		"{\"method\":\"notifications/progress\",\"params\":{\"progressToken\":2,\"p\":1.0}}");
	ups_feed("{\"method\":\"notifications/message\",\"params\":{\"level\":\"debug\"}}");
	ups_feed("{\"method\":\"notifications/other\",\"params\":{}}");
	ups_feed(
		"{\"id\":2,\"result\":{\"resultType\":\"input_required\",\"requestState\":\"\\u00e9\"}}");
	assert_buf(&a.text, "~ notifications/progress {\"progressToken\":\"a\\u0062\",\"p\":1.0}\n"
			    "~ notifications/message {\"level\":\"debug\"}\n"
			    "= {\"resultType\":\"input_required\",\"requestState\":\"\\u00e9\"}");
	buf_done(&a.text);
}

static void test_modern_listen(void **state _unused_)
{
	ups_modern();
	told_call(&a, &ups->backend, "subscriptions/listen", "{\"notifications\":{}}");
	told_call(&b, &ups->backend, "tools/call", "{}");
	ups_feed("{\"method\":\"notifications/tools/list_changed\",\"params\":{\"_meta\":"
		 "{\"io.modelcontextprotocol/subscriptionId\":2}}}");
	ups_feed("{\"method\":\"notifications/tools/list_changed\",\"params\":{\"_meta\":"
		 "{\"io.modelcontextprotocol/subscriptionId\":99}}}");
	assert_buf(&a.text, "~ notifications/tools/list_changed {\"_meta\":"
			    "{\"io.modelcontextprotocol/subscriptionId\":2}}\n");
	assert_int_equal(buf_len(&b.text), 0);
	buf_reset(&ups_sent);
	ups_feed("{\"id\":0,\"method\":\"roots/list\"}");
	assert_true(sent("-32601"));
	mcp_call_cancel(a.call);
	ups_expect("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":"
		   "{\"requestId\":2}}\n");
	mcp_call_cancel(b.call);
	buf_done(&a.text);
}

/* Messages that are none, or that belong to nothing. */
static void test_garbage(void **state _unused_)
{
	static const char *const bad[] = { "",	    "x",  "{",		 "[",  "[1,",
					   "\"a\"", "{}", "{\"id\":{}}", "[]", "[1,{}]" };
	static const char *const idle[] = { "{\"id\":5,\"result\":{}}",
					    "{\"id\":-2,\"result\":{}}",
					    "{\"id\":\"x\",\"result\":{}}",
					    "{\"id\":2.5,\"result\":{}}",
					    "{\"id\":null,\"error\":{}}",
					    "{\"id\":99999999999999999999,\"result\":{}}",
					    "{\"method\":\"notifications/progress\",\"params\":{}}",
					    "{\"method\":\"notifications/progress\",\"params\":"
					    "{\"progressToken\":2}}" };

	ups_modern();
	told_call(&a, &ups->backend, "tools/call", "{}");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (upstream_rpc_feed(&ups->rpc, 0, slice_of(bad[i])) != -EBADMSG)
			fail_row(i, bad[i]);
	for (size_t i = 0; i < ARRAY_SIZE(idle); i++)
		ups_feed(idle[i]);
	assert_int_equal(buf_len(&a.text), 0);
	ups_feed("[{\"id\":2,\r\n\"result\":{\r\"a\":1}}]\n");
	assert_buf(&a.text, "= { \"a\":1}");
	buf_done(&a.text);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, ups_setup, ups_teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_modern),  CASE(test_legacy),	     CASE(test_answers),
		CASE(test_slow),    CASE(test_silent),	     CASE(test_waiting),
		CASE(test_down),    CASE(test_modern_bytes), CASE(test_modern_listen),
		CASE(test_garbage),
	};

	return RUN(tests, NULL, NULL);
}
