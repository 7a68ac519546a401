/* Streamable HTTP of both eras against a server of the test's (upstream_web.h). */
#include "upstream_web.h"

#include "base/log.h"
#include "tools/upstream/http/upstream_http.h"

static struct upstream *h;
static struct told a, b;
static bool up, down;
static struct err why;
static char info_text[100];

/* --- the client ------------------------------------------------------------------------------------------- */

static void on_up(void *ctx _unused_, const struct mcp_server_info *info)
{
	up = true;
	snprintf(info_text, sizeof(info_text), "%s %s %d", info->name, info->revision,
		 info->is_legacy);
}

static void on_down(void *ctx _unused_, const struct err *e)
{
	down = true;
	why = *e;
}

static const struct mcp_server_events events = { .up = on_up, .down = on_down };

static unsigned port;

static int setup(void **state _unused_)
{
	log_set_level(LOG_ERROR);
	ups_loop = loop_new();
	port = web_begin();
	up = down = false;
	return port ? 0 : -1;
}

static int teardown(void **state _unused_)
{
	h = mcp_server_free(h);
	loop_run_deferred(ups_loop);
	web_end();
	ups_loop = loop_free(ups_loop);
	buf_done(&a.text);
	buf_done(&b.text);
	assert_int_equal(web_strange, 0);
	return 0;
}

static void make(struct step *list, size_t n)
{
	char *headers[] = { "Authorization: Bearer secret", NULL };
	struct mcp_remote_config config = {
		.name = "unit", .headers = headers, .local_only = true, .start_ms = 3000
	};
	char url[64];
	struct err e;

	web_script(list, n);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/mcp?x=1", port);
	config.url = url;
	h = mcp_remote_new(ups_loop, &config, &events, NULL, &e);
	assert_non_null(h);
	assert_int_equal(mcp_server_start(h, &e), 0);
}

#define START(list) make(list, ARRAY_SIZE(list))

static void call(struct told *t, const char *method, const char *params)
{
	told_call(t, mcp_server_backend(h), method, params);
}

static bool says(const struct told *t, const char *text)
{
	return t->text.data && memmem(t->text.data, t->text.len, text, strlen(text));
}

/* --- words ------------------------------------------------------------------------------------------------ */

#define OK_JSON "HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\n"
#define JSON(text) OK_JSON "\r\n" text
#define EVENTS "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
#define EMPTY(status) "HTTP/1.1 " status "\r\nContent-Length: 0\r\n\r\n"
#define MODERN_HELLO                                                                               \
	{                                                                                          \
		.want = { "POST /mcp?x=1 ", "Mcp-Method: server/discover",                         \
			  "MCP-Protocol-Version: 2026-07-28", "Authorization: Bearer secret" },    \
		.lacks = "Mcp-Session-Id",                                                         \
		.reply =                                                                           \
			JSON("{\"id\":1,\r\n\"result\":{\"supportedVersions\":[\"2026-07-28\"]}}") \
	}
#define NO_DISCOVER                                                                                \
	{                                                                                          \
		.want = { "server/discover" },                                                     \
		.reply = "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n\r\n"      \
			 "{\"id\":null,\"error\":{\"code\":-32000,\"message\":\"no session\"}}"    \
	}
#define INITIALIZE(id, session)                                                                    \
	{                                                                                          \
		.want = { "\"initialize\"" }, .lacks = "Mcp-",                                     \
		.reply = OK_JSON "Mcp-Session-Id: " session "\r\n\r\n{\"id\":" id                  \
				 ",\"result\":{\"protocolVersion\":"                               \
				 "\"2025-06-18\",\"capabilities\":{}}}"                            \
	}
#define INITIALIZED(session)                                                                       \
	{                                                                                          \
		.want = { "notifications/initialized", "Mcp-Session-Id: " session "\r\n",          \
			  "MCP-Protocol-Version: 2025-06-18" },                                    \
		.lacks = "Mcp-Method", .reply = EMPTY("202 Accepted")                              \
	}
#define NO_STREAM                                                                                  \
	{                                                                                          \
		.want = { "GET /mcp" }, .reply = EMPTY("405 Method Not Allowed")                   \
	}

