/*
 * mcp_exchange.c - one POST: its body, the call that it makes, and its answer.
 *
 * The answer is JSON if it is the first message and comes within MCP_HTTP_DECIDE_MS; otherwise it becomes a stream. Callbacks of
 * a front can arrive while the sink's functions run: `working` then keeps the sink from being woken inside them. An exchange
 * is freed when the driver has released its sink and its stream, and it has no session that waits for its answer.
 */
#include "http/mcp/mcp_http_internal.h"

#include "base/limits.h"
#include "json/jenc.h"
#include "rpc/rpc.h"
#include "tools/mcp/msg.h"

/* --- its end -------------------------------------------------------------------------------------------- */

static void mcp_exchange_free(struct mcp_exchange *x)
{
	loop_timer_cancel(&x->decide);
	loop_task_cancel(&x->cancel);
	list_del(&x->link);
	mcp_front_free(x->front);
	mcp_events_done(&x->events);
	buf_done(&x->in);
	buf_done(&x->body);
	free_each(x->version, x->method, x->name, x->session_id);
	trace_context_done(&x->trace);
	free_each(x->id, x);
}

static bool mcp_exchange_is_settled(const struct mcp_exchange *x)
{
	return list_empty(&x->link);
}

/* The driver has released a part of it. A session whose client never learnt of it ends with its first exchange. */
static void mcp_exchange_release(struct mcp_exchange *x)
{
	if (x->has_sink || x->has_stream)
		return;
	if (!mcp_exchange_is_settled(x) && x->session) {
		x->state = EXCHANGE_ORPHAN;
		loop_timer_cancel(&x->decide);
		if (x->is_initialize)
			mcp_session_end(x->session, "INITIALIZE_FAILED", "nobody waits for it");
		return;
	}
	mcp_exchange_free(x);
}

static void mcp_exchange_settle(struct mcp_exchange *x)
{
	struct mcp_session *s = x->session;

	if (mcp_exchange_is_settled(x))
		return;
	list_del(&x->link);
	loop_timer_cancel(&x->decide);
	x->session = NULL;
	if (s)
		mcp_session_settled(s, x);
	if (x->state == EXCHANGE_ORPHAN)
		mcp_exchange_free(x);
}

/* --- its answer ----------------------------------------------------------------------------------------- */

static void decided(struct mcp_exchange *x, enum mcp_exchange_state state)
{
	x->state = state;
	loop_timer_cancel(&x->decide);
	if (x->has_sink && !x->working)
		http_sink_wake(&x->sink);
}

static void answer_json(struct mcp_exchange *x, int status, struct slice message)
{
	x->status = status;
	buf_add_slice(&x->body, message);
	decided(x, EXCHANGE_JSON);
}

static void on_undecided(void *ctx)
{
	decided(ctx, EXCHANGE_STREAM);
}

/* Errors that HTTP has a status for; a legacy client gets none of these statuses. An error is short. */
static int mcp_exchange_status_of(const struct mcp_exchange *x, struct slice message)
{
	static const struct {
		const char *code;
		int status;
	} rows[] = { { "-32601", 404 }, { "-32021", 400 } };
	struct jval error;

	if (!x->front || message.n > MCP_HTTP_ERROR_MAX)
		return 200;
	error = jobj_get(message, "error");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (slice_is(jobj_get(error.raw, "code").raw, rows[i].code))
			return rows[i].status;
	return 200;
}

static void on_mcp_exchange_cancel(void *ctx)
{
	struct mcp_exchange *x = ctx;

	x->front = mcp_front_free(x->front);
}

/* The reader lost its stream. To a modern client that is a cancellation, but we may be inside its front. */
static void stream_lost(struct mcp_exchange *x)
{
	if (x->front)
		loop_defer(x->m->loop, &x->cancel, on_mcp_exchange_cancel, x);
}

