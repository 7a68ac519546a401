/*
 * mcp_sessions.c - what a posted message leads to, and the sessions of legacy clients with their GET streams.
 *
 * A session belongs to the token that began it, and to one backend: with another of either it does not exist. It ends by
 * DELETE, by its token, by silence, or for a newer one that needs its place; only a session without open calls and streams may be
 * ended for that. The list of sessions is in the order of use, so the first unused one is the oldest.
 */
#include "http/mcp/mcp_http_internal.h"

#include "base/os/file.h"
#include "base/limits.h"

/* --- streams that a GET opened -------------------------------------------------------------------------- */

struct mcp_listener {
	struct mcp_events events;
	struct list link;
	struct mcp_session *session; /* NULL: ended, or this one was too slow */
};

static void listener_leave(struct mcp_listener *l)
{
	if (!l->session)
		return;
	list_del(&l->link);
	l->session->nlisteners--;
	mcp_session_touch(l->session);
	l->session = NULL;
}

static void on_listener_gone(struct mcp_events *s)
{
	struct mcp_listener *l = container_of(s, struct mcp_listener, events);

	listener_leave(l);
	mcp_events_done(&l->events);
	free(l);
}

/* Sends to the newest; one that is too slow is replaced by the one before. Without any, the message is lost, as MCP
 * allows. */
static void tell_listener(struct mcp_session *s, struct slice message)
{
	while (!list_empty(&s->listeners)) {
		struct mcp_listener *l = list_entry(s->listeners.prev, struct mcp_listener, link);

		if (mcp_events_put(&l->events, message, false))
			return;
		listener_leave(l);
	}
}

void mcp_session_listen(struct mcp_session *s, struct http_reply *ret)
{
	struct mcp_listener *l = new0(struct mcp_listener);

	if (s->nlisteners == MCP_HTTP_LISTENERS_MAX) {
		struct mcp_listener *oldest = list_first(&s->listeners, struct mcp_listener, link);

		mcp_events_end(&oldest->events);
		listener_leave(oldest);
	}
	l->session = s;
	list_add_tail(&s->listeners, &l->link);
	s->nlisteners++;
	mcp_session_touch(s);
	mcp_events_init(&l->events, s->m->loop, on_listener_gone);
	mcp_events_reply(&l->events, ret);
}

/* --- sessions ------------------------------------------------------------------------------------------- */

/* Ids are compared as raw JSON: 1 and "1" are different requests. */
static struct mcp_exchange *find_exchange(struct mcp_session *s, struct slice id)
{
	list_each(x, &s->exchanges, struct mcp_exchange, link)
		if (x->id && slice_is(id, x->id))
			return x;
	return NULL;
}

static void on_session_message(void *ctx, struct slice message, struct slice request, bool last)
{
	struct mcp_session *s = ctx;
	struct mcp_exchange *x = request.n ? find_exchange(s, request) : NULL;

	if (x)
		mcp_exchange_take(x, message, last);
	else if (!request.n && !last)
		tell_listener(s, message);
	/* An error without an id belongs to no request: it answers the POST that is being fed. */
	else if (!request.n && s->fed)
		mcp_exchange_answer(s->fed, 400, message);
}

static void on_mcp_session_cancelled(void *ctx, struct slice request)
{
	struct mcp_exchange *x = find_exchange(ctx, request);

	if (x)
		mcp_exchange_drop(x);
}

static const struct mcp_front_ops session_ops = { on_session_message, on_mcp_session_cancelled };

static bool unused(const struct mcp_session *s)
{
	return list_empty(&s->exchanges) && list_empty(&s->listeners);
}

static void on_mcp_session_idle(void *ctx)
{
	mcp_session_end(ctx, "SESSION_EXPIRED", "the session expired");
}

void mcp_session_touch(struct mcp_session *s)
{
	list_del(&s->link);
	list_add_tail(&s->m->sessions, &s->link);
	/* A session with open calls or streams does not expire. */
	if (unused(s))
		loop_timer_set(s->m->loop, &s->idle, MCP_HTTP_SESSION_IDLE_MS, on_mcp_session_idle,
			       s);
	else
		loop_timer_cancel(&s->idle);
}

