/*
 * conn.c - what all files of acp/ need of a connection: its queue to the client, its close, its open calls, and its view
 * of a session.
 *
 * Nothing is written from here: the transport pumps. Replies and requests wait in a queue, each behind the events of its
 * session up to the number that was last when it was queued (struct outgoing). So a client sees updates before the answer
 * of its prompt, a replay before the answer of its load, and a permission request after its tool call.
 *
 * A client may lag far behind as long as it takes something: its events stay in the journal. One that takes nothing is
 * closed with 1008, so that its queue does not grow for ever.
 */
#include "acp/acp_internal.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"

#define WATCH_MS 1000

void outgoing_free(struct acp_conn *c, struct outgoing *o)
{
	c->out_bytes -= o->n;
	list_del(&o->link);
	free(o);
}

void conn_close(struct acp_conn *c, int code, const char *reason)
{
	if (c->phase == CONN_CLOSING)
		return;
	c->phase = CONN_CLOSING;
	if (code == 1008) /* it does not read: nothing is kept for it */
		while (!list_empty(&c->out))
			outgoing_free(c, list_first(&c->out, struct outgoing, link));
	c->transport.close(c->transport.ctx, code, reason);
}

/* --- slow readers --------------------------------------------------------------------------------- */

static uint64_t conn_backlog(const struct acp_conn *c)
{
	uint64_t n = c->out_bytes;

	/* Only views in `ready` may have unsent events. */
	list_each(v, (struct list *)&c->ready, struct view, ready_link)
		n += watcher_backlog(&v->w);
	return n;
}

/* True if the reader is to be given up. */
static bool conn_too_slow(struct acp_conn *c, uint64_t backlog)
{
	uint64_t now = clock_mono_ms(), still;

	/* a reader that takes something is not too slow, however much it asked for */
	if (!c->stalled_since || c->sent_bytes != c->sent_seen || backlog < CONN_BACKLOG_SOFT) {
		c->sent_seen = c->sent_bytes;
		c->stalled_since = now;
	}
	still = now - c->stalled_since;
	/* Three limits: much unsent and no progress for a while, the queue in memory, no progress for long. */
	return (backlog > c->srv->backlog_max && still > CONN_LAG_MS) ||
	       c->out_bytes > CONN_QUEUE_MAX || still > CONN_STALL_MS;
}

static void watch_readers(void *ctx)
{
	struct acp_server *srv = ctx;
	bool again = false;

	list_each(c, &srv->conns, struct acp_conn, link) {
		uint64_t backlog = c->phase == CONN_CLOSING ? 0 : conn_backlog(c);

		/* Without unsent output a reader cannot stall: its time starts with the next. */
		if (!backlog) {
			c->stalled_since = 0;
			continue;
		}
		again = true;
		if (conn_too_slow(c, backlog))
			conn_close(c, 1008, "Reader too slow");
	}
	/* Not armed while nothing is unsent: conn_dirty arms it. */
	if (again)
		loop_timer_set(srv->loop, &srv->watch_timer, WATCH_MS, watch_readers, srv);
}

void conn_dirty(struct acp_conn *c)
{
	if (c->phase == CONN_CLOSING)
		return;
	/* All connections share the timer. */
	if (!c->srv->watch_timer.due)
		loop_timer_set(c->srv->loop, &c->srv->watch_timer, WATCH_MS, watch_readers, c->srv);
	c->transport.dirty(c->transport.ctx);
}

/* --- out -------------------------------------------------------------------------------------------- */

void conn_queue(struct acp_conn *c, struct view *view, struct slice text)
{
	struct outgoing *o;

	if (c->phase == CONN_CLOSING)
		return;
	/* Before the message is added: one of any size passes if the queue is short. */
	if (c->out_bytes > CONN_QUEUE_MAX) {
		conn_close(c, 1008, "Reader too slow");
		return;
	}
	o = malloc(sizeof(*o) + text.n);
	if (!o)
		abort();
	*o = (struct outgoing){ .view = view, .n = text.n };
	/* The last event of now: those that follow must not delay the message. */
	o->barrier = view && view->w.session ? session_last_seq(view->w.session) : 0;
	memcpy(o->text, text.p, text.n);
	list_add_tail(&c->out, &o->link);
	c->out_bytes += text.n;
	conn_dirty(c);
}

