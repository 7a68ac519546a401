/* A client of 2026-07-28: checks of its requests, then everything passes byte for byte. */
#include "tools/mcp/mcp_front_internal.h"
#include "mcp_rig.h"

#include "base/limits.h"

#define RPC "{\"jsonrpc\":\"2.0\","
#define CALL(id, params) RPC "\"id\":" id ",\"method\":\"tools/call\",\"params\":" params "}"
#define ODD                                                                                                             \
	"\"arguments\":{\"n\":9007199254740993,\"f\":1.0,\"g\":1,\"u\":\"\\ud83d\\ude00\\/\",\"nil\":null,\"z\":[{}]}," \
	"\"unknown\":{\"traceparent\":7},\"name\":\"t\""

static void test_everything_passes(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r = mcp_rig_new();
	const char *params = "{" ODD "," MODERN_META
			     ",\"requestState\":\"\\u0041\\/=\",\"inputResponses\":{}}";
	_cleanup_(buf_done) struct buf text = { 0 };

	buf_printf(&text, RPC "\"id\":9007199254740993,\"method\":\"tools/call\",\"params\":%s}",
		   params);
	assert_null(r->front->revision);
	mcp_rig_say(r, text.data);
	buf_reset(&text);
	buf_printf(&text, "> tools/call %s\n", params);
	assert_log(r, text.data);
	assert_int_equal(r->front->era, ERA_MODERN);

	mcp_rig_notify(r, 0, "notifications/progress", "{\"progressToken\":0,\"progress\":1.0}");
	mcp_rig_notify(r, 0, "notifications/message", "{\"level\":\"info\",\"data\":1.0}");
	assert_log(r, "< 9007199254740993 " RPC "\"method\":\"notifications/message\",\"params\":{"
		      "\"level\":\"info\",\"data\":1.0}}\n"); /* it asked for no progress */
	mcp_rig_result(
		r, 0,
		"{\"resultType\":\"input_required\",\"inputRequests\":{\"a\":{}},\"requestState\":"
		"\"\\ud83d\\ude00\",\"ttlMs\":1.0}");
	assert_log(
		r,
		"<! 9007199254740993 " RPC "\"id\":9007199254740993,\"result\":{\"resultType\":"
		"\"input_required\",\"inputRequests\":{\"a\":{}},\"requestState\":\"\\ud83d\\ude00\","
		"\"ttlMs\":1.0}}\n");
}

static void test_errors_pass(void **state _unused_)
{
	static const char *const rows[][2] = {
		{ "{\"code\":-32602,\"message\":\"\\u0041\",\"data\":[1.0]}", NULL },
		{ "{\"code\":-32021,\"message\":\"m\",\"data\":{\"requiredCapabilities\":{}}}",
		  NULL },
		{ "{\"code\":-33001,\"message\":\"m\",\"data\":{}}",
		  "{\"code\":-32603,\"message\":\"m\",\"data\":{\"reason\":\"SERVER_GONE\",\"binding\":-33001}}" },
		{ "{\"code\":-32800}",
		  "{\"code\":-32603,\"message\":\"Request cancelled\",\"data\":{\"reason\":\"CANCELLED\","
		  "\"binding\":-32800}}" },
		{ "{}", NULL },
	};
	_cleanup_(mcp_rig_free) struct mcp_rig *r = mcp_rig_new();

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf want = { 0 };

		mcp_rig_say(r, CALL("\"\\u0061\"", "{" MODERN_META "}"));
		buf_reset(&r->log);
		mcp_rig_error(r, i, rows[i][0]);
		buf_printf(&want, "<! \"\\u0061\" " RPC "\"id\":\"\\u0061\",\"error\":%s}\n",
			   rows[i][1] ? rows[i][1] : rows[i][0]);
		assert_log(r, want.data);
	}
}

static void test_out_of_order(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r = mcp_rig_new();

	for (int i = 0; i < 3; i++) {
		char text[400];

		snprintf(text, sizeof(text), CALL("%d", "{" MODERN_META "}"), i);
		mcp_rig_say(r, text);
	}
	buf_reset(&r->log);
	assert_int_equal(mcp_front_waiting(r->front), 3);
	mcp_rig_result(r, 2, "{}");
	mcp_rig_result(r, 0, "{}");
	mcp_rig_result(r, 1, "{}");
	assert_log(r, "<! 2 " RPC "\"id\":2,\"result\":{}}\n"
		      "<! 0 " RPC "\"id\":0,\"result\":{}}\n"
		      "<! 1 " RPC "\"id\":1,\"result\":{}}\n");
	assert_int_equal(mcp_front_waiting(r->front), 0);
}

