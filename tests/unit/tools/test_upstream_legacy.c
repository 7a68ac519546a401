/* Calls of today to a server of yesterday: what it is sent, what callers get, byte for byte. */
#include "upstream_rig.h"

static struct told a, b;

static void call(struct told *t, const char *method, const char *params)
{
	told_call(t, &ups->backend, method, params);
}

static void told_is(struct told *t, const char *want)
{
	loop_run_deferred(ups_loop);
	assert_buf(&t->text, want);
	buf_reset(&t->text);
}

static void over(struct told *t)
{
	buf_done(&t->text);
}

#define ID2 "{\"jsonrpc\":\"2.0\",\"id\":2,"

/* --- results ---------------------------------------------------------------------------------------------- */

static void test_discover(void **state _unused_)
{
	ups_legacy("{\"tools\":{\"listChanged\":true},\"tasks\":{\"list\":{}},\"x\":1.0}");
	call(&a, "server/discover", "{" META "}");
	told_is(&a, "= {\"instructions\":\"do\\u00e9\",\"resultType\":\"complete\","
		    "\"supportedVersions\":[\"2026-07-28\"],"
		    "\"capabilities\":{\"tools\":{\"listChanged\":true},\"x\":1.0},"
		    "\"ttlMs\":0,\"cacheScope\":\"private\","
		    "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"old\","
		    "\"version\":\"1\"}}}");
	ups_expect("");
	over(&a);
}

static void test_bytes_are_kept(void **state _unused_)
{
	ups_legacy("{}");
	call(&a, "tools/call",
	     "{\"name\":\"t\",\"arguments\":{\"n\":9007199254740993.10,\"s\":\"\\u00e9\\/\","
	     "\"z\":null,\"e\":1E+2, \"k\":[ ]},\"_meta\":{\"progressToken\":\"p\\u0031\","
	     "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"traceparent\":\"00-a\","
	     "\"io.modelcontextprotocol/clientCapabilities\":{},"
	     "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"c\"}},\"more\":-0}");
	ups_expect(ID2 "\"method\":\"tools/call\",\"params\":{\"name\":\"t\",\"arguments\":"
		       "{\"n\":9007199254740993.10,\"s\":\"\\u00e9\\/\",\"z\":null,\"e\":1E+2, "
		       "\"k\":[ ]},\"_meta\":{\"progressToken\":2,\"traceparent\":\"00-a\"},"
		       "\"more\":-0}}\n");
	ups_feed("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":"
		 "{ \"progress\":1.0,\"progressToken\":2 ,\"x\":\"\\u00e9\"}}");
	ups_feed(ID2 "\"result\":{ \"content\":[ {\"type\":\"text\",\"text\":\"\\u00e9\"} ],"
		     "\"isError\":true,\"structuredContent\":[1.50,null],\"_meta\":{\"a\":{}}}}");
	told_is(&a, "~ notifications/progress { \"progress\":1.0,\"progressToken\":\"p\\u0031\" ,"
		    "\"x\":\"\\u00e9\"}\n"
		    "= {\"resultType\":\"complete\", \"content\":[ {\"type\":\"text\",\"text\":"
		    "\"\\u00e9\"} ],\"isError\":true,\"structuredContent\":[1.50,null],"
		    "\"_meta\":{\"a\":{}}}");
	over(&a);
}

/* Method, what the server answers, what the caller gets. */
static const struct {
	const char *method, *answer, *want;
} answers[] = {
	{ "tools/list", "\"result\":{\"tools\":[],\"nextCursor\":\"\"}",
	  "= {\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\",\"tools\":[],"
	  "\"nextCursor\":\"\"}" },
	{ "resources/read", "\"result\":{}",
	  "= {\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\"}" },
	{ "completion/complete", "\"result\":{ }", "= {\"resultType\":\"complete\" }" },
	{ "prompts/get", "\"result\":{\"resultType\":\"input_required\",\"a\":1}",
	  "= {\"a\":1,\"resultType\":\"complete\"}" },
	{ "x/custom", "\"result\":{\"ttlMs\":7}", "= {\"ttlMs\":7,\"resultType\":\"complete\"}" },
	{ "resources/read",
	  "\"error\":{\"code\":-32002,\"message\":\"m\",\"data\":{\"uri\":\"u\"}}",
	  "! {\"message\":\"m\",\"data\":{\"uri\":\"u\"},\"code\":-32602}" },
	{ "tools/call", "\"error\":{\"code\":-32002,\"message\":\"m\"}",
	  "! {\"code\":-32002,\"message\":\"m\"}" },
	{ "tools/call", "\"result\":[]",
	  "! {\"code\":-32603,\"message\":\"the MCP server's result is not an object\","
	  "\"data\":{\"reason\":\"SERVER_PROTOCOL\"}}" },
};

