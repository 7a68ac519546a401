/* Exchanges and sessions of the MCP endpoints without a socket: bodies are pushed and answers pulled as net/ would, behind is a backend that
 * answers when told. */
#include "unit.h"

#include "base/limits.h"
#include "http/mcp/mcp_http_internal.h"

#define META                                                                                       \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define INITIALIZE                                                                                 \
	"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}}}"
#define PROMPTS "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"prompts/list\"}"
#define MODERN "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"prompts/list\",\"params\":{" META "}}"
#define FOUND                                                                                      \
	"{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{},\"ttlMs\":0,\"cacheScope\":\"private\"}"

/* --- the backend ------------------------------------------------------------------------------------------ */

struct waiting {
	struct mcp_call base;
	const struct mcp_reply_ops *ops;
	void *ctx;
};

static struct waiting *last; /* the call that waits */
static unsigned cancelled;

static struct mcp_call *on_call(struct mcp_backend *b, const char *method _unused_,
				struct slice params _unused_, const struct mcp_reply_ops *ops,
				void *ctx)
{
	last = new0(struct waiting);
	last->base.backend = b;
	last->ops = ops;
	last->ctx = ctx;
	return &last->base;
}

static void on_cancel(struct mcp_call *c)
{
	cancelled++;
	free(container_of(c, struct waiting, base));
	last = NULL;
}

static const struct mcp_backend_ops backend_ops = { .call = on_call, .cancel = on_cancel };
static struct mcp_backend backends[2] = { { &backend_ops }, { &backend_ops } };

static void done(const char *result, const char *error)
{
	struct waiting *w = last;

	last = NULL;
	w->ops->done(w->ctx, slice_of(result), slice_of(error));
	free(w);
}

static struct mcp_backend *on_find(void *ctx _unused_, struct slice name,
				   struct slice session _unused_, struct err *e)
{
	if (slice_is(name, "a") || slice_is(name, "b"))
		return &backends[slice_is(name, "b")];
	err_set(e, -ENOENT, 0,
		slice_is(name, "down") ? "MCP_SERVER_DISABLED" : "MCP_SERVER_UNKNOWN", "not here");
	return NULL;
}

/* --- the client ------------------------------------------------------------------------------------------- */

static struct loop *loop;
static struct mcp_http *mcp;
static char session[2 * MCP_SESSION_ID_BYTES + 1];

static int setup(void **state _unused_)
{
	loop = loop_new();
	mcp = mcp_http_new(loop, &(struct mcp_endpoint){ on_find, NULL });
	cancelled = 0;
	session[0] = '\0';
	return 0;
}

static int teardown(void **state _unused_)
{
	mcp = mcp_http_free(mcp);
	loop = loop_free(loop);
	return 0;
}

static struct http_reply ask(const char *method, const char *path, bool modern)
{
	struct http_context ctx = { .loop = loop, .mcp = mcp };
	struct http_request rq = { .method = method,
				   .grant = &grant_admin,
				   .path = path,
				   .accept = SLICE("application/json, text/event-stream"),
				   .content_type = SLICE("application/json"),
				   .body = FRAMING_LENGTH };
	struct http_reply r;

	rq.mcp_session = slice_of(session);
	if (modern) {
		rq.mcp_version = SLICE("2026-07-28");
		rq.mcp_method = SLICE("prompts/list");
	}
	http_respond(&ctx, &rq, &r);
	return r;
}

/* Pushes the body in two pieces; the sink that has it. */
static struct http_sink *post(const char *path, const char *body, bool modern)
{
	struct http_reply r = ask("POST", path, modern);
	struct slice s = slice_of(body);

	assert_non_null(r.sink);
	assert_int_equal(r.sink->ops->take(r.sink, (struct slice){ s.p, s.n / 2 }), HTTP_TAKE_MORE);
	assert_int_equal(r.sink->ops->take(r.sink, (struct slice){ s.p + s.n / 2, s.n - s.n / 2 }),
			 HTTP_TAKE_MORE);
	r.sink->ops->end(r.sink);
	return r.sink;
}

static struct http_reply answer(struct http_sink *s)
{
	struct http_reply r;

	assert_int_equal(s->ops->check(s), HTTP_TAKE_ANSWER);
	http_sink_answer(s, &r);
	http_sink_free(s);
	return r;
}

static const char *header(const struct http_reply *r, const char *name)
{
	for (unsigned i = 0; i < r->nheaders; i++)
		if (strcmp(r->headers[i].name, name) == 0)
			return r->headers[i].value;
	return NULL;
}

