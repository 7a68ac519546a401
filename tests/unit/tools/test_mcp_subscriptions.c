/* resources/subscribe and list_changed of a legacy client, over one subscriptions/listen that is replaced when the set changes. */
#include "mcp_rig.h"

#include "base/limits.h"
#include "tools/mcp/mcp_front_internal.h"

#define RPC_ "{\"jsonrpc\":\"2.0\","
#define META LEGACY_META("{}")
#define SERVER                                                                                     \
	"{\"tools\":{\"listChanged\":true},\"prompts\":{},\"resources\":{\"subscribe\":true,\"listChanged\":true}}"
#define LISTS "\"toolsListChanged\":true,\"resourcesListChanged\":true"
#define INITIALIZED RPC_ "\"method\":\"notifications/initialized\"}"
#define SUBSCRIBE(id, uri)                                                                         \
	RPC_ "\"id\":" id ",\"method\":\"resources/subscribe\",\"params\":{\"uri\":" uri "}}"
#define UNSUBSCRIBE(id, uri)                                                                       \
	RPC_ "\"id\":" id ",\"method\":\"resources/unsubscribe\",\"params\":{\"uri\":" uri "}}"
#define LISTEN(filter) "> subscriptions/listen {\"notifications\":{" filter "}," META "}\n"
#define DONE(id) "<! " id " " RPC_ "\"id\":" id ",\"result\":{}}\n"
#define CHANGED(list) "< - " RPC_ "\"method\":\"notifications/" list "/list_changed\"}\n"
#define ENDED "x subscriptions/listen\n"

static void acknowledge(struct mcp_rig *r, unsigned n, const char *filter)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	buf_printf(&b, "{\"notifications\":{%s},\"_meta\":{\"" MCP_META_SUBSCRIPTION "\":\"s\"}}",
		   filter);
	mcp_rig_notify(r, n, "notifications/subscriptions/acknowledged", b.data);
}

static void say_and_run(struct mcp_rig *r, const char *message)
{
	mcp_rig_say(r, message);
	mcp_rig_run(r, 0);
}

/* Listens to the lists, acknowledged. */
static struct mcp_rig *rig_listening(void)
{
	struct mcp_rig *r = mcp_rig_legacy("{}", SERVER);

	say_and_run(r, INITIALIZED);
	assert_log(r, LISTEN(LISTS));
	acknowledge(r, 1, LISTS);
	assert_log(r, "");
	return r;
}

static void test_lists(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r = rig_listening();

	say_and_run(r, INITIALIZED);
	assert_log(r, "");
	mcp_rig_notify(r, 1, "notifications/tools/list_changed",
		       "{\"_meta\":{\"" MCP_META_SUBSCRIPTION "\":\"s\"}}");
	assert_log(r, CHANGED("tools"));
	mcp_rig_notify(r, 1, "notifications/resources/list_changed",
		       "{\"x\":1.0,\"_meta\":{\"k\":null,\"" MCP_META_SUBSCRIPTION "\":0}}");
	assert_log(
		r,
		"< - " RPC_
		"\"method\":\"notifications/resources/list_changed\",\"params\":{\"x\":1.0,\"_meta\":{"
		"\"k\":null}}}\n");
}

/* What a server has not announced it is not asked for. */
static void test_nothing_to_listen_to(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r =
		mcp_rig_legacy("{}", "{\"tools\":{\"listChanged\":false},\"prompts\":{}}");

	say_and_run(r, INITIALIZED);
	assert_log(r, "");
}

/* The old stream goes on until the new one is there; the client is answered then. */
static void test_subscribe(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r = rig_listening();

	say_and_run(r, SUBSCRIBE("1", "\"a:\\u0062\\/\""));
	assert_log(r, LISTEN(LISTS ",\"resourceSubscriptions\":[\"a:\\u0062\\/\"]"));
	mcp_rig_notify(r, 2, "notifications/tools/list_changed",
		       "{}"); /* before its acknowledgement */
	assert_log(r, "");
	mcp_rig_notify(r, 1, "notifications/tools/list_changed", "{}");
	assert_log(r, CHANGED("tools"));
	acknowledge(r, 2, "\"resourceSubscriptions\":[\"a:b/\"]");
	assert_log(r, ENDED DONE("1"));
	mcp_rig_notify(r, 2, "notifications/resources/updated",
		       "{\"uri\":\"a:\\u0062\\/\",\"_meta\":{\"" MCP_META_SUBSCRIPTION "\":1}}");
	assert_log(
		r,
		"< - " RPC_
		"\"method\":\"notifications/resources/updated\",\"params\":{\"uri\":\"a:\\u0062\\/\"}}\n");
	/* the same again needs no new stream */
	say_and_run(r, SUBSCRIBE("2", "\"a:b/\""));
	assert_log(r, DONE("2"));
	say_and_run(r, UNSUBSCRIBE("3", "\"a:b/\""));
	assert_log(r, DONE("3") LISTEN(LISTS));
	acknowledge(r, 3, LISTS);
	assert_log(r, ENDED);
	say_and_run(r, UNSUBSCRIBE("4", "\"a:b/\""));
	assert_log(r, DONE("4"));
}

