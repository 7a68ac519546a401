/* A request that is silent for long: its client hears that it goes on, as long as it is open and the client has asked for progress. */
#include "mcp_rig.h"

#include "base/limits.h"
#include "tools/mcp/mcp_front_internal.h"

#define RPC_ "{\"jsonrpc\":\"2.0\","
#define LATER 100000000u
#define CALL(id, token)                                                                                  \
	RPC_ "\"id\":" id                                                                                \
	     ",\"method\":\"tools/call\",\"params\":{\"name\":\"t\",\"_meta\":{\"progressToken\":" token \
	     "}}}"
#define PROGRESS(id, members)                                                                      \
	"< " id " " RPC_ "\"method\":\"notifications/progress\",\"params\":{" members "}}\n"

/* The next silence is short, and the one after it is not. */
static void one_beat(struct mcp_rig *r, unsigned call, const char *progress)
{
	r->front->heartbeat_ms = 1;
	mcp_rig_notify(r, call, "notifications/progress", progress);
	r->front->heartbeat_ms = LATER;
	buf_reset(&r->log);
	mcp_rig_run(r, 50);
}

static struct mcp_rig *rig_called(const char *message)
{
	struct mcp_rig *r = mcp_rig_legacy("{\"elicitation\":{}}", "{}");

	r->front->heartbeat_ms = 1;
	mcp_rig_say(r, message);
	r->front->heartbeat_ms = LATER;
	buf_reset(&r->log);
	mcp_rig_run(r, 50);
	return r;
}

static void test_silence(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r = rig_called(CALL("7", "\"a\\u0062\""));

	assert_log(r, PROGRESS("7", "\"progressToken\":\"a\\u0062\",\"progress\":1e-09,"
				    "\"message\":\"still running\""));
	mcp_rig_result(r, 1, "{\"resultType\":\"complete\",\"content\":[]}");
	assert_log(r, "<! 7 " RPC_ "\"id\":7,\"result\":{\"content\":[]}}\n");
}

/* It rises, and never beyond what is to be reached. */
static void test_what_the_server_said_is_said_again(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r = rig_called(CALL("7", "0"));

	buf_reset(&r->log);
	one_beat(r, 1, "{\"progressToken\":0,\"progress\":1,\"total\":3.0,\"message\":\"one\"}");
	assert_log(r, PROGRESS("7", "\"progressToken\":0,\"progress\":1.000000001,\"total\":3.0,"
				    "\"message\":\"one\""));
	one_beat(r, 1, "{\"progressToken\":0,\"progress\":3,\"total\":3}");
	assert_log(r, PROGRESS("7", "\"progressToken\":0,\"progress\":3.000000003,"
				    "\"message\":\"still running\""));
	one_beat(r, 1, "{\"progressToken\":0,\"progress\":-5,\"total\":\"odd\",\"message\":1}");
	assert_log(r, PROGRESS("7", "\"progressToken\":0,\"progress\":-4.999999995,"
				    "\"message\":\"still running\""));
	one_beat(r, 1, "{\"progressToken\":0,\"progress\":1e999}"); /* no number at all */
	assert_log(r, PROGRESS("7", "\"progressToken\":0,\"progress\":-4.99999999,"
				    "\"message\":\"still running\""));
}

static void test_while_its_client_is_asked(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r = mcp_rig_legacy("{\"elicitation\":{}}", "{}");

	r->front->heartbeat_ms = 1;
	mcp_rig_say(r, CALL("7", "5"));
	r->front->heartbeat_ms = LATER;
	mcp_rig_result(r, 1,
		       "{\"resultType\":\"input_required\",\"inputRequests\":{\"q\":{\"method\":"
		       "\"elicitation/create\",\"params\":{}}}}");
	buf_reset(&r->log);
	mcp_rig_run(r, 50);
	assert_log(r, PROGRESS("7", "\"progressToken\":5,\"progress\":1e-09,"
				    "\"message\":\"still running\""));
}

static void test_none_was_asked_for(void **state _unused_)
{
	static const char *const calls[] = {
		RPC_ "\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}",
		CALL("7", "null"),
		CALL("7", "{}"),
		CALL("7", "true"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		_cleanup_(mcp_rig_free) struct mcp_rig *r = rig_called(calls[i]);

		assert_log(r, "");
	}
}

static void test_cancelled(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r = mcp_rig_legacy("{}", "{}");

	r->front->heartbeat_ms = 20;
	mcp_rig_say(r, CALL("7", "5"));
	mcp_rig_say(r, RPC_ "\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":7}}");
	buf_reset(&r->log);
	mcp_rig_run(r, 60);
	assert_log(r, "");
}

static void test_modern(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r = mcp_rig_new();

	r->front->heartbeat_ms = 1;
	mcp_rig_say(r,
		    RPC_ "\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\",\"_meta\":{"
			 "\"progressToken\":\"p\",\"" MCP_META_VERSION
			 "\":\"2026-07-28\",\"" MCP_META_CAPABILITIES "\":{}}}}");
	r->front->heartbeat_ms = LATER;
	buf_reset(&r->log);
	mcp_rig_run(r, 50);
	assert_log(r, PROGRESS("1", "\"progressToken\":\"p\",\"progress\":1e-09,"
				    "\"message\":\"still running\""));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_silence),
		cmocka_unit_test(test_what_the_server_said_is_said_again),
		cmocka_unit_test(test_while_its_client_is_asked),
		cmocka_unit_test(test_none_was_asked_for),
		cmocka_unit_test(test_cancelled),
		cmocka_unit_test(test_modern),
	};

	return RUN(tests, NULL, NULL);
}