void mcp_exchange_take(struct mcp_exchange *x, struct slice message, bool last)
{
	if (last) {
		mcp_exchange_answer(x, mcp_exchange_status_of(x, message), message);
		return;
	}
	/* another message follows, so it cannot be JSON any more */
	if (x->state == EXCHANGE_OPEN)
		decided(x, EXCHANGE_STREAM);
	if (x->state == EXCHANGE_STREAM && !mcp_events_put(&x->events, message, false))
		stream_lost(x);
}

void mcp_exchange_answer(struct mcp_exchange *x, int status, struct slice message)
{
	if (x->is_initialize)
		x->failed = jobj_get(message, "error").type != J_NONE;
	if (x->state <= EXCHANGE_OPEN)
		answer_json(x, status, message);
	else if (x->state == EXCHANGE_STREAM)
		mcp_events_put(&x->events, message, true);
	mcp_exchange_settle(x);
}

void mcp_exchange_fail(struct mcp_exchange *x, int status, const struct err *e, struct slice extra)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	rpc_put_error(&b, x->id ? slice_of(x->id) : SLICE("null"), e, extra);
	mcp_exchange_answer(x, status, buf_slice(&b));
}

/* MCP has no answer for a cancelled request: the stream ends without one. */
void mcp_exchange_drop(struct mcp_exchange *x)
{
	if (x->state == EXCHANGE_OPEN)
		decided(x, EXCHANGE_STREAM);
	mcp_events_end(&x->events);
	mcp_exchange_settle(x);
}

void mcp_exchange_accept(struct mcp_exchange *x, int status)
{
	answer_json(x, status, SLICE_NONE);
}

void mcp_exchange_open(struct mcp_exchange *x, struct mcp_session *s)
{
	x->state = EXCHANGE_OPEN;
	x->session = s;
	list_del(&x->link);
	list_add_tail(s ? &s->exchanges : &x->m->exchanges, &x->link);
	if (s)
		mcp_session_touch(s);
	loop_timer_set(x->m->loop, &x->decide, MCP_HTTP_DECIDE_MS, on_undecided, x);
}

/* --- the driver's side ---------------------------------------------------------------------------------- */

static struct mcp_exchange *of_sink(struct http_sink *s)
{
	return container_of(s, struct mcp_exchange, sink);
}

static enum http_take mcp_exchange_sink_check(struct http_sink *s)
{
	const struct mcp_exchange *x = of_sink(s);

	if (x->state == EXCHANGE_BODY)
		return HTTP_TAKE_MORE;
	return x->state == EXCHANGE_OPEN ? HTTP_TAKE_WAIT : HTTP_TAKE_ANSWER;
}

static enum http_take mcp_exchange_sink_take(struct http_sink *s, struct slice piece)
{
	struct mcp_exchange *x = of_sink(s);
	struct err e = { .rpc = RPC_INVALID_REQUEST,
			 .reason = "MESSAGE_TOO_LARGE",
			 .msg = "the message is too large" };

	x->working = true;
	if (buf_add_slice(&x->in, piece) < 0)
		mcp_exchange_fail(x, 413, &e, SLICE_NONE);
	x->working = false;
	return mcp_exchange_sink_check(s);
}

/* What a message says of its trace itself goes before its headers. */
static bool has_trace(struct slice params)
{
	struct trace_context own = { .state = NULL };
	bool has;

	trace_context_read(&own, jobj_get(params, "_meta").raw);
	has = *own.parent;
	trace_context_done(&own);
	return has;
}

/* Puts the context of the headers where MCP has it, so that all that a call passes finds it there. */
static void adopt_trace(struct mcp_exchange *x)
{
	_cleanup_(buf_done) struct buf context = { 0 }, params = { 0 };
	struct slice was = jobj_get(buf_slice(&x->in), "params").raw;
	struct buf whole = { 0 };
	struct jw w = JW(&context);

	if (!*x->trace.parent || !slice_starts(was, "{") || has_trace(was))
		return;
	jw_str(&w, "traceparent", x->trace.parent);
	jw_str(&w, "tracestate", x->trace.state);
	mcp_meta_merge(&params, was, buf_slice(&context));
	mcp_text_splice(&whole, buf_slice(&x->in), was, buf_slice(&params));
	if (params.failed || whole.failed) {
		buf_done(&whole);
		return;
	}
	/* Only now, because `was` points into it. */
	buf_done(&x->in);
	x->in = whole;
}

