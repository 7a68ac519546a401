/* A legacy client sees an ordinary legacy server: what is answered here, and what passes with every byte. */
#include "tools/mcp/mcp_front_internal.h"
#include "mcp_rig.h"

#define RPC "{\"jsonrpc\":\"2.0\","
#define META LEGACY_META("{}")
#define INITIALIZE(revision, rest)                                                                 \
	RPC "\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":" revision rest "}}"
#define CALL(params) RPC "\"id\":1,\"method\":\"tools/call\",\"params\":" params "}"
#define REFUSED(id, code, text, data)                                                              \
	"<! " id " " RPC "\"id\":" id ",\"error\":{\"code\":" code ",\"message\":\"" text          \
	"\",\"data\":{" data "}}}\n"

static void test_initialize(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r = mcp_rig_new();

	mcp_rig_say(
		r,
		INITIALIZE("\"2025-11-25\"",
			   ",\"capabilities\":{\"roots\":{\"listChanged\":true},\"x\":1.0},"
			   "\"clientInfo\":{\"name\":\"\\u00e9\",\"version\":\"1\",\"y\":null}"));
	assert_log(r, "> server/discover {\"_meta\":{\"" MCP_META_VERSION
		      "\":\"2026-07-28\",\"" MCP_META_CAPABILITIES
		      "\":{\"roots\":{\"listChanged\":true},\"x\":1.0},\"" MCP_META_CLIENT
		      "\":{\"name\":\"\\u00e9\",\"version\":\"1\",\"y\":null}}}\n");
	mcp_rig_result(
		r, 0,
		"{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],"
		"\"capabilities\":{\"tools\":{\"listChanged\":true},\"logging\":{},\"extensions\":{\"e\":1}},"
		"\"instructions\":\"use\\nwell\",\"ttlMs\":60000,\"cacheScope\":\"private\","
		"\"_meta\":{\"" MCP_META_SERVER
		"\":{\"name\":\"s\",\"version\":\"2\",\"icons\":[]},\"k\":0}}");
	assert_log(
		r,
		"<! 0 " RPC
		"\"id\":0,\"result\":{\"instructions\":\"use\\nwell\",\"_meta\":{\"k\":0},"
		"\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{\"listChanged\":true},"
		"\"logging\":{},\"extensions\":{\"e\":1}},\"serverInfo\":{\"name\":\"s\",\"version\":\"2\","
		"\"icons\":[]}}}\n");
	assert_int_equal(r->front->era, ERA_LEGACY);
}