static void test_answers(void **state _unused_)
{
	ups_legacy("{}");
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		char text[400];

		call(&a, answers[i].method, "{" META "}");
		snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":%zu,%s}", i + 2,
			 answers[i].answer);
		ups_feed(text);
		if (!slice_is(buf_slice(&a.text), answers[i].want)) {
			print_error("%.*s\n", (int)buf_len(&a.text), a.text.data);
			fail_row(i, answers[i].want);
		}
		over(&a);
	}
}

static void test_methods_of_old(void **state _unused_)
{
	static const char *const names[] = { "tasks/list",	     "tasks/result",
					     "initialize",	     "ping",
					     "logging/setLevel",     "resources/subscribe",
					     "resources/unsubscribe" };

	ups_legacy("{}");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		call(&a, names[i], "{" META "}");
		loop_run_deferred(ups_loop);
		assert_true(a.done && memmem(a.text.data, a.text.len, "-32601", 6));
		over(&a);
	}
	ups_expect("");
}

/* --- out of order, cancelled ------------------------------------------------------------------------------ */

static void test_out_of_order(void **state _unused_)
{
	ups_legacy("{}");
	call(&a, "tools/call", "{\"name\":\"a\",\"_meta\":{\"progressToken\":0}}");
	call(&b, "tools/call", "{\"name\":\"b\",\"_meta\":{\"progressToken\":0}}");
	ups_expect(ID2 "\"method\":\"tools/call\",\"params\":{\"name\":\"a\",\"_meta\":"
		       "{\"progressToken\":2}}}\n"
		       "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":"
		       "{\"name\":\"b\",\"_meta\":{\"progressToken\":3}}}\n");
	ups_feed("{\"method\":\"notifications/progress\",\"params\":{\"progressToken\":3,"
		 "\"progress\":1}}");
	ups_feed("{\"id\":3,\"result\":{}}");
	ups_feed("{\"id\":3,\"result\":{}}");
	ups_feed("{\"id\":\"2\",\"result\":{}}");
	told_is(&a, "= {\"resultType\":\"complete\"}");
	told_is(&b, "~ notifications/progress {\"progressToken\":0,\"progress\":1}\n"
		    "= {\"resultType\":\"complete\"}");
	over(&a);
	over(&b);
}

static void test_cancel(void **state _unused_)
{
	ups_legacy("{}");
	call(&a, "tools/call", "{}");
	buf_reset(&ups_sent);
	mcp_call_cancel(a.call);
	ups_expect("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":"
		   "{\"requestId\":2}}\n");
	ups_feed("{\"id\":2,\"result\":{}}");
	assert_false(a.done);
}

static void test_end(void **state _unused_)
{
	struct err e;

	ups_legacy("{\"resources\":{\"subscribe\":true}}");
	call(&a, "tools/call", "{}");
	call(&b, "subscriptions/listen",
	     "{\"notifications\":{\"resourceSubscriptions\":[\"x:1\"]}}");
	err_set(&e, -EPIPE, RPC_INTERNAL_ERROR, "SERVER_GONE", "it went");
	upstream_end(ups, &e);
	told_is(&a, "! {\"code\":-32603,\"message\":\"it went\",\"data\":{\"reason\":"
		    "\"SERVER_GONE\"}}");
	told_is(&b, "! {\"code\":-32603,\"message\":\"it went\",\"data\":{\"reason\":"
		    "\"SERVER_GONE\"}}");
	over(&a);
	over(&b);
}

/* --- log messages ----------------------------------------------------------------------------------------- */

#define LOG(level) ",\"io.modelcontextprotocol/logLevel\":\"" level "\""

static void log_line(const char *level)
{
	char text[200];

	snprintf(text, sizeof(text),
		 "{\"method\":\"notifications/message\",\"params\":{\"level\":\"%s\",\"data\":1}}",
		 level);
	ups_feed(text);
}

static void test_log_level(void **state _unused_)
{
	ups_legacy("{\"logging\":{}}");
	call(&a, "tools/call", "{" META_WITH("{}", LOG("warning")) "}");
	ups_expect(ID2 "\"method\":\"logging/setLevel\",\"params\":{\"level\":\"warning\"}}\n"
		       "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{}}\n");
	log_line("info");
	log_line("error");
	told_is(&a, "~ notifications/message {\"level\":\"error\",\"data\":1}\n");
	call(&b, "tools/list", "{" META_WITH("{}", LOG("error")) "}");
	ups_expect("{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/list\",\"params\":{}}\n");
	mcp_call_cancel(b.call);
	mcp_call_cancel(a.call);
	log_line("error");
	assert_int_equal(buf_len(&a.text), 0);
	over(&a);
}