static void on_mcp_session_end(void *ctx)
{
	mcp_session_end(ctx, "INITIALIZE_FAILED", "initialize failed");
}

/* May be called inside its front. */
void mcp_session_settled(struct mcp_session *s, struct mcp_exchange *x)
{
	mcp_session_touch(s);
	if (!x->failed)
		return;
	/* A client must not get the id of a session that ends with this answer. */
	x->began[0] = '\0';
	loop_defer(s->m->loop, &s->end, on_mcp_session_end, s);
}

void mcp_session_end(struct mcp_session *s, const char *reason, const char *text)
{
	struct err e;

	err_set(&e, -ENOENT, RPC_INVALID_REQUEST, reason, "%s", text);
	list_each(x, &s->exchanges, struct mcp_exchange, link)
		mcp_exchange_fail(x, 404, &e, SLICE_NONE);
	list_each(l, &s->listeners, struct mcp_listener, link) {
		mcp_events_end(&l->events);
		listener_leave(l);
	}
	/* after the answers, which set both: see mcp_session_settled */
	loop_timer_cancel(&s->idle);
	loop_task_cancel(&s->end);
	list_del(&s->link);
	s->m->nsessions--;
	mcp_front_free(s->front);
	grant_let_go(&s->hold);
	free(s);
}

static unsigned sessions_of(const struct mcp_http *m, const struct grant *g)
{
	unsigned n = 0;

	list_each(s, (struct list *)&m->sessions, struct mcp_session, link)
		n += s->hold.grant == g;
	return n;
}

/* Room for one more: ends the idle one that was used least recently. A minted token has a share of its own, and ends no
 * session of others within it. */
static bool mcp_session_make_room(struct mcp_http *m, const struct grant *g)
{
	bool own = grant_minted(g) && sessions_of(m, g) >= TOKEN_MCP_SESSIONS_MAX;

	if (!own && m->nsessions < MCP_HTTP_SESSIONS_MAX)
		return true;
	list_each(s, &m->sessions, struct mcp_session, link) {
		if (!unused(s) || (grant_minted(g) && s->hold.grant != g))
			continue;
		mcp_session_end(s, "SESSION_EXPIRED", "another session needs the room");
		return true;
	}
	return false;
}

static void on_mcp_session_cut(void *ctx, const char *why)
{
	mcp_session_end(ctx, "TOKEN_OVER", why);
}

static struct mcp_session *mcp_session_new(struct mcp_http *m, struct mcp_backend *b,
					   const struct grant *g)
{
	struct mcp_session *s = new0(struct mcp_session);

	s->m = m;
	s->backend = b;
	grant_keep(&s->hold, g, on_mcp_session_cut, s);
	random_hex(s->id, MCP_SESSION_ID_BYTES);
	list_init(&s->exchanges);
	list_init(&s->listeners);
	list_add_tail(&m->sessions, &s->link);
	m->nsessions++;
	s->front = mcp_front_new(m->loop, b, &session_ops, s);
	return s;
}

struct mcp_session *mcp_session_find(struct mcp_http *m, const struct mcp_backend *b,
				     const struct grant *g, struct slice id, int *status,
				     struct err *e)
{
	/* As MCP specifies: 400 for a missing id, and 404 makes the client initialize again. */
	*status = id.n ? 404 : 400;
	if (!id.n) {
		err_field(e, "Mcp-Session-Id", "SESSION_REQUIRED",
			  "the header Mcp-Session-Id is missing: initialize first");
		e->rpc = RPC_INVALID_REQUEST;
		return NULL;
	}
	list_each(s, &m->sessions, struct mcp_session, link)
		if (s->backend == b && s->hold.grant == g && slice_is(id, s->id))
			return s;
	err_set(e, -ENOENT, RPC_INVALID_REQUEST, "SESSION_NOT_FOUND",
		"there is no such MCP session: initialize again");
	return NULL;
}

/* --- what a POST brought -------------------------------------------------------------------------------- */

static void mcp_session_feed(struct mcp_exchange *x, struct mcp_session *s)
{
	s->fed = x;
	mcp_front_feed(s->front, buf_slice(&x->in));
	s->fed = NULL;
}

