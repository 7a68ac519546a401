/*
 * conn.c - a client's connection: what goes out and in which order, the calls that wait for an answer, and its life.
 *
 * Nothing is written from here: the transport pumps. Replies and requests wait in a queue, each behind the events of its
 * session up to the number that was last when it was queued (struct outgoing). So a client sees updates before the answer
 * of its prompt, a replay before the answer of its load, and a permission request after its tool call.
 */
#include "acp/acp_internal.h"

#include "base/limits.h"
#include "base/log.h"
#include "json/jstr.h"

#include <errno.h>
#include <stdio.h>

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
	char params[48];

	if (!id)
		return;
	/* Dropped first: an answer that crosses the cancellation finds no call. */
	rpc_calls_drop(&c->requests, id);
	snprintf(params, sizeof(params), "{\"requestId\":%u}", id);
	conn_notify(c, view, "$/cancel_request", slice_of(params));
}

static void outgoing_free(struct acp_conn *c, struct outgoing *o)
{
	c->out_bytes -= o->n;
	list_del(&o->link);
	free(o);
}

void gap_put(struct buf *b, const char *session_id, const struct evlog_gap *g)
{
	struct jw w = JW(b);

	jw_object(&w, NULL, JW_STR("sessionId", session_id), JW_UINT("from", g->from),
		  JW_UINT("to", g->to), JW_STR("reason", g->reason));
}

struct pump {
	struct acp_conn *conn;
	struct view *view;
	bool (*frame)(void *ctx, struct slice text);
	void *ctx;
	uint64_t limit; /* last seq that may go out now */
	bool full;
	bool waits; /* for the journal: the next message stands behind an event that is being written */
};

static bool pump_frame(struct pump *p, struct slice text)
{
	if (!p->frame(p->ctx, text)) {
		p->full = true;
		return false;
	}
	p->conn->sent_bytes += text.n;
	return true;
}

static bool pump_entry(void *ctx, const struct evlog_entry *e)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct pump *p = ctx;

	/* Behind the barrier, but not full: the message that waits goes out next. */
	if (e->seq > p->limit)
		return false;
	if (e->kind != UPDATE_CONFIG || (p->conn->client & CLIENT_BOOLEAN))
		return pump_frame(p, e->frame);
	config_filter_frame(&b, e->frame);
	return pump_frame(p, buf_slice(&b));
}

static bool pump_gap(void *ctx, const struct evlog_gap *g)
{
	_cleanup_(buf_done) struct buf b = { 0 }, params = { 0 };
	struct pump *p = ctx;

	/* ACP has no message for lost events. */
	if (!(p->conn->client & CLIENT_ACPD))
		return true;
	gap_put(&params, p->view->session_id, g);
	rpc_put_notification(&b, "_acpd/gap", buf_slice(&params));
	return pump_frame(p, buf_slice(&b));
}

/* Events of one session up to limit. False: the transport is full. */
static bool pump_view(struct pump *p, struct view *v, uint64_t limit)
{
	struct watcher_sink sink = { pump_entry, pump_gap, p };

	p->view = v;
	p->limit = limit;
	if (watcher_pump(&v->w, &sink) < 0) {
		log_error("acp", "a journal cannot be read back", "session", v->session_id);
		conn_close(p->conn, 1011, "Journal not readable");
		return false;
	}
	return !p->full;
}

/* One that reads slowly gets the newest only: nothing is kept for it. */
static bool pump_status(struct pump *p)
{
	const struct acp_server *srv = p->conn->srv;
	const struct buf *b = grant_limited(p->conn->transport.grant) ? &srv->status_brief :
									&srv->status;

	if (p->conn->status_due && !pump_frame(p, buf_slice(b)))
		return false;
	p->conn->status_due = false;
	return true;
}

static bool waits_for_events(const struct outgoing *o)
{
	return o->view && o->view->w.session && o->view->w.next <= o->barrier;
}

/* The queue, each message behind its events. */
static bool pump_queue(struct pump *p)
{
	while (!list_empty(&p->conn->out)) {
		struct outgoing *o = list_first(&p->conn->out, struct outgoing, link);

		if (waits_for_events(o) && p->conn->phase == CONN_CLOSING)
			watcher_settle(&o->view->w);
		if (waits_for_events(o) && !pump_view(p, o->view, o->barrier))
			return false;
		p->waits = waits_for_events(o) && watcher_waits(&o->view->w);
		/* One call reads a bounded part of the journal: the rest follows in the next batch, and the answer behind it. */
		if (p->waits || (waits_for_events(o) && watcher_behind(&o->view->w)))
			return false;
		if (!pump_frame(p, (struct slice){ o->text, o->n }))
			return false;
		outgoing_free(p->conn, o);
	}
	return true;
}

/* Also what cannot be read yet: a full disk holds it back. */
static bool has_more(const struct view *v)
{
	return v->w.session && v->w.next <= session_last_seq(v->w.session);
}

/* Each once. False: the transport is full. */
static bool pump_ready(struct pump *p)
{
	struct acp_conn *c = p->conn;
	uint64_t served = c->served;

	list_each(v, &c->ready, struct view, ready_link) {
		if (v->served > served)
			break;
		if (watcher_behind(&v->w)) {
			/* it is last the next time, so that a flood starves nobody */
			list_del(&v->ready_link);
			v->served = ++c->served;
			list_add_tail(&c->ready, &v->ready_link);
			if (!pump_view(p, v, UINT64_MAX))
				return false;
		}
		if (!has_more(v))
			list_del(&v->ready_link);
	}
	return true;
}