static void test_log_of_two_sessions(void **state _unused_)
{
	ups_legacy("{\"logging\":{}}");
	call(&a, "tools/call",
	     "{" META_WITH("{}", LOG("info") ",\"acpd\":{\"session\":\"1\"}") "}");
	call(&b, "tools/call",
	     "{" META_WITH("{}", LOG("info") ",\"acpd\":{\"session\":\"2\"}") "}");
	log_line("error"); /* nobody can tell whose it is */
	ups_feed_from(4, "{\"method\":\"notifications/message\",\"params\":{\"level\":\"info\"}}");
	assert_int_equal(buf_len(&a.text), 0);
	told_is(&b, "~ notifications/message {\"level\":\"info\"}\n");
	mcp_call_cancel(a.call);
	mcp_call_cancel(b.call);
	over(&b);
}

/* --- subscriptions ---------------------------------------------------------------------------------------- */

static void test_listen(void **state _unused_)
{
	ups_legacy("{\"tools\":{\"listChanged\":true},\"resources\":{\"subscribe\":true}}");
	call(&a, "subscriptions/listen",
	     "{\"notifications\":{\"toolsListChanged\":true,\"promptsListChanged\":true,"
	     "\"resourceSubscriptions\":[\"x:1\",\"x:2\"]}," META "}");
	ups_expect(ID2
		   "\"method\":\"resources/subscribe\",\"params\":{\"uri\":\"x:1\"}}\n"
		   "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"resources/subscribe\",\"params\":"
		   "{\"uri\":\"x:2\"}}\n");
	ups_feed("{\"id\":2,\"result\":{}}");
	assert_int_equal(buf_len(&a.text), 0);
	ups_feed("{\"id\":3,\"error\":{\"code\":-32602,\"message\":\"no\"}}");
	told_is(&a, "~ notifications/subscriptions/acknowledged {\"notifications\":"
		    "{\"toolsListChanged\":true,\"resourceSubscriptions\":[\"x:1\"]}}\n");
	call(&b, "subscriptions/listen",
	     "{\"notifications\":{\"resourceSubscriptions\":[\"x:1\"]}}");
	told_is(&b, "~ notifications/subscriptions/acknowledged {\"notifications\":"
		    "{\"resourceSubscriptions\":[\"x:1\"]}}\n");
	ups_expect("");
	ups_feed("{\"method\":\"notifications/tools/list_changed\"}");
	ups_feed("{\"method\":\"notifications/prompts/list_changed\"}");
	ups_feed("{\"method\":\"notifications/resources/updated\",\"params\":{\"uri\":\"x:1/a\"}}");
	ups_feed("{\"method\":\"notifications/resources/updated\",\"params\":{\"uri\":\"x:12\"}}");
	told_is(&a, "~ notifications/tools/list_changed {}\n"
		    "~ notifications/resources/updated {\"uri\":\"x:1/a\"}\n");
	told_is(&b, "~ notifications/resources/updated {\"uri\":\"x:1/a\"}\n");
	mcp_call_cancel(a.call);
	ups_expect("");
	mcp_call_cancel(b.call);
	ups_expect("{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"resources/unsubscribe\",\"params\":"
		   "{\"uri\":\"x:1\"}}\n");
	over(&a);
	over(&b);
}

static void test_listen_refused(void **state _unused_)
{
	static const char *const bad[] = { "{}", "{\"notifications\":[]}",
					   "{\"notifications\":{\"resourceSubscriptions\":{}}}",
					   "{\"notifications\":{\"resourceSubscriptions\":[1]}}" };

	ups_legacy("{\"resources\":{\"subscribe\":true}}");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		call(&a, "subscriptions/listen", bad[i]);
		loop_run_deferred(ups_loop);
		if (!a.done || !memmem(a.text.data, a.text.len, "-32602", 6))
			fail_row(i, bad[i]);
		over(&a);
	}
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, ups_setup, ups_teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_discover),
		CASE(test_bytes_are_kept),
		CASE(test_answers),
		CASE(test_methods_of_old),
		CASE(test_out_of_order),
		CASE(test_cancel),
		CASE(test_end),
		CASE(test_log_level),
		CASE(test_log_of_two_sessions),
		CASE(test_listen),
		CASE(test_listen_refused),
	};

	return RUN(tests, NULL, NULL);
}