static void test_revisions(void **state _unused_)
{
	static const char *const rows[][2] = {
		{ "2025-11-25", "2025-11-25" }, { "2025-06-18", "2025-06-18" },
		{ "2025-03-26", "2025-11-25" }, { "2024-11-05", "2025-11-25" },
		{ "2026-07-28", "2025-11-25" }, { "", "2025-11-25" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(mcp_rig_free) struct mcp_rig *r = mcp_rig_new();
		_cleanup_(buf_done) struct buf text = { 0 };

		buf_printf(&text, INITIALIZE("\"%s\"", ""), rows[i][0]);
		mcp_rig_say(r, text.data);
		mcp_rig_result(r, 0, "{}");
		assert_string_equal(r->front->revision, rows[i][1]);
		buf_reset(&text);
		buf_reset(&r->log);
		mcp_rig_say(r, CALL("{}"));
		/* without clientInfo there is none upstream */
		assert_log(r, "> tools/call {\"_meta\":{\"" MCP_META_VERSION
			      "\":\"2026-07-28\",\"" MCP_META_CAPABILITIES "\":{}}}\n");
	}
}

/* A server that says as little as it may. */
static void test_unnamed_server(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r = mcp_rig_new();

	mcp_rig_say(r, INITIALIZE("\"2025-11-25\"", ""));
	buf_reset(&r->log);
	mcp_rig_result(
		r, 0,
		"{\"resultType\":\"complete\",\"serverInfo\":{\"name\":\"d\",\"version\":\"1\"}}");
	assert_log(r, "<! 0 " RPC
		      "\"id\":0,\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
		      "\"serverInfo\":{\"name\":\"d\",\"version\":\"1\"}}}\n");
}

static void test_initialize_refused(void **state _unused_)
{
	static const char *const rows[][2] = {
		{ INITIALIZE("7", ""),
		  REFUSED("0", "-32602", "params.protocolVersion must be a string",
			  "\"reason\":\"FIELD_INVALID\",\"field\":\"params.protocolVersion\"") },
		{ INITIALIZE("\"2025-11-25\"", ",\"capabilities\":[]"),
		  REFUSED("0", "-32602", "params.capabilities must be an object",
			  "\"reason\":\"FIELD_INVALID\",\"field\":\"params.capabilities\"") },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(mcp_rig_free) struct mcp_rig *r = mcp_rig_new();

		mcp_rig_say(r, rows[i][0]);
		assert_log(r, rows[i][1]);
		assert_null(r->front->revision);
		/* nothing passes without capabilities; it may try again, once */
		mcp_rig_say(r, CALL("{}"));
		assert_int_equal(r->ncalls, 0);
		mcp_rig_say(r, INITIALIZE("\"2025-11-25\"", ""));
		assert_int_equal(r->ncalls, 1);
		buf_reset(&r->log);
		mcp_rig_say(r, RPC "\"id\":2,\"method\":\"initialize\",\"params\":{}}");
		assert_log(r, REFUSED("2", "-32600", "initialize was called before",
				      "\"reason\":\"ALREADY_INITIALIZED\""));
	}
}

/* The server is not there yet: the client hears why and may ask again. */
static void test_discover_fails(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r = mcp_rig_new();

	mcp_rig_say(r, INITIALIZE("\"2025-11-25\"", ""));
	buf_reset(&r->log);
	mcp_rig_say(r, RPC "\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":0}}");
	mcp_rig_error(r, 0, "{\"code\":-33001,\"message\":\"gone\"}");
	assert_log(r,
		   REFUSED("0", "-32603", "gone", "\"reason\":\"SERVER_GONE\",\"binding\":-33001"));
	mcp_rig_say(r, INITIALIZE("\"2025-11-25\"", ""));
	assert_int_equal(r->ncalls, 2);
}

static void test_ping(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r = mcp_rig_new();
	const char *ping = RPC "\"id\":\"p\",\"method\":\"ping\"}";
	const char *pong = "<! \"p\" " RPC "\"id\":\"p\",\"result\":{}}\n";

	mcp_rig_say(r, ping);
	assert_log(r, pong);
	mcp_rig_say(r, INITIALIZE("\"2025-11-25\"", ""));
	buf_reset(&r->log);
	mcp_rig_say(r, ping);
	assert_log(r, pong);
}

/* Notifications that a modern server has not got. */
static void test_silent_notifications(void **state _unused_)
{
	static const char *const names[] = { "notifications/initialized",
					     "notifications/roots/list_changed",
					     "notifications/progress", "notifications/made/up",
					     "notifications/tasks/status" };
	_cleanup_(mcp_rig_free) struct mcp_rig *r = mcp_rig_legacy("{}", "{}");

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char text[100];

		snprintf(text, sizeof(text), RPC "\"method\":\"%s\"}", names[i]);
		mcp_rig_say(r, text);
	}
	mcp_rig_run(r, 0);
	assert_log(r, "");
}