static enum http_take mcp_exchange_sink_end(struct http_sink *s)
{
	struct mcp_exchange *x = of_sink(s);
	struct mcp_headers h = { slice_of(x->version), slice_of(x->method), slice_of(x->name) };
	struct mcp_post post;

	if (x->state != EXCHANGE_BODY) /* its server ended while the body arrived */
		return mcp_exchange_sink_check(s);
	x->working = true;
	mcp_flatten(x->in.data + x->in.pos, buf_len(&x->in));
	mcp_post_check(buf_slice(&x->in), &h, &post);
	x->id = post.id.n ? xstrndup(post.id.p, post.id.n) : NULL;
	/* Before it is fed: the front reads the context from the message. */
	if (post.kind == MCP_POST_MODERN || post.kind == MCP_POST_REQUEST)
		adopt_trace(x);
	mcp_post(x, &post);
	buf_done(&post.extra);
	buf_done(&x->in);
	x->working = false;
	return mcp_exchange_sink_check(s);
}

static void mcp_exchange_sink_answer(struct http_sink *s, struct http_reply *ret)
{
	struct mcp_exchange *x = of_sink(s);

	if (x->began[0])
		http_reply_header(ret, "Mcp-Session-Id:", x->began);
	if (x->state == EXCHANGE_STREAM) {
		mcp_events_reply(&x->events, ret);
		x->has_stream = true;
		return;
	}
	ret->status = x->status;
	ret->body = x->body;
	x->body = (struct buf){ 0 };
	if (!buf_len(&ret->body))
		ret->content_type = NULL;
}

static void free_sink(struct http_sink *s)
{
	struct mcp_exchange *x = of_sink(s);

	x->has_sink = false;
	mcp_exchange_release(x);
}

static void on_stream_gone(struct mcp_events *s)
{
	struct mcp_exchange *x = container_of(s, struct mcp_exchange, events);

	x->has_stream = false;
	mcp_exchange_release(x);
}

static const struct http_sink_ops sink_ops = { mcp_exchange_sink_take, mcp_exchange_sink_end,
					       mcp_exchange_sink_check, mcp_exchange_sink_answer,
					       free_sink };

static char *mcp_exchange_copy(struct slice s)
{
	while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
		s.n--;
	return s.n ? xstrndup(s.p, s.n) : NULL;
}

static void take_trace(struct mcp_exchange *x, const struct http_request *rq)
{
	_cleanup_(freep) char *parent = mcp_exchange_copy(rq->traceparent),
			      *state = mcp_exchange_copy(rq->tracestate);

	trace_context_read_headers(&x->trace, parent ? parent : "", state ? state : "");
}

struct mcp_exchange *mcp_exchange_new(struct mcp_http *m, struct mcp_backend *b,
				      const struct http_request *rq)
{
	struct mcp_exchange *x = new0(struct mcp_exchange);

	x->sink.ops = &sink_ops;
	x->has_sink = true;
	x->m = m;
	x->backend = b;
	x->grant = rq->grant;
	x->in.max = MESSAGE_MAX;
	list_add_tail(&m->exchanges, &x->link);
	mcp_events_init(&x->events, m->loop, on_stream_gone);
	x->version = mcp_exchange_copy(rq->mcp_version);
	x->method = mcp_exchange_copy(rq->mcp_method);
	x->name = mcp_exchange_copy(rq->mcp_name);
	x->session_id = mcp_exchange_copy(rq->mcp_session);
	take_trace(x, rq);
	return x;
}