/* Changes of one turn are one; those while a stream is not acknowledged wait for it. */
static void test_changes_gather(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r = mcp_rig_legacy("{}", SERVER);

	mcp_rig_say(r, SUBSCRIBE("1", "\"a\""));
	mcp_rig_say(r, SUBSCRIBE("2", "\"b\""));
	mcp_rig_say(r, SUBSCRIBE("3", "\"a\""));
	mcp_rig_run(r, 0);
	assert_log(r, LISTEN("\"resourceSubscriptions\":[\"a\",\"b\"]"));
	say_and_run(r, SUBSCRIBE("4", "\"c\""));
	say_and_run(r, UNSUBSCRIBE("5", "\"b\""));
	assert_log(r, DONE("5"));
	mcp_rig_notify(r, 1, "notifications/subscriptions/acknowledged", "{}"); /* all taken */
	assert_log(r, DONE("1") DONE("2") DONE("3"));
	mcp_rig_run(r, 0);
	assert_log(r, LISTEN("\"resourceSubscriptions\":[\"a\",\"c\"]"));
	acknowledge(r, 2, "\"resourceSubscriptions\":[\"c\",\"a\"]");
	assert_log(r, ENDED DONE("4"));
	mcp_rig_say(r, UNSUBSCRIBE("6", "\"a\""));
	say_and_run(r, UNSUBSCRIBE("7", "\"c\""));
	assert_log(r, DONE("6") DONE("7") ENDED);
}

static void test_server_takes_less(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r = mcp_rig_legacy("{}", SERVER);

	mcp_rig_say(r, SUBSCRIBE("1", "\"a\""));
	say_and_run(r, SUBSCRIBE("2", "\"b\""));
	buf_reset(&r->log);
	acknowledge(r, 1, "\"resourceSubscriptions\":[\"b\"]");
	assert_log(
		r,
		"<! 1 " RPC_
		"\"id\":1,\"error\":{\"code\":-32602,\"message\":\"the server does not send updates of "
		"this resource\",\"data\":{\"reason\":\"SUBSCRIPTION_REFUSED\",\"field\":\"params.uri\"}}}\n" DONE(
			"2"));
	mcp_rig_run(r, 0);
	assert_log(r, LISTEN("\"resourceSubscriptions\":[\"b\"]"));
}

static void test_server_refuses(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r = rig_listening();

	say_and_run(r, SUBSCRIBE("1", "\"a\""));
	buf_reset(&r->log);
	mcp_rig_error(r, 2, "{\"code\":-33000,\"message\":\"m\"}");
	assert_log(r, "<! 1 " RPC_
		      "\"id\":1,\"error\":{\"code\":-32603,\"message\":\"m\",\"data\":{\"reason\":"
		      "\"SERVER_BUSY\",\"binding\":-33000}}}\n");
	/* the old stream was never given up */
	mcp_rig_notify(r, 1, "notifications/tools/list_changed", "{}");
	assert_log(r, CHANGED("tools"));
}

/* A server without subscriptions is asked once. */
static void test_no_listen(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r = mcp_rig_legacy("{}", SERVER);

	say_and_run(r, INITIALIZED);
	buf_reset(&r->log);
	mcp_rig_error(r, 1, "{\"code\":-32601,\"message\":\"m\"}");
	mcp_rig_run(r, MCP_LISTEN_RETRY_MS + 100);
	assert_log(r, "");
}

