/*
 * acp_server.c - what all connections share, the life of a connection, the messages that come in, and the frames that go out
 * when the transport pumps: the queue of conn.c, each message behind its events, then the events of the sessions in turn.
 */
#include "acp/acp_internal.h"

#include "base/limits.h"
#include "base/log.h"
#include "json/jstr.h"

void acp_server_set(struct acp_server *srv, const struct acp_config *cfg)
{
	xstrset(&srv->default_harness, cfg->default_harness);
	srv->backlog_max = cfg->backlog_max;
}

struct acp_server *acp_server_new(struct loop *loop, struct session_store *store,
				  const struct acp_config *cfg)
{
	struct acp_server *srv = new0(struct acp_server);

	srv->loop = loop;
	srv->store = store;
	srv->harnesses = store_harnesses(store);
	acp_server_set(srv, cfg);
	srv->workspaces = xstrdup(cfg->workspaces);
	list_init(&srv->conns);
	srv->tokens = cfg->tokens;
	srv->life = cfg->life;
	if (srv->life)
		daemon_status_follow(srv);
	return srv;
}

struct acp_server *acp_server_free(struct acp_server *srv)
{
	if (!srv)
		return NULL;
	loop_timer_cancel(&srv->watch_timer);
	buf_done(&srv->status);
	buf_done(&srv->status_brief);
	free_each(srv->default_harness, srv->workspaces, srv);
	return NULL;
}

unsigned acp_server_count(const struct acp_server *srv)
{
	return srv->count;
}

const struct harness_def *acp_server_harness(const struct acp_server *srv, const char *id)
{
	return harness_table_find(srv->harnesses, id ? id : srv->default_harness);
}

void acp_server_resumed(struct acp_server *srv, uint64_t at, uint64_t gap_ms)
{
	/* Stored for connections that initialize later (conn_initialize). */
	srv->resumed_at = at;
	srv->resumed_gap = gap_ms;
	list_each(c, &srv->conns, struct acp_conn, link)
		if (c->phase & CONN_EITHER)
			conn_tell_resumed(c);
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

/* --- what goes out ------------------------------------------------------------------------------------ */

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
	list_drain(o, &p->conn->out, struct outgoing, link) {
		if (waits_for_events(o) && p->conn->phase == CONN_CLOSING)
			watcher_settle(&o->view->w);
		if (waits_for_events(o) && !pump_view(p, o->view, o->barrier))
			return false;
		p->waits = waits_for_events(o) && watcher_waits(&o->view->w);
		/* One call reads a bounded part of the journal: the rest follows in the next batch, and the answer behind it. */
		if (p->waits || (waits_for_events(o) && watcher_is_behind(&o->view->w)))
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
		if (watcher_is_behind(&v->w)) {
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

/* Nothing is waiting for this client. */
static bool acp_conn_drained(const struct acp_conn *c)
{
	if (!list_empty(&c->out) || c->status_due)
		return false;
	list_each(v, (struct list *)&c->ready, struct view, ready_link)
		if (watcher_is_behind(&v->w))
			return false;
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
	conn_drop_served(c);
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
	c->may_have_keys = false;
	feed_message(c, text, n);
	if (c->may_have_keys)
		explicit_bzero(text, n);
}