static void test_cancel(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r = mcp_rig_new();

	mcp_rig_say(r, CALL("\"a\"", "{" MODERN_META "}"));
	mcp_rig_say(r, CALL("\"b\"", "{" MODERN_META "}"));
	buf_reset(&r->log);
	mcp_rig_say(r,
		    RPC "\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"c\"}}");
	mcp_rig_say(r, RPC "\"method\":\"notifications/cancelled\"}");
	assert_log(r, "");
	mcp_rig_say(
		r, RPC
		"\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"\\u0061\"}}");
	assert_log(r, "gone \"a\"\nx tools/call\n");
}

static void test_subscription_has_the_clients_id(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r = mcp_rig_new();

	mcp_rig_say(r,
		    RPC "\"id\":\"s\",\"method\":\"subscriptions/listen\",\"params\":{" MODERN_META
			"}}");
	buf_reset(&r->log);
	assert_int_equal(mcp_front_waiting(r->front), 0);
	mcp_rig_notify(r, 0, "notifications/subscriptions/acknowledged",
		       "{\"notifications\":{},\"_meta\":{\"" MCP_META_SUBSCRIPTION
		       "\":\"up\",\"k\":1}}");
	mcp_rig_notify(r, 0, "notifications/tools/list_changed", "{}");
	mcp_rig_result(r, 0, "{\"resultType\":\"complete\"}");
	assert_log(
		r,
		"< \"s\" " RPC
		"\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{"
		"\"notifications\":{},\"_meta\":{\"k\":1,\"" MCP_META_SUBSCRIPTION "\":\"s\"}}}\n"
		"< \"s\" " RPC
		"\"method\":\"notifications/tools/list_changed\",\"params\":{\"_meta\":{\"" MCP_META_SUBSCRIPTION
		"\":\"s\"}}}\n"
		"<! \"s\" " RPC
		"\"id\":\"s\",\"result\":{\"resultType\":\"complete\",\"_meta\":{\"" MCP_META_SUBSCRIPTION
		"\":\"s\"}}}\n");
}