static void check_error(struct http_reply *r, int status, const char *reason)
{
	struct slice error = jobj_get(buf_slice(&r->body), "error").raw;
	struct slice got = jobj_get(jobj_get(error, "data").raw, "reason").raw;

	if (r->status != status || got.n != strlen(reason) + 2 ||
	    memcmp(got.p + 1, reason, got.n - 2) != 0)
		fail_msg("%d %.*s", r->status, (int)buf_len(&r->body), r->body.data);
	buf_done(&r->body);
}

static void begin_session(const char *path)
{
	struct http_sink *s;
	struct http_reply r;

	session[0] = '\0';
	s = post(path, INITIALIZE, false);
	assert_int_equal(s->ops->check(s), HTTP_TAKE_WAIT);
	done(FOUND, NULL);
	r = answer(s);
	assert_int_equal(r.status, 200);
	strcpy(session, header(&r, "Mcp-Session-Id:"));
	buf_done(&r.body);
}

static struct mcp_session *only_session(void)
{
	assert_int_equal(mcp->nsessions, 1);
	return list_first(&mcp->sessions, struct mcp_session, link);
}

/* --- tests ------------------------------------------------------------------------------------------------ */

static void test_backends(void **state _unused_)
{
	struct http_reply r = ask("POST", "/mcp/none", false);

	check_error(&r, 404, "MCP_SERVER_UNKNOWN");
	r = ask("GET", "/mcp/down", false);
	check_error(&r, 503, "MCP_SERVER_DISABLED");
}