/* What passes, with what becomes of it upstream, and of the result. */
static void test_requests_pass(void **state _unused_)
{
	static const struct {
		const char *method, *params, *upstream, *result, *want;
	} rows[] = {
		/* numbers, null, unknown members, lone surrogates, escapes, an integer progress token of 0 */
		{ "tools/call",
		  "{\"name\":\"t\",\"arguments\":{\"n\":9007199254740993,\"f\":1.0,\"e\":1E400,\"u\":\"\\ud83d\\ude00\","
		  "\"s\":\"\\/\",\"nil\":null},\"x\":[],\"_meta\":{\"progressToken\":0,\"traceparent\":\"00\",\"baggage\":{}}}",
		  "{\"name\":\"t\",\"arguments\":{\"n\":9007199254740993,\"f\":1.0,\"e\":1E400,\"u\":\"\\ud83d\\ude00\","
		  "\"s\":\"\\/\",\"nil\":null},\"x\":[],\"_meta\":{\"progressToken\":0,\"traceparent\":\"00\",\"baggage\":{}," LEGACY_MEMBERS(
			  "{}") "}}",
		  /* content in its order, annotations, _meta; of a tool, "ttlMs" is the tool's own */
		  "{\"resultType\":\"complete\",\"content\":[{\"type\":\"image\",\"data\":\"AA==\"},{\"type\":\"text\",\"text\":"
		  "\"\\udfff\",\"annotations\":{\"priority\":0.50}}],\"structuredContent\":[1.0,null],\"isError\":true,"
		  "\"ttlMs\":3,\"_meta\":{\"a/b\":9007199254740993}}",
		  "{\"content\":[{\"type\":\"image\",\"data\":\"AA==\"},{\"type\":\"text\",\"text\":"
		  "\"\\udfff\",\"annotations\":{\"priority\":0.50}}],\"structuredContent\":[1.0,null],\"isError\":true,"
		  "\"ttlMs\":3,\"_meta\":{\"a/b\":9007199254740993}}" },
		{ "tools/list", "{\"cursor\":\"\\u0063\\/=\"}",
		  "{\"cursor\":\"\\u0063\\/=\"," META "}",
		  "{\"resultType\":\"complete\",\"tools\":[{\"name\":\"b\"},{\"name\":\"a\"}],\"nextCursor\":\"\\u0064\","
		  "\"ttlMs\":1,\"cacheScope\":\"public\"}",
		  "{\"tools\":[{\"name\":\"b\"},{\"name\":\"a\"}],\"nextCursor\":\"\\u0064\"}" },
		{ "resources/list", "{}", "{" META "}",
		  "{\"resources\":[],\"ttlMs\":0,\"cacheScope\":\"private\"}",
		  "{\"resources\":[]}" },
		{ "resources/templates/list", "{}", "{" META "}", "{\"ttlMs\":0}", "{}" },
		{ "resources/read", "{\"uri\":\"a:\\u0062\"}", "{\"uri\":\"a:\\u0062\"," META "}",
		  "{\"contents\":[{\"uri\":\"a:b\",\"blob\":\"\"}],\"ttlMs\":9}",
		  "{\"contents\":[{\"uri\":\"a:b\",\"blob\":\"\"}]}" },
		{ "prompts/list", "{}", "{" META "}", "{\"prompts\":[],\"ttlMs\":0}",
		  "{\"prompts\":[]}" },
		{ "prompts/get", "{\"name\":\"p\",\"arguments\":{}}",
		  "{\"name\":\"p\",\"arguments\":{}," META "}",
		  "{\"resultType\":\"complete\",\"messages\":[]}", "{\"messages\":[]}" },
		{ "completion/complete", "{\"ref\":{},\"argument\":{}}",
		  "{\"ref\":{},\"argument\":{}," META "}",
		  "{\"resultType\":\"complete\",\"completion\":{\"values\":[],\"total\":1.0}}",
		  "{\"completion\":{\"values\":[],\"total\":1.0}}" },
		/* an extension */
		{ "tasks/get", "{\"taskId\":\"1\"}", "{\"taskId\":\"1\"," META "}",
		  "{\"resultType\":\"complete\",\"status\":\"working\",\"ttlMs\":5}",
		  "{\"status\":\"working\",\"ttlMs\":5}" },
		{ "skills/list", "{}", "{" META "}", "{\"skills\":[]}", "{\"skills\":[]}" },
		/* the handle of a task */
		{ "tools/call", "{\"name\":\"t\"}", "{\"name\":\"t\"," META "}",
		  "{\"resultType\":\"task\",\"task\":{\"taskId\":\"\\u0031\"}}",
		  "{\"task\":{\"taskId\":\"\\u0031\"}}" },
		/* a client cannot speak for itself where we speak for it */
		{ "tools/list",
		  "{\"_meta\":{\"" MCP_META_CAPABILITIES "\":{\"roots\":{}},\"k\":1}}",
		  "{\"_meta\":{\"k\":1," LEGACY_MEMBERS("{}") "}}", "{}", "{}" },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(mcp_rig_free) struct mcp_rig *r = mcp_rig_legacy("{}", "{}");
		_cleanup_(buf_done) struct buf text = { 0 };

		buf_printf(&text, RPC "\"id\":9007199254740993,\"method\":\"%s\",\"params\":%s}",
			   rows[i].method, rows[i].params);
		mcp_rig_say(r, text.data);
		buf_reset(&text);
		buf_printf(&text, "> %s %s\n", rows[i].method, rows[i].upstream);
		assert_log(r, text.data);
		mcp_rig_result(r, 1, rows[i].result);
		buf_reset(&text);
		buf_printf(&text,
			   "<! 9007199254740993 " RPC "\"id\":9007199254740993,\"result\":%s}\n",
			   rows[i].want);
		assert_log(r, text.data);
	}
}