/* What is refused, with code, reason and the id it is answered to. */
static void test_refusals(void **state _unused_)
{
	static const struct {
		const char *message, *want;
	} rows[] = {
		{ CALL("1", "{}"),
		  "<! 1 " RPC
		  "\"id\":1,\"error\":{\"code\":-32602,\"message\":\"params._meta." MCP_META_VERSION
		  " must be a string in every request\",\"data\":{\"reason\":\"META_MISSING\",\"field\":"
		  "\"params._meta." MCP_META_VERSION "\"}}}\n" },
		{ CALL("1", "{\"_meta\":{\"" MCP_META_VERSION "\":\"2026-07-28\"}}"),
		  "<! 1 " RPC
		  "\"id\":1,\"error\":{\"code\":-32602,\"message\":\"params._meta." MCP_META_CAPABILITIES
		  " must be an object in every request\",\"data\":{\"reason\":\"META_MISSING\",\"field\":"
		  "\"params._meta." MCP_META_CAPABILITIES "\"}}}\n" },
		{ CALL("1", "{\"_meta\":{\"" MCP_META_VERSION "\":\"2027-01-01\"}}"),
		  "<! 1 " RPC
		  "\"id\":1,\"error\":{\"code\":-32022,\"message\":\"Unsupported protocol version\","
		  "\"data\":{\"reason\":\"REVISION_UNSUPPORTED\",\"supported\":[\"2026-07-28\"],\"requested\":"
		  "\"2027-01-01\"}}}\n" },
		{ RPC "\"id\":1,\"method\":\"ping\",\"params\":{" MODERN_META "}}",
		  "<! 1 " RPC
		  "\"id\":1,\"error\":{\"code\":-32601,\"message\":\"ping is not a method of 2026-07-28\","
		  "\"data\":{\"reason\":\"METHOD_NOT_FOUND\"}}}\n" },
		{ RPC "\"id\":1,\"method\":\"initialize\",\"params\":{" MODERN_META "}}",
		  "<! 1 " RPC
		  "\"id\":1,\"error\":{\"code\":-32601,\"message\":\"initialize is not a method of "
		  "2026-07-28\",\"data\":{\"reason\":\"METHOD_NOT_FOUND\"}}}\n" },
		{ RPC "\"id\":1,\"method\":\"a\\\"b\",\"params\":{" MODERN_META "}}",
		  "<! - " RPC "\"id\":1,\"error\":{\"code\":-32601,\"message\":\"no such method\","
		  "\"data\":{\"reason\":\"METHOD_NOT_FOUND\"}}}\n" },
		{ CALL("null", "{}"),
		  "<! - " RPC
		  "\"id\":null,\"error\":{\"code\":-32600,\"message\":\"id must be a string or an "
		  "integer\",\"data\":{\"reason\":\"ID_INVALID\"}}}\n" },
		{ CALL("1.5", "{}"),
		  "<! - " RPC
		  "\"id\":1.5,\"error\":{\"code\":-32600,\"message\":\"id must be a string or an "
		  "integer\",\"data\":{\"reason\":\"ID_INVALID\"}}}\n" },
		{ "{",
		  "<! - " RPC
		  "\"id\":null,\"error\":{\"code\":-32700,\"message\":\"Parse error\",\"data\":{"
		  "\"reason\":\"PARSE_ERROR\"}}}\n" },
		{ "[]",
		  "<! - " RPC
		  "\"id\":null,\"error\":{\"code\":-32600,\"message\":\"Invalid request: JSON-RPC "
		  "batches are not supported\",\"data\":{\"reason\":\"BATCH_UNSUPPORTED\"}}}\n" },
		{ CALL("3", "[]"),
		  "<! - " RPC
		  "\"id\":3,\"error\":{\"code\":-32602,\"message\":\"params must be an object\",\"data\":{"
		  "\"reason\":\"PARAMS_INVALID\",\"field\":\"params\"}}}\n" },
		{ RPC "\"id\":1,\"result\":{}}", "" },
		{ RPC "\"method\":\"notifications/initialized\"}", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(mcp_rig_free) struct mcp_rig *r = mcp_rig_new();

		mcp_rig_say(r, rows[i].message);
		assert_log(r, rows[i].want);
		assert_int_equal(r->ncalls, 0);
	}
}

static void test_same_id_twice(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r = mcp_rig_new();

	mcp_rig_say(r, CALL("1", "{" MODERN_META "}"));
	buf_reset(&r->log);
	mcp_rig_say(r, CALL("1", "{" MODERN_META "}"));
	assert_log(r, "<! - " RPC
		      "\"id\":1,\"error\":{\"code\":-32600,\"message\":\"a request with this id is "
		      "still open\",\"data\":{\"reason\":\"ID_IN_USE\"}}}\n");
}

#define INITIALIZE                                                                                                   \
	RPC "\"id\":5,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{}," \
	    "\"clientInfo\":" INFO "}}"

/* Clients of both eras probe with server/discover and may then go on as either. */
static void test_probe_then_legacy(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r = mcp_rig_new();

	mcp_rig_say(r, RPC "\"id\":4,\"method\":\"server/discover\",\"params\":{" MODERN_META "}}");
	assert_log(r, "> server/discover {" MODERN_META "}\n");
	mcp_rig_say(r, INITIALIZE);
	assert_log(r, "> server/discover {" LEGACY_META("{}") "}\n");
	assert_string_equal(r->front->revision, "2025-06-18");
	mcp_rig_result(r, 0, "{\"resultType\":\"complete\",\"ttlMs\":0}");
	assert_log(r,
		   "<! 4 " RPC "\"id\":4,\"result\":{\"resultType\":\"complete\",\"ttlMs\":0}}\n");
}

static void test_modern_stays_modern(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r = mcp_rig_new();

	mcp_rig_say(r, CALL("1", "{" MODERN_META "}"));
	buf_reset(&r->log);
	mcp_rig_say(r, INITIALIZE);
	assert_log(
		r,
		"<! 5 " RPC
		"\"id\":5,\"error\":{\"code\":-32022,\"message\":\"Unsupported protocol version\","
		"\"data\":{\"reason\":\"REVISION_UNSUPPORTED\",\"supported\":[\"2026-07-28\"],\"requested\":"
		"\"2025-06-18\"}}}\n");
}

static void test_too_many(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r = mcp_rig_new();

	r->discard = true;
	for (unsigned i = 0; i < MCP_OPEN_MAX; i++) {
		char text[400];

		snprintf(text, sizeof(text), CALL("%u", "{" MODERN_META "}"), i);
		mcp_rig_say(r, text);
	}
	buf_reset(&r->log);
	mcp_rig_say(r, CALL("\"more\"", "{" MODERN_META "}"));
	assert_log(r,
		   "<! - " RPC
		   "\"id\":\"more\",\"error\":{\"code\":-32603,\"message\":\"1024 requests of this "
		   "client are open\",\"data\":{\"reason\":\"TOO_MANY_REQUESTS\"}}}\n");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_everything_passes),
		cmocka_unit_test(test_errors_pass),
		cmocka_unit_test(test_out_of_order),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_subscription_has_the_clients_id),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_same_id_twice),
		cmocka_unit_test(test_probe_then_legacy),
		cmocka_unit_test(test_modern_stays_modern),
		cmocka_unit_test(test_too_many),
	};

	return RUN(tests, NULL, NULL);
}