/* --- modern ----------------------------------------------------------------------------------------------- */

static void test_modern(void **state _unused_)
{
	struct step list[] = {
		MODERN_HELLO,
		{ .want = { "Mcp-Method: tools/call", "Mcp-Name: =?base64?w6k=?=\r\n", "\"id\":2",
			    "Accept: application/json, text/event-stream" },
		  .reply = EVENTS
		  ": hi\n\nid: 1\ndata:\n\n"
		  "data: {\"method\":\"notifications/progress\",\n"
		  "data: \"params\":{\"progressToken\":2}}\n\n"
		  "data: {\"method\":\"notifications/message\",\"params\":{\"level\":1.0}}\r\n\r\n"
		  "event: message\rdata: {\"id\":2,\"result\":{\"a\": 1.0}}\r\r",
		  .hold = true },
		{ .want = { "Mcp-Method: resources/read", "Mcp-Name: x:y" },
		  .reply =
			  "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
			  "Transfer-Encoding: chunked\r\n\r\n"
			  "c\r\n{\"id\":3,\"res\r\n8;x\r\nult\":{}}\r\n0\r\n\r\n",
		  .hold = true },
	};

	START(list);
	call(&a, "tools/call", "{\"name\":\"\\u00e9\",\"_meta\":{\"progressToken\":\"t\"}}");
	ups_until(&a.done);
	assert_buf(&a.text, "~ notifications/progress {\"progressToken\":\"t\"}\n"
			    "~ notifications/message {\"level\":1.0}\n= {\"a\": 1.0}");
	call(&b, "resources/read", "{\"uri\":\"x:y\"}");
	ups_until(&b.done);
	assert_buf(&b.text, "= {}");
	assert_string_equal(info_text, " 2026-07-28 0");
	ups_run(20);
	assert_true(web_peer(&list[1])->gone && web_peer(&list[2])->gone);
}

static void test_modern_cancel(void **state _unused_)
{
	struct step list[] = {
		MODERN_HELLO, { .want = { "tools/call" }, .reply = EVENTS ": \n\n", .hold = true }
	};

	START(list);
	call(&a, "tools/call", "{}");
	web_all_used();
	mcp_call_cancel(a.call);
	ups_run(50);
	assert_true(web_peer(&list[1])->gone); /* which says it; and nothing is posted */
}

/* What comes for a tools/call, and what the caller gets of it. */
static const struct {
	const char *reply, *want;
} answers[] = {
	{ "HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\n\r\n"
	  "{\"id\":2,\"error\":{\"code\":-32601,\"message\":\"m\",\"x\":1.0}}",
	  "! {\"code\":-32601,\"message\":\"m\",\"x\":1.0}" },
	{ EMPTY("500 Oh"),
	  "it answered with HTTP status 500\",\"data\":{\"reason\":\"HTTP_STATUS\"}" },
	{ EMPTY("401 Unauthorized"), "HTTP_UNAUTHORIZED" },
	{ EMPTY("302 Found"), "HTTP_STATUS" },
	{ EMPTY("202 Accepted"), "SERVER_PROTOCOL" },
	{ JSON("{\"id\":7,\"result\":{}}"), "SERVER_PROTOCOL" },
	{ JSON("<html>"), "SERVER_PROTOCOL" },
	{ EVENTS "data: {\"x\":1}\n\n", "SERVER_GONE" },
	{ EVENTS "id: 1\ndata: {}\n\n", "SERVER_GONE" },
	{ "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{}", "SERVER_GONE" },
	{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "SERVER_GONE" },
	{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "SERVER_GONE" },
	{ "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "SERVER_GONE" },
	{ "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{} ", "SERVER_GONE" },
	{ "HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\n{}", "SERVER_GONE" },
	{ "SSH-2.0-x\r\n\r\n", "SERVER_GONE" },
	{ "", "SERVER_GONE" },
};

static void test_answers(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		struct step list[] = { MODERN_HELLO,
				       { .want = { "tools/call" }, .reply = answers[i].reply } };

		if (i) {
			teardown(state);
			setup(state);
		}
		START(list);
		call(&a, "tools/call", "{}");
		ups_until(&a.done);
		if (!says(&a, answers[i].want)) {
			print_error("%.*s\n", (int)a.text.len, a.text.data);
			fail_row(i, answers[i].want);
		}
		assert_false(down);
	}
}