static void test_errors(void **state _unused_)
{
	static const char *const rows[][2] = {
		/* as it came */
		{ "{\"code\":-32602,\"message\":\"\\ud83d\\ude00\",\"data\":{\"x\":1.0}}", NULL },
		{ "{\"code\":-32002,\"message\":\"m\"}", NULL },
		{ "{\"code\":1.5e3,\"message\":\"m\"}", NULL },
		/* what only modern clients and our own ways know */
		{ "{\"code\":-32020,\"message\":\"m\"}",
		  "{\"code\":-32603,\"message\":\"m\",\"data\":{\"reason\":\"HEADER_MISMATCH\",\"binding\":-32020}}" },
		{ "{\"code\":-32021,\"message\":\"m\",\"data\":{\"requiredCapabilities\":{\"sampling\":{}}}}",
		  "{\"code\":-32603,\"message\":\"m\",\"data\":{\"reason\":\"CAPABILITY_MISSING\",\"binding\":-32021,"
		  "\"requiredCapabilities\":{\"sampling\":{}}}}" },
		{ "{\"code\":-32022,\"message\":\"m\",\"data\":{\"supported\":[\"2026-07-28\"]}}",
		  "{\"code\":-32603,\"message\":\"m\",\"data\":{\"reason\":\"REVISION_UNSUPPORTED\",\"binding\":-32022}}" },
		{ "{\"code\":-33000,\"message\":\"m\"}",
		  "{\"code\":-32603,\"message\":\"m\",\"data\":{\"reason\":\"SERVER_BUSY\",\"binding\":-33000}}" },
		{ "{\"code\":-33001}",
		  "{\"code\":-32603,\"message\":\"The server is not there any more\",\"data\":{"
		  "\"reason\":\"SERVER_GONE\",\"binding\":-33001}}" },
		{ "{\"code\":-33002,\"message\":\"m\",\"data\":7}",
		  "{\"code\":-32603,\"message\":\"m\",\"data\":{\"reason\":\"SERVER_FAILED\",\"binding\":-33002}}" },
		{ "{\"code\":-32800,\"message\":\"m\"}",
		  "{\"code\":-32603,\"message\":\"m\",\"data\":{\"reason\":\"CANCELLED\",\"binding\":-32800}}" },
	};
	_cleanup_(mcp_rig_free) struct mcp_rig *r = mcp_rig_legacy("{}", "{}");

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf want = { 0 };

		mcp_rig_say(r, CALL("{}"));
		buf_reset(&r->log);
		mcp_rig_error(r, i + 1, rows[i][0]);
		buf_printf(&want, "<! 1 " RPC "\"id\":1,\"error\":%s}\n",
			   rows[i][1] ? rows[i][1] : rows[i][0]);
		assert_log(r, want.data);
	}
}