static void test_not_taken_in_time(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r = mcp_rig_legacy("{}", SERVER);
	struct loop_timer *timer;

	say_and_run(r, SUBSCRIBE("1", "\"a\""));
	buf_reset(&r->log);
	timer = &r->front->listen.next->patience;
	assert_true(timer->due > 0);
	timer->fn(timer->ctx);
	assert_log(r,
		   "<! 1 " RPC_
		   "\"id\":1,\"error\":{\"code\":-32603,\"message\":\"the server has not taken the "
		   "subscription in time\",\"data\":{\"reason\":\"LISTEN_TIMEOUT\"}}}\n" ENDED);
	mcp_rig_run(r, 0);
	assert_log(r, "");
}

/* A lost stream is asked for again, and the client looks at the lists again. */
static void test_lost(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r = rig_listening();

	mcp_rig_error(r, 1, "{\"code\":-32603,\"message\":\"gone\"}");
	mcp_rig_run(r, MCP_LISTEN_RETRY_MS / 2);
	assert_log(r, "");
	mcp_rig_run(r, MCP_LISTEN_RETRY_MS);
	assert_log(r, LISTEN(LISTS));
	mcp_rig_error(r, 2, "{\"code\":-32603,\"message\":\"still gone\"}");
	mcp_rig_run(r, MCP_LISTEN_RETRY_MS + 100);
	assert_log(r, ""); /* twice as long now */
	mcp_rig_run(r, MCP_LISTEN_RETRY_MS);
	assert_log(r, LISTEN(LISTS));
	acknowledge(r, 3, LISTS);
	assert_log(r, CHANGED("tools") CHANGED("resources"));
}

static void test_idle_end_is_no_loss(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r = mcp_rig_legacy("{}", SERVER);

	say_and_run(r, INITIALIZED);
	buf_reset(&r->log);
	acknowledge(r, 1, "");
	mcp_rig_result(r, 1, "{\"resultType\":\"complete\"}");
	mcp_rig_run(r, MCP_LISTEN_RETRY_MS + 100);
	assert_log(r, "");
}

/* A cancelled subscription is none. */
static void test_cancelled(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r = mcp_rig_legacy("{}", SERVER);

	say_and_run(r, SUBSCRIBE("1", "\"a\""));
	buf_reset(&r->log);
	mcp_rig_say(r, RPC_ "\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}");
	assert_log(r, "gone 1\n");
	acknowledge(r, 1, "\"resourceSubscriptions\":[\"a\"]");
	mcp_rig_run(r, 0);
	assert_log(r, ENDED);
}

static void test_refusals(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r = mcp_rig_legacy("{}", SERVER);
	const char *invalid =
		"<! 1 " RPC_
		"\"id\":1,\"error\":{\"code\":-32602,\"message\":\"params.uri must be a string of "
		"at most 8192 bytes\",\"data\":{\"reason\":\"URI_INVALID\",\"field\":\"params.uri\"}}}\n";

	mcp_rig_say(r, SUBSCRIBE("1", "7"));
	assert_log(r, invalid);
	mcp_rig_say(r, UNSUBSCRIBE("1", "\"\\u0000\""));
	assert_log(r, invalid);
}

static void test_too_many(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r = mcp_rig_legacy("{}", SERVER);
	unsigned calls = 1;

	for (unsigned i = 0; i < MCP_WATCH_MAX; i += 512) {
		for (unsigned j = i; j < i + 512; j++) {
			char text[200];

			snprintf(text, sizeof(text), SUBSCRIBE("%u", "\"%u\""), j, j);
			mcp_rig_say(r, text);
		}
		mcp_rig_run(r, 0);
		mcp_rig_notify(r, calls++, "notifications/subscriptions/acknowledged", "{}");
	}
	buf_reset(&r->log);
	mcp_rig_say(r, SUBSCRIBE("1", "\"more\""));
	assert_log(
		r,
		"<! 1 " RPC_
		"\"id\":1,\"error\":{\"code\":-32603,\"message\":\"this client has 1024 subscriptions\","
		"\"data\":{\"reason\":\"TOO_MANY_SUBSCRIPTIONS\"}}}\n");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_nothing_to_listen_to),
		cmocka_unit_test(test_subscribe),
		cmocka_unit_test(test_changes_gather),
		cmocka_unit_test(test_server_takes_less),
		cmocka_unit_test(test_server_refuses),
		cmocka_unit_test(test_no_listen),
		cmocka_unit_test(test_not_taken_in_time),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_idle_end_is_no_loss),
		cmocka_unit_test(test_cancelled),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_too_many),
	};

	return RUN(tests, NULL, NULL);
}