/* Headers that only the list of tools tells of: asked for once, then known. */
static void test_mirrored(void **state _unused_)
{
	struct step list[] = {
		MODERN_HELLO,
		{ .want = { "tools/call" },
		  .lacks = "Mcp-Param",
		  .reply =
			  "HTTP/1.1 400 Bad\r\nContent-Type: application/json\r\n\r\n{\"id\":2,\"error\":"
			  "{\"code\":-32020,\"message\":\"m\"}}" },
		{ .want = { "Mcp-Method: tools/list" },
		  .lacks = "cursor",
		  .reply = JSON(
			  "{\"id\":3,\"result\":{\"tools\":[],\"nextCursor\":\"c\\u0031\"}}") },
		{ .want = { "Mcp-Method: tools/list", "\"cursor\":\"c\\u0031\"" },
		  .reply = JSON(
			  "{\"id\":4,\"result\":{\"tools\":[{\"name\":\"t\",\"inputSchema\":"
			  "{\"properties\":{\"r\":{\"type\":\"string\",\"x-mcp-header\":\"Region\"},"
			  "\"o\":{\"properties\":{\"n\":{\"type\":\"integer\",\"x-mcp-header\":\"N\"}}},"
			  "\"f\":{\"type\":\"number\",\"x-mcp-header\":\"F\"},"
			  "\"h\":{\"type\":\"string\",\"x-mcp-header\":\"a: b\"}}}}]}}") },
		{ .want = { "tools/call", "Mcp-Param-Region: eu\r\n", "Mcp-Param-N: -7\r\n",
			    "\"id\":2" },
		  .lacks = "Mcp-Param-F",
		  .reply = JSON("{\"id\":2,\"result\":{}}") },
		{ .want = { "tools/call", "Mcp-Param-Region: =?base64?wqA=?=\r\n", "\"id\":5" },
		  .lacks = "Mcp-Param-N",
		  .reply = JSON("{\"id\":5,\"result\":{}}") },
	};

	START(list);
	call(&a, "tools/call",
	     "{\"name\":\"t\",\"arguments\":{\"r\":\"eu\",\"o\":{\"n\":-7.0},\"f\":1}}");
	ups_until(&a.done);
	assert_buf(&a.text, "= {}");
	call(&b, "tools/call",
	     "{\"name\":\"t\",\"arguments\":{\"r\":\"\\u00a0\",\"o\":{\"n\":null}}}");
	ups_until(&b.done);
	assert_buf(&b.text, "= {}");
}

/* --- legacy ----------------------------------------------------------------------------------------------- */

static void test_legacy(void **state _unused_)
{
	struct step list[] = {
		NO_DISCOVER,
		INITIALIZE("2", "s-1"),
		INITIALIZED("s-1"),
		NO_STREAM,
		{ .want = { "tools/list", "Mcp-Session-Id: s-1",
			    "MCP-Protocol-Version: 2025-06-18" },
		  .lacks = "Mcp-Method",
		  .reply = JSON("{\"id\":3,\"result\":{\"tools\":[]}}") },
		{ .want = { "tools/call" }, .reply = EVENTS ": \n\n", .hold = true },
		{ .want = { "notifications/cancelled", "\"requestId\":4" },
		  .reply = EMPTY("202 Accepted") },
		{ .want = { "DELETE /mcp?x=1 ", "Mcp-Session-Id: s-1" }, .reply = EMPTY("200 OK") },
	};

	START(list);
	call(&a, "tools/list", "{}");
	ups_until(&a.done);
	assert_buf(&a.text, "= {\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\","
			    "\"tools\":[]}");
	assert_string_equal(info_text, " 2025-06-18 1");
	call(&b, "tools/call", "{}");
	while (!list[5].used)
		ups_run(5);
	mcp_call_cancel(b.call);
	while (!list[6].used)
		ups_run(5);
	mcp_server_stop(h);
	ups_until(&down);
	web_all_used();
}