static void test_notifications_of_a_call(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r = mcp_rig_legacy("{}", "{}");

	mcp_rig_say(r, CALL("{\"_meta\":{\"progressToken\":\"\\u0031\"}}"));
	buf_reset(&r->log);
	mcp_rig_notify(r, 1, "notifications/progress",
		       "{\"progressToken\":\"\\u0031\",\"progress\":0.10,\"total\":null}");
	mcp_rig_notify(r, 1, "notifications/message",
		       "{\"level\":\"info\",\"data\":[\"\\ud83d\\ude00\"]}");
	mcp_rig_result(r, 1, "{}");
	assert_log(
		r,
		"< 1 " RPC
		"\"method\":\"notifications/progress\",\"params\":{\"progressToken\":\"\\u0031\","
		"\"progress\":0.10,\"total\":null}}\n"
		"< 1 " RPC
		"\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":["
		"\"\\ud83d\\ude00\"]}}\n"
		"<! 1 " RPC "\"id\":1,\"result\":{}}\n");
}

static void test_cancel(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r = mcp_rig_legacy("{}", "{}");

	mcp_rig_say(r, CALL("{}"));
	buf_reset(&r->log);
	mcp_rig_say(
		r, RPC
		"\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1,\"reason\":\"no\"}}");
	assert_log(r, "gone 1\nx tools/call\n");
	/* its id may be used again, and nothing of the old call is left */
	mcp_rig_say(r, CALL("{}"));
	buf_reset(&r->log);
	mcp_rig_result(r, 2, "{}");
	assert_log(r, "<! 1 " RPC "\"id\":1,\"result\":{}}\n");
}

#define SET_LEVEL(level)                                                                           \
	RPC "\"id\":2,\"method\":\"logging/setLevel\",\"params\":{\"level\":" level "}}"

static void test_log_level(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r = mcp_rig_legacy("{}", "{\"logging\":{}}");

	mcp_rig_say(r, SET_LEVEL("\"loud\""));
	assert_log(
		r,
		REFUSED("2", "-32602",
			"params.level must be one of debug, info, notice, warning, error, critical, alert, emergency",
			"\"reason\":\"LEVEL_INVALID\",\"field\":\"params.level\""));
	mcp_rig_say(r, CALL("{}"));
	assert_log(r, "> tools/call {" META "}\n");
	mcp_rig_say(r, SET_LEVEL("\"notice\""));
	assert_log(r, "<! 2 " RPC "\"id\":2,\"result\":{}}\n");
	mcp_rig_say(r, RPC "\"id\":3,\"method\":\"tools/list\"}");
	assert_log(r, "> tools/list {\"_meta\":{" LEGACY_MEMBERS("{}") ",\"" MCP_META_LOG_LEVEL
								       "\":\"notice\"}}\n");
}

static void test_not_of_this_era(void **state _unused_)
{
	static const char *const names[] = { "server/discover", "subscriptions/listen",
					     "logging/setLevel", "resources/subscribe",
					     "resources/unsubscribe" };
	_cleanup_(mcp_rig_free) struct mcp_rig *r =
		mcp_rig_legacy("{}", "{\"resources\":{\"listChanged\":true}}");

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char text[200], want[300];

		snprintf(text, sizeof(text),
			 RPC "\"id\":1,\"method\":\"%s\",\"params\":{" MODERN_META "}}", names[i]);
		mcp_rig_say(r, text);
		snprintf(want, sizeof(want),
			 REFUSED("1", "-32601", "%s is not a method of this server",
				 "\"reason\":\"METHOD_NOT_FOUND\""),
			 names[i]);
		assert_log(r, want);
	}
}

/* More than a MiB, in and out. */
static void test_large(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r = mcp_rig_legacy("{}", "{}");
	_cleanup_(buf_done) struct buf blob = { 0 }, text = { 0 };

	for (int i = 0; i < 200000; i++)
		buf_puts(&blob, "0123456789");
	buf_putc(&blob, '\0');
	buf_printf(&text, CALL("{\"b\":\"%s\"}"), blob.data);
	mcp_rig_say(r, text.data);
	buf_reset(&text);
	buf_printf(&text, "> tools/call {\"b\":\"%s\"," META "}\n", blob.data);
	assert_log(r, text.data);
	buf_reset(&text);
	buf_printf(&text, "{\"resultType\":\"complete\",\"content\":[{\"data\":\"%s\"}]}",
		   blob.data);
	mcp_rig_result(r, 1, text.data);
	buf_reset(&text);
	buf_printf(&text, "<! 1 " RPC "\"id\":1,\"result\":{\"content\":[{\"data\":\"%s\"}]}}\n",
		   blob.data);
	assert_log(r, text.data);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_initialize),
		cmocka_unit_test(test_revisions),
		cmocka_unit_test(test_unnamed_server),
		cmocka_unit_test(test_initialize_refused),
		cmocka_unit_test(test_discover_fails),
		cmocka_unit_test(test_ping),
		cmocka_unit_test(test_silent_notifications),
		cmocka_unit_test(test_requests_pass),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_notifications_of_a_call),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_log_level),
		cmocka_unit_test(test_not_of_this_era),
		cmocka_unit_test(test_large),
	};

	return RUN(tests, NULL, NULL);
}