bool acp_conn_pump(struct acp_conn *c, bool (*frame)(void *ctx, struct slice text), void *ctx)
{
	struct pump p = { .conn = c, .frame = frame, .ctx = ctx };
	bool empty = pump_queue(&p) && pump_status(&p);

	conn_send_bodies(c);
	/* the journal wakes us when it is written */
	return !p.waits && (!empty || !pump_ready(&p) || !acp_conn_drained(c));
}

bool acp_conn_drained(const struct acp_conn *c)
{
	if (!list_empty(&c->out) || c->status_due)
		return false;
	list_each(v, (struct list *)&c->ready, struct view, ready_link)
		if (watcher_behind(&v->w))
			return false;
	return true;
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

/* The call has its answer, or nobody to give it to; its owner below still calls back once. */
static void call_unhook(struct method_call *k)
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

/* --- life ------------------------------------------------------------------------------------------- */

struct acp_conn *acp_conn_new(struct acp_server *srv, const struct acp_transport *t,
			      const char *harness)
{
	struct acp_conn *c = new0(struct acp_conn);

	c->srv = srv;
	c->transport = *t;
	/* Never reused: watchers and prompts name their connection by it. */
	c->no = ++srv->last_conn;
	c->phase = CONN_NEW;
	c->harness = acp_server_harness(srv, harness);
	list_init(&c->out);
	list_init(&c->views);
	list_init(&c->ready);
	list_init(&c->calls);
	list_init(&c->ports);
	list_init(&c->takers);
	rpc_calls_init(&c->requests);
	list_add_tail(&srv->conns, &c->link);
	srv->count++;
	return c;
}

/* The connection is closing: nothing of it is told to the client. */
static void leave_sessions(struct acp_conn *c)
{
	while (!list_empty(&c->views))
		view_free(list_first(&c->views, struct view, link));
	list_each(k, &c->calls, struct method_call, link)
		call_unhook(k);
	conn_drop_ports(c);
	conn_drop_takers(c);
}

struct acp_conn *acp_conn_free(struct acp_conn *c)
{
	if (!c)
		return NULL;
	/* first: what ends below would be told to a client that is gone (conn_queue) */
	c->phase = CONN_CLOSING;
	leave_sessions(c);
	/* After the views and ports: the calls that they dropped get no callback. */
	rpc_calls_done(&c->requests);
	while (!list_empty(&c->out))
		outgoing_free(c, list_first(&c->out, struct outgoing, link));
	list_del(&c->link);
	c->srv->count--;
	conn_drop_provider(c);
	free_each(c->auth_method, c);
	return NULL;
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

void acp_conn_cut(struct acp_conn *c, const char *reason)
{
	/* Closed first: what the sessions send when they are left is not queued any more. */
	conn_close(c, 1008, reason);
	leave_sessions(c);
}

/* Spans of the message stay what they are. An answer to a request of ours is told of where it is taken. */
static void repair_message(struct acp_conn *c, char *text, size_t n, const struct rpc_msg *m)
{
	_cleanup_(freep) char *id = NULL;
	struct view *v = NULL;

	c->repaired = rpc_repair_halves(text, n, m);
	if (jstr_decode(jobj_get(m->params, "sessionId"), RPC_ID_MAX, &id) == 0)
		v = view_find(c, id);
	if (v && v->w.session)
		session_text_repaired(v->w.session, TEXT_OF_CLIENT, c->repaired);
}

static void feed_message(struct acp_conn *c, char *text, size_t n)
{
	struct rpc_msg m;
	struct err e = { 0 };
	enum rpc_parse_result parsed = rpc_parse((struct slice){ text, n }, &m, &e);

	c->repaired = 0;
	if (m.repair && parsed == RPC_PARSED)
		repair_message(c, text, n, &m);
	switch (parsed) {
	case RPC_PARSED:
		conn_dispatch(c, &m);
		break;
	case RPC_E_ANSWER:
		conn_error(c, NULL, m.id, &e, SLICE_NONE);
		break;
	case RPC_E_ID_TOO_LONG:
		conn_close(c, 1008, "Request id too long");
		break;
	case RPC_E_IGNORE:
		break;
	}
}

/* Open requests are failed first: their answers go out before the close frame. */
static void conn_shutdown(struct acp_conn *c)
{
	struct err e;

	err_set(&e, -ESHUTDOWN, RPC_INTERNAL_ERROR, "SHUTTING_DOWN", "the daemon is shutting down");
	list_each(k, &c->calls, struct method_call, link) {
		conn_error(c, k->view, slice_of(k->id), &e, SLICE_NONE);
		call_unhook(k);
	}
	conn_close(c, 1001, "Server shutting down");
}

void acp_server_shutdown(struct acp_server *srv)
{
	list_each(c, &srv->conns, struct acp_conn, link)
		conn_shutdown(c);
}

/* Line breaks can only be white space between tokens, or the JSON is not valid; but raw spans go on to a harness that
 * reads lines. */
static void flatten_lines(char *text, size_t n)
{
	if (!memchr(text, '\n', n) && !memchr(text, '\r', n))
		return;
	for (size_t i = 0; i < n; i++)
		if (text[i] == '\n' || text[i] == '\r')
			text[i] = ' ';
}

void acp_conn_feed(struct acp_conn *c, char *text, size_t n)
{
	if (c->phase == CONN_CLOSING)
		return;
	flatten_lines(text, n);
	c->wipe = false;
	feed_message(c, text, n);
	if (c->wipe)
		explicit_bzero(text, n);
}