/* The first message behind the handshake waits until the server has its end. */
static void test_order(void **state _unused_)
{
	struct step list[] = { NO_DISCOVER,
			       INITIALIZE("2", "s-1"),
			       INITIALIZED("s-1"),
			       NO_STREAM,
			       { .want = { "tools/list" },
				 .reply = JSON("{\"id\":3,\"result\":{}}") } };

	list[2].reply = NULL;
	START(list);
	call(&a, "tools/list", "{}");
	while (!list[2].used)
		ups_run(5);
	ups_run(50);
	assert_false(list[4].used);
	web_say(web_peer(&list[2]), EMPTY("202 Accepted"), false);
	ups_until(&a.done);
	web_all_used();
}

static void test_new_session(void **state _unused_)
{
	struct step list[] = {
		NO_DISCOVER,
		INITIALIZE("2", "s-1"),
		INITIALIZED("s-1"),
		NO_STREAM,
		{ .want = { "tools/call", "s-1", "\"id\":3" }, .reply = EMPTY("404 Not Found") },
		INITIALIZE("4", "s-2"),
		INITIALIZED("s-2"),
		{ .want = { "tools/call", "s-2", "\"id\":3" },
		  .reply = JSON("{\"id\":3,\"result\":{}}") },
		{ .want = { "tools/call", "s-2", "\"id\":5" }, .reply = EMPTY("404 Not Found") },
		{ .want = { "\"initialize\"" }, .lacks = "s-2", .reply = EMPTY("500 Oh") },
	};

	START(list);
	call(&a, "tools/call", "{}");
	ups_until(&a.done);
	assert_buf(&a.text, "= {\"resultType\":\"complete\"}");
	call(&b, "tools/call", "{}");
	ups_until(&down);
	assert_true(b.done && says(&b, "SESSION_LOST"));
	web_all_used();
}

static void test_question(void **state _unused_)
{
	struct step list[] = {
		NO_DISCOVER,
		INITIALIZE("2", "s-1"),
		INITIALIZED("s-1"),
		NO_STREAM,
		{ .want = { "tools/call", "\"id\":3" }, .reply = EVENTS ":\n\n", .hold = true },
		{ .want = { "tools/call", "\"id\":4" },
		  .reply = EVENTS "data: {\"id\":1,\"method\":\"roots/list\"}\n\n",
		  .hold = true },
		{ .want = { "\"id\":1,\"result\":{\"roots\":[]}}", "Mcp-Session-Id: s-1" },
		  .reply = EMPTY("202 Accepted") },
	};
	const char *meta =
		"\"_meta\":{\"io.modelcontextprotocol/clientCapabilities\":{\"roots\":{}}}";
	_cleanup_(buf_done) struct buf p = { 0 };
	struct told c;
	const char *key;

	START(list);
	buf_printf(&p, "{%s}%c", meta, 0);
	call(&b, "tools/call", p.data);
	while (!list[4].used)
		ups_run(5);
	call(&a, "tools/call", p.data);
	ups_until(&a.done);
	assert_false(b.done); /* the stream says whose question it is */
	buf_putc(&a.text, '\0');
	key = strstr(a.text.data, "\"requestState\":\"");
	assert_non_null(key);
	buf_reset(&p);
	buf_printf(&p, "{%.*s,\"inputResponses\":{\"ask-1\":{\"roots\":[]}},%s}%c", 16 + 105, key,
		   meta, 0);
	call(&c, "tools/call", p.data);
	web_all_used();
	web_say(web_peer(&list[5]), "data: {\"id\":4,\"result\":{\"b\":2}}\n\n", false);
	ups_until(&c.done);
	assert_buf(&c.text, "= {\"resultType\":\"complete\",\"b\":2}");
	mcp_call_cancel(b.call);
	buf_done(&c.text);
}