static void test_statuses(void **state _unused_)
{
	static const struct {
		const char *result, *error;
		int status;
	} rows[] = {
		{ "{\"resultType\":\"complete\"}", NULL, 200 },
		{ NULL, "{\"code\":-32601,\"message\":\"x\"}", 404 },
		{ NULL, "{\"code\":-32021,\"message\":\"x\"}", 400 },
		{ NULL, "{\"code\":-32602,\"message\":\"x\"}", 200 },
		{ "{\"resultType\":\"complete\",\"error\":{\"code\":-32601}}", NULL, 200 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct http_sink *s = post("/mcp/a", MODERN, true);
		struct http_reply r;

		done(rows[i].result, rows[i].error);
		r = answer(s);
		if (r.status != rows[i].status)
			fail_row(i, rows[i].error ? rows[i].error : rows[i].result);
		buf_done(&r.body);
	}
	assert_true(list_empty(&mcp->exchanges));
}

/* A legacy client's errors stay in the message. */
static void test_legacy_error(void **state _unused_)
{
	struct http_sink *s;
	struct http_reply r;

	begin_session("/mcp/a");
	s = post("/mcp/a", PROMPTS, false);
	done(NULL, "{\"code\":-32601,\"message\":\"x\"}");
	r = answer(s);
	assert_int_equal(r.status, 200);
	buf_done(&r.body);
}

static void test_no_session_of_a_failure(void **state _unused_)
{
	struct http_sink *s = post("/mcp/a", INITIALIZE, false);
	struct http_reply r;

	done(NULL, "{\"code\":-32603,\"message\":\"down\"}");
	loop_run_deferred(loop);
	assert_int_equal(mcp->nsessions, 0);
	r = answer(s);
	assert_null(header(&r, "Mcp-Session-Id:"));
	buf_done(&r.body);

	s = post("/mcp/a", INITIALIZE, false); /* and one whose client goes */
	assert_int_equal(mcp->nsessions, 1);
	http_sink_free(s);
	assert_int_equal(mcp->nsessions, 0);
	assert_int_equal(cancelled, 1);
}

static void test_idle(void **state _unused_)
{
	struct mcp_session *s;
	struct http_reply r;

	begin_session("/mcp/a");
	s = only_session();
	assert_true(s->idle.due);
	r = ask("GET", "/mcp/a", false);
	assert_non_null(r.stream);
	assert_false(s->idle.due); /* an open stream is use */
	http_stream_free(r.stream);
	assert_true(s->idle.due);
	s->idle.fn(s->idle.ctx);
	assert_int_equal(mcp->nsessions, 0);
	r = ask("GET", "/mcp/a", false);
	check_error(&r, 404, "SESSION_NOT_FOUND");
}

/* The client of a legacy call goes: nothing is decided about its answer any more, and that goes nowhere. */
static void test_orphan(void **state _unused_)
{
	struct mcp_exchange *x;
	struct mcp_session *s;

	begin_session("/mcp/a");
	s = only_session();
	http_sink_free(post("/mcp/a", PROMPTS, false));
	x = list_first(&s->exchanges, struct mcp_exchange, link);
	assert_int_equal(x->state, EXCHANGE_ORPHAN);
	assert_false(x->decide.due);
	assert_false(s->idle.due);
	assert_int_equal(cancelled, 0);
	done("{\"resultType\":\"complete\",\"prompts\":[]}", NULL);
	assert_true(list_empty(&s->exchanges));
	assert_true(s->idle.due);
}

static void test_forget(void **state _unused_)
{
	struct http_sink *s, *other;
	struct http_reply r, stream;

	begin_session("/mcp/b");
	begin_session("/mcp/a");
	stream = ask("GET", "/mcp/a", false);
	s = post("/mcp/a", MODERN, true);
	last = NULL;
	other = post("/mcp/b", MODERN, true);
	mcp_http_forget(mcp, &backends[0]);
	assert_int_equal(cancelled, 1);
	r = answer(s);
	check_error(&r, 503, "SERVER_GONE");
	assert_int_equal(other->ops->check(other), HTTP_TAKE_WAIT);
	assert_true(only_session()->backend == &backends[1]);
	assert_int_equal(stream.stream->ops->fill(stream.stream, &r.body, 100), HTTP_FILL_END);
	http_stream_free(stream.stream);
	http_sink_free(other);
	assert_int_equal(cancelled, 2);
	buf_done(&r.body);
}

/* A reader that takes nothing loses its stream, and the call with it. */
static void test_backlog(void **state _unused_)
{
	_cleanup_(freep) char *text = xalloc(64 * KIB + 1);
	_cleanup_(buf_done) struct buf params = { 0 }, out = { 0 };
	struct http_sink *s = post("/mcp/a", MODERN, true);
	struct http_reply r;
	unsigned n = 0;

	memset(text, 'x', 64 * KIB);
	buf_printf(&params, "{\"message\":\"%s\"}", text);
	last->ops->notify(last->ctx, "notifications/message", buf_slice(&params));
	r = answer(s);
	assert_string_equal(r.content_type, "text/event-stream");
	assert_int_equal(r.stream->ops->fill(r.stream, &out, 100), HTTP_FILL_WAIT);
	assert_true(buf_len(&out) > 64 * KIB);
	for (; last && n < 1000; n++) {
		last->ops->notify(last->ctx, "notifications/message", buf_slice(&params));
		loop_run_deferred(loop);
	}
	assert_in_range(n, MCP_HTTP_BACKLOG_MAX / (65 * KIB),
			MCP_HTTP_BACKLOG_MAX / (64 * KIB) + 2);
	assert_int_equal(cancelled, 1);
	buf_reset(&out);
	assert_int_equal(r.stream->ops->fill(r.stream, &out, 100), HTTP_FILL_ERROR);
	http_stream_free(r.stream);
}

static void test_comments(void **state _unused_)
{
	_cleanup_(buf_done) struct buf out = { 0 };
	struct mcp_events *s;
	struct http_reply r;

	begin_session("/mcp/a");
	r = ask("GET", "/mcp/a", false);
	s = container_of(r.stream, struct mcp_events, base);
	assert_int_equal(r.stream->ops->fill(r.stream, &out, 100), HTTP_FILL_WAIT);
	assert_int_equal(buf_len(&out), 0);
	s->quiet.fn(s->quiet.ctx);
	assert_int_equal(r.stream->ops->fill(r.stream, &out, 100), HTTP_FILL_WAIT);
	assert_buf(&out, ":\n\n");
	http_stream_free(r.stream);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_backends, setup, teardown),
		cmocka_unit_test_setup_teardown(test_statuses, setup, teardown),
		cmocka_unit_test_setup_teardown(test_legacy_error, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_session_of_a_failure, setup, teardown),
		cmocka_unit_test_setup_teardown(test_idle, setup, teardown),
		cmocka_unit_test_setup_teardown(test_orphan, setup, teardown),
		cmocka_unit_test_setup_teardown(test_forget, setup, teardown),
		cmocka_unit_test_setup_teardown(test_backlog, setup, teardown),
		cmocka_unit_test_setup_teardown(test_comments, setup, teardown),
	};

	return RUN(tests, NULL, NULL);
}