static void mcp_post_refused(struct mcp_exchange *x, const struct mcp_post *p)
{
	mcp_exchange_fail(x, p->status, &p->e, buf_slice(&p->extra));
}

static void on_modern_message(void *ctx, struct slice message, struct slice request, bool last)
{
	if (request.n || !last)
		mcp_exchange_take(ctx, message, last);
	else
		mcp_exchange_answer(ctx, 400, message);
}

static const struct mcp_front_ops modern_ops = { on_modern_message, NULL };

static void modern(struct mcp_exchange *x, const struct mcp_post *p _unused_)
{
	x->front = mcp_front_new(x->m->loop, x->backend, &modern_ops, x);
	mcp_exchange_open(x, NULL);
	mcp_front_feed(x->front, buf_slice(&x->in));
}

static void modern_notice(struct mcp_exchange *x, const struct mcp_post *p _unused_)
{
	mcp_exchange_accept(x, 202);
}

static void initialize(struct mcp_exchange *x, const struct mcp_post *p _unused_)
{
	struct mcp_session *s;
	struct err e = { .rpc = RPC_INVALID_REQUEST };

	if (x->session_id) {
		err_field(&e, "Mcp-Session-Id", "ALREADY_INITIALIZED",
			  "initialize begins a session, and goes without Mcp-Session-Id");
		e.rpc = RPC_INVALID_REQUEST;
		mcp_exchange_fail(x, 400, &e, SLICE_NONE);
		return;
	}
	if (!mcp_session_make_room(x->m, x->grant)) {
		err_set(&e, -EBUSY, RPC_INTERNAL_ERROR, "TOO_MANY_SESSIONS",
			"the limit of MCP sessions is reached");
		mcp_exchange_fail(x, 503, &e, SLICE_NONE);
		return;
	}
	s = mcp_session_new(x->m, x->backend, x->grant);
	x->is_initialize = true;
	memcpy(x->began, s->id, sizeof(s->id));
	/* before it is fed: the front may answer at once, and finds the exchange by its session */
	mcp_exchange_open(x, s);
	mcp_session_feed(x, s);
}

/* The session that it belongs to; NULL: answered. */
static struct mcp_session *mcp_post_session(struct mcp_exchange *x)
{
	struct slice version = slice_of(x->version);
	struct mcp_session *s;
	struct err e;
	int status;

	s = mcp_session_find(x->m, x->backend, x->grant, slice_of(x->session_id), &status, &e);
	if (s && !mcp_legacy_version_ok(version)) {
		status = 400;
		err_field(&e, "MCP-Protocol-Version", "PROTOCOL_VERSION_UNSUPPORTED",
			  "this protocol version is not served here");
		s = NULL;
	}
	if (!s)
		mcp_exchange_fail(x, status, &e, SLICE_NONE);
	return s;
}

static void request(struct mcp_exchange *x, const struct mcp_post *p _unused_)
{
	struct mcp_session *s = mcp_post_session(x);

	if (!s)
		return;
	mcp_exchange_open(x, s);
	mcp_session_feed(x, s);
}

static void mcp_post_other(struct mcp_exchange *x, const struct mcp_post *p _unused_)
{
	struct mcp_session *s = mcp_post_session(x);

	if (!s)
		return;
	mcp_session_feed(x, s);
	mcp_session_touch(s);
	/* else the front has refused it: on_session_message */
	if (x->state == EXCHANGE_BODY)
		mcp_exchange_accept(x, 202);
}

void mcp_post(struct mcp_exchange *x, const struct mcp_post *post)
{
	static void (*const rows[])(struct mcp_exchange * x, const struct mcp_post *p) = {
		[MCP_POST_REFUSED] = mcp_post_refused,
		[MCP_POST_MODERN] = modern,
		[MCP_POST_MODERN_NOTICE] = modern_notice,
		[MCP_POST_INITIALIZE] = initialize,
		[MCP_POST_REQUEST] = request,
		[MCP_POST_OTHER] = mcp_post_other,
	};

	rows[post->kind](x, post);
}