/* A stream that ends before its answer is taken up again behind its last event. */
static void test_resumed(void **state _unused_)
{
	struct step list[] = {
		NO_DISCOVER,
		INITIALIZE("2", "s-1"),
		INITIALIZED("s-1"),
		{ .want = { "GET /mcp", "Accept: text/event-stream\r\n" },
		  .lacks = "Last-Event-ID",
		  .reply = EMPTY("405 Method Not Allowed") },
		{ .want = { "tools/call" }, .reply = EVENTS "id: e-1\nretry: 10\ndata: \n\n" },
		{ .want = { "GET /mcp", "Last-Event-ID: e-1\r\n", "Mcp-Session-Id: s-1" },
		  .reply = EVENTS
		  "id: e-2\ndata: {\"method\":\"notifications/progress\",\"params\":"
		  "{\"progressToken\":3}}\n\n" },
		{ .want = { "GET /mcp", "Last-Event-ID: e-2\r\n" },
		  .reply = EVENTS "data: {\"id\":3,\"result\":{}}\n\n" },
	};

	START(list);
	call(&a, "tools/call", "{\"_meta\":{\"progressToken\":0}}");
	ups_until(&a.done);
	assert_buf(&a.text, "~ notifications/progress {\"progressToken\":0}\n"
			    "= {\"resultType\":\"complete\"}");
	web_all_used();
}

static void test_stream(void **state _unused_)
{
	struct step list[] = {
		NO_DISCOVER,
		{ .want = { "\"initialize\"" },
		  .reply = JSON(
			  "{\"id\":2,\"result\":{\"protocolVersion\":\"2025-03-26\",\"capabilities\":"
			  "{\"tools\":{\"listChanged\":true}}}}") },
		{ .want = { "notifications/initialized" }, .reply = EMPTY("200 OK") },
		{ .want = { "GET /mcp" },
		  .lacks = "Last-Event-ID",
		  .hold = true,
		  .reply = EVENTS ": \n\n" },
		{ .want = { "GET /mcp", "Last-Event-ID: 7" },
		  .reply = EVENTS ": \n\n",
		  .hold = true },
		{ .want = { "\"id\":5,\"result\":{}" }, .reply = EMPTY("202 Accepted") },
	};

	START(list);
	while (!list[3].used)
		ups_run(5);
	call(&a, "subscriptions/listen", "{\"notifications\":{\"toolsListChanged\":true}}");
	ups_run(10);
	web_say(web_peer(&list[3]),
		"id: 7\nretry: 5\ndata: {\"method\":\"notifications/tools/list_changed\"}\n\n"
		"data: {\"id\":5,\"method\":\"ping\"}\n\n",
		false);
	web_all_used();
	assert_buf(&a.text,
		   "~ notifications/subscriptions/acknowledged {\"notifications\":"
		   "{\"toolsListChanged\":true}}\n~ notifications/tools/list_changed {}\n");
	mcp_call_cancel(a.call);
}

/* --- nobody there ----------------------------------------------------------------------------------------- */

static void test_unreachable(void **state _unused_)
{
	struct step list[] = { MODERN_HELLO };
	struct err e;

	START(list);
	ups_until(&up);
	web_deaf();
	call(&a, "tools/call", "{}");
	ups_until(&down);
	assert_true(a.done && says(&a, "UNREACHABLE"));
	assert_string_equal(why.reason, "UNREACHABLE");
	down = false;
	assert_int_equal(mcp_server_start(h, &e), 0);
	assert_int_equal(mcp_server_start(h, &e), -EALREADY);
	call(&b, "tools/call", "{}");
	ups_until(&down);
	assert_true(b.done && says(&b, "UNREACHABLE"));
}

static void test_not_local(void **state _unused_)
{
	struct mcp_remote_config config = { .name = "unit",
					    .url = "http://192.0.2.1/",
					    .local_only = true };
	struct err e;

	h = mcp_remote_new(ups_loop, &config, &events, NULL, &e);
	mcp_server_start(h, &e);
	ups_until(&down);
	assert_string_equal(why.reason, "HOST_NOT_ALLOWED");
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_modern),	CASE(test_modern_cancel), CASE(test_answers),
		CASE(test_mirrored),	CASE(test_legacy),	  CASE(test_order),
		CASE(test_new_session), CASE(test_question),	  CASE(test_resumed),
		CASE(test_stream),	CASE(test_unreachable),	  CASE(test_not_local),

	};

	return RUN(tests, NULL, NULL);
}
