/*
 * view.c - the sessions that are active on a connection, and the questions put to its client.
 *
 * A connection has one view of a session: a cursor in its event log (struct watcher), from which acp_server.c sends. Views that may
 * have events are in conn->ready, in the order in which they were last served, so that a session with a flood of events
 * starves no other. A question that the client has not answered when its view ends stays open for the next driver.
 */
#include "acp/acp_internal.h"

struct view *view_need(struct acp_conn *c, const char *session_id, struct err *e)
{
	struct view *v = view_find(c, session_id);

	if (v && !v->w.observes && session_is_open(v->w.session))
		return v;
	if (v && v->w.session && session_refuse_imported(v->w.session, e) < 0)
		return NULL;
	not_found(e, session_id);
	/* A load would help here, so the reason is another one. */
	if (store_find(c->srv->store, session_id)) {
		snprintf(e->reason, sizeof(e->reason), "SESSION_NOT_ACTIVE");
		snprintf(e->msg, sizeof(e->msg),
			 "the session is not active on this connection; call session/load first");
	}
	return NULL;
}

/* Its place is nearly always at one of the ends. */
static void view_ready(struct view *v)
{
	struct list *ready = &v->conn->ready, *at = ready;

	/* Its place depends on `served`, which only conn.c changes, together with the place. */
	if (!list_empty(&v->ready_link))
		return;
	if (!list_empty(ready) && list_first(ready, struct view, ready_link)->served > v->served)
		at = ready->next;
	while (at != ready->next &&
	       list_entry(at->prev, struct view, ready_link)->served > v->served)
		at = at->prev;
	list_add_tail(at, &v->ready_link);
}

static void on_view_wake(void *ctx)
{
	struct view *v = ctx;

	view_ready(v);
	conn_dirty(v->conn);
}

/* --- questions ------------------------------------------------------------------------------------- */

static void on_ask_reply(void *ctx, uint64_t tag, const struct rpc_msg *m)
{
	struct view *v = ctx;
	struct session_question *a = (struct session_question *)(uintptr_t)tag;

	if (!m || !v->w.session)
		return; /* the question stays open and goes to the next driver */
	session_text_repaired(v->w.session, TEXT_OF_CLIENT, v->conn->repaired);
	/* The question is valid: one that ended has been withdrawn (on_view_unask). */
	session_answer(v->w.session, a, m->error.n ? SLICE_NONE : m->result);
}

static void on_view_ask(void *ctx, struct session_question *a)
{
	const char *method = question_is_elicitation(a) ? "elicitation/create" :
							  "session/request_permission";
	JW_BUF(w, p);
	struct view *v = ctx;

	jw_obj(&w, NULL);
	jw_str(&w, "sessionId", v->session_id);
	jw_members(&w, question_params(a), NULL);
	jw_end_obj(&w);
	/* Too many requests are open: the same as an error of the client. */
	if (!conn_request(v->conn, v, method, buf_slice(&p), on_ask_reply, v, (uintptr_t)a))
		session_answer(v->w.session, a, SLICE_NONE);
}

static void on_view_unask(void *ctx, struct session_question *a)
{
	struct view *v = ctx;

	conn_withdraw(v->conn, v, v, (uintptr_t)a);
}

/* --- fencing --------------------------------------------------------------------------------------- */

static void notify_detached(struct view *v, struct view *behind, const char *reason)
{
	JW_BUF(w, b);

	if (!(v->conn->client & CLIENT_ACPD))
		return;
	jw_object(&w, NULL, JW_STR("sessionId", v->session_id), JW_STR("reason", reason));
	conn_notify(v->conn, behind, "_acpd/detached", buf_slice(&b));
}

static void on_view_detached(void *ctx, const char *reason)
{
	struct view *v = ctx;
	struct err e;

	not_found(&e, v->session_id);
	snprintf(e.reason, sizeof(e.reason), "DETACHED");
	snprintf(e.msg, sizeof(e.msg), "The session is no longer active on this connection");
	/* Before view_free, which makes the calls forget their view: nobody would answer them. */
	calls_drop_view(v->conn, v, &e);
	conn_leave_models(v->conn, v->session_id);
	notify_detached(v, NULL, reason);
	view_free(v);
}

/* The view stays, so that what the session said last still goes out in order. */
static void on_view_closed(void *ctx)
{
	struct view *v = ctx;

	notify_detached(v, v, "closed");
}

static const struct watcher_ops watcher_ops = { on_view_wake, on_view_ask, on_view_unask,
						on_view_detached, on_view_closed };

/* There is one for each session. */
static struct view *view_make(struct acp_conn *c, struct session *s)
{
	struct view *v = view_find(c, session_id(s));

	if (!v) {
		v = new0(struct view);
		v->conn = c;
		v->session_id = xstrdup(session_id(s));
		v->w = (struct watcher){ .ops = &watcher_ops, .ctx = v, .origin = c->no };
		/* A new view counts as just served: sessions that are opened in a loop must not overtake others. */
		v->served = ++c->served;
		list_init(&v->ready_link);
		list_add_tail(&c->views, &v->link);
	}
	v->w.client = c->client;
	return v;
}

struct view *view_open(struct acp_conn *c, struct session *s, uint64_t from)
{
	struct view *v = view_make(c, s);

	watcher_attach(&v->w, s, from);
	view_ready(v);
	return v;
}

/* What the connection had of the session as its driver it gives back. */
struct view *view_observe(struct acp_conn *c, struct session *s, uint64_t from)
{
	struct view *v = view_make(c, s);
	struct err e;

	if (v->w.session && !v->w.observes) {
		not_found(&e, v->session_id);
		snprintf(e.reason, sizeof(e.reason), "DETACHED");
		calls_drop_view(c, v, &e);
	}
	conn_leave_tools(c, s);
	conn_leave_models(c, v->session_id);
	watcher_observe(&v->w, s, from);
	view_ready(v);
	return v;
}

static void forget_view(struct acp_conn *c, struct view *v)
{
	/* The messages stay, without a barrier: the events before them are not sent any more. */
	list_each(o, &c->out, struct outgoing, link)
		if (o->view == v)
			o->view = NULL;
	list_each(k, &c->calls, struct method_call, link)
		if (k->view == v)
			k->view = NULL;
	/* Without a callback: the questions stay open for the next driver. */
	rpc_calls_drop_ctx(&c->requests, v);
}

void view_free(struct view *v)
{
	watcher_detach(&v->w);
	forget_view(v->conn, v);
	list_del(&v->link);
	list_del(&v->ready_link);
	free_each(v->session_id, v);
}