void conn_notify(struct acp_conn *c, struct view *view, const char *method, struct slice params)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	rpc_put_notification(&b, method, params);
	conn_queue(c, view, buf_slice(&b));
}

bool conn_request(struct acp_conn *c, struct view *view, const char *method, struct slice params,
		  rpc_reply_fn fn, void *ctx, uint64_t tag)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	uint32_t id = rpc_calls_add(&c->requests, fn, ctx, tag);

	/* A closing connection queues nothing: acp_conn_free answers the call with NULL. */
	if (!id)
		return false;
	rpc_put_request(&b, id, method, params);
	conn_queue(c, view, buf_slice(&b));
	return true;
}

void conn_result(struct acp_conn *c, struct view *view, struct slice id, struct slice result)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	rpc_put_result(&b, id, result);
	conn_queue(c, view, buf_slice(&b));
}

void conn_error(struct acp_conn *c, struct view *view, struct slice id, const struct err *e,
		struct slice extra)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	/* not its text, which may quote what the client sent */
	log_info("acp", "request refused", "connection", c->transport.id, "reason", e->reason,
		 "field", e->field, "session", view ? view->session_id : "");
	rpc_put_error(&b, id, e, extra);
	conn_queue(c, view, buf_slice(&b));
}

void conn_withdraw(struct acp_conn *c, struct view *view, const void *ctx, uint64_t tag)
{
	uint32_t id = rpc_calls_find(&c->requests, ctx, tag);

	if (!id)
		return;
	/* Dropped first: an answer that crosses the cancellation finds no call. */
	rpc_calls_drop(&c->requests, id);
	conn_notify(c, view, "$/cancel_request",
		    slice_of(SHORT_TEXT(48, "{\"requestId\":%u}", id)));
}

void gap_put(struct buf *b, const char *session_id, const struct evlog_gap *g)
{
	struct jw w = JW(b);

	jw_object(&w, NULL, JW_STR("sessionId", session_id), JW_UINT("from", g->from),
		  JW_UINT("to", g->to), JW_STR("reason", g->reason));
}

/* --- calls ------------------------------------------------------------------------------------------ */

struct method_call *call_new(struct acp_conn *c, struct slice id)
{
	struct method_call *k = new0(struct method_call);

	k->conn = c;
	/* Copied: the text of the message is gone when the answer comes. */
	k->id = xstrndup(id.p, id.n);
	list_add_tail(&c->calls, &k->link);
	c->ncalls++;
	return k;
}

void call_unhook(struct method_call *k)
{
	if (!k->conn)
		return;
	list_del(&k->link);
	k->conn->ncalls--;
	k->conn = NULL;
	k->view = NULL;
}

void call_free(struct method_call *k)
{
	call_unhook(k);
	free_each(k->session_id, k->id, k);
}

void call_result(struct method_call *k, struct slice result)
{
	if (k->conn)
		conn_result(k->conn, k->view, slice_of(k->id), result);
	call_free(k);
}

void call_error(struct method_call *k, const struct err *e, struct slice extra)
{
	if (k->conn)
		conn_error(k->conn, k->view, slice_of(k->id), e, extra);
	call_free(k);
}

int call_started(struct method_call *k, int r)
{
	if (r < 0)
		call_free(k);
	return r;
}

void call_done(void *call, struct slice result, const struct err *e)
{
	if (e)
		call_error(call, e, SLICE_NONE);
	else
		call_result(call, result);
}

void call_done_empty(void *call, struct slice result _unused_, const struct err *e)
{
	call_done(call, SLICE("{}"), e);
}

void calls_drop_view(struct acp_conn *c, struct view *v, const struct err *e)
{
	list_each(k, &c->calls, struct method_call, link) {
		if (k->view != v)
			continue;
		conn_error(c, NULL, slice_of(k->id), e, SLICE_NONE);
		call_unhook(k);
	}
}

/* --- sessions --------------------------------------------------------------------------------------- */

int not_found(struct err *e, const char *session_id)
{
	err_set(e, -ENOENT, RPC_NOT_FOUND, "SESSION_NOT_FOUND",
		"no such session; session/list has those that exist");
	snprintf(e->session, sizeof(e->session), "%s", session_id);
	return -ENOENT;
}

struct view *view_find(struct acp_conn *c, const char *session_id)
{
	struct watcher *w = store_watcher(c->srv->store, session_id, c->no);

	return w ? container_of(w, struct view, w) : NULL;
}
