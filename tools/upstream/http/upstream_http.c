/*
 * upstream_http.c - the connection state of an HTTP server: handshake, order of posts, sessions,
 * GET stream, end.
 *
 * Each post has a connection of its own, so the order is made here. While notifications/initialized
 * (`barrier`) or a new session is under way, other posts wait in the list. Every end passes
 * mcp_remote_wind_up, which closes the posts and sends DELETE for a session. A timer reports down,
 * after MCP_GOODBYE_MS at the latest.
 */
#include "tools/upstream/http/upstream_http.h"

#include "base/limits.h"
#include "base/log.h"
#include "tools/mcp/msg.h"
#include "tools/upstream/upstream_legacy.h"
#include "tools/upstream/http/http_post.h"

/* --- the end ---------------------------------------------------------------------------------------------- */

/* From a timer only: the owner may free the server in this event. */
static void notify_down(void *ctx)
{
	struct mcp_remote *h = ctx;
	struct err why = h->why;

	h->stopped = false;
	if (h->up.events->down)
		h->up.events->down(h->up.ctx, &why);
}

void upstream_http_said_goodbye(struct mcp_remote *h)
{
	if (h->stopped)
		loop_timer_set(h->up.loop, &h->down_timer, 0, notify_down, h);
}

/* Drops all that is under way. */
static void mcp_remote_abandon(struct mcp_remote *h)
{
	h->resolve = resolve_cancel(h->resolve);
	loop_task_cancel(&h->begin_task);
	loop_timer_cancel(&h->renew_timer);
	upstream_rpc_forget(&h->again);
	upstream_rpc_forget(&h->listing);
	h->renewing = false;
	h->barrier = h->stream = NULL;
	list_each(p, &h->posts, struct http_post, link)
		http_post_close(p);
}

static void mcp_remote_wind_up(struct mcp_remote *h, const struct err *why)
{
	/* Before upstream_end, which sets the state. */
	bool was_down = h->up.state == UPSTREAM_DOWN;

	mcp_remote_abandon(h);
	if (!was_down && !h->stopped) {
		h->why = *why;
		h->stopped = true;
		if (h->session)
			h->goodbye = http_post_goodbye(h);
		loop_timer_set(h->up.loop, &h->down_timer, h->session ? MCP_GOODBYE_MS : 0,
			       notify_down, h);
	}
	free(TAKE_PTR(h->session));
	upstream_end(&h->up, why);
}

static void mcp_remote_fail(struct mcp_remote *h, const char *reason, const char *how)
{
	struct err e;

	err_set(&e, -EPIPE, RPC_INTERNAL_ERROR, reason, "the MCP server \"%s\" %s", h->name, how);
	mcp_remote_wind_up(h, &e);
}

static struct mcp_remote *mcp_remote_of(struct upstream *u)
{
	return container_of(u, struct mcp_remote, up);
}

static void mcp_remote_on_refused(struct upstream *u, const struct err *why)
{
	struct mcp_remote *h = mcp_remote_of(u);
	struct err e = *why;

	err_wrap(&e, "the MCP server \"%s\"", h->name);
	mcp_remote_wind_up(h, &e);
}

void upstream_http_unreachable(struct mcp_remote *h, const char *why)
{
	struct err e;

	if (h->up.state == UPSTREAM_DOWN)
		return;
	err_set(&e, -ECONNREFUSED, RPC_INTERNAL_ERROR, "UNREACHABLE",
		"the MCP server \"%s\" cannot be reached at %s: %s", h->name, h->target.authority,
		why);
	mcp_remote_wind_up(h, &e);
}

/* --- sending ---------------------------------------------------------------------------------------------- */

/* True for what is sent even while all else waits. */
static bool mcp_remote_may_send(const struct mcp_remote *h, const struct http_post *p)
{
	if (http_post_is_method(p, "initialize") || p == h->barrier)
		return true;
	return !h->barrier && !h->renewing;
}

static void mcp_remote_flush(struct mcp_remote *h)
{
	list_each(p, &h->posts, struct http_post, link)
		if (p->waits && mcp_remote_may_send(h, p))
			http_post_send(p);
}

static struct http_post *find_post(struct mcp_remote *h, uint32_t id)
{
	list_each(p, &h->posts, struct http_post, link)
		if (p->id == id)
			return p;
	return NULL;
}

/* 1: the server has to be notified, too. */
static int cancel(struct mcp_remote *h, uint32_t id)
{
	struct http_post *p = find_post(h, id);
	bool sent = p && !p->waits;

	if (p)
		http_post_close(p);
	/* A modern request is cancelled by the end of its connection alone. */
	return sent && h->up.legacy;
}

static int mcp_remote_on_send(void *wire, const struct upstream_rpc_out *out)
{
	struct mcp_remote *h = wire;
	struct http_post *p;

	if (h->up.state == UPSTREAM_DOWN)
		return -EPIPE;
	if (out->kind == UPSTREAM_RPC_CANCEL && !cancel(h, out->id))
		return 0;
	/* Each post has a connection, so this also limits the descriptors. */
	if (h->nposts >= MCP_POSTS_MAX)
		return -E2BIG;
	p = http_post_new(h, out);
	/* The caller reports it as SERVER_STALLED. */
	if (p->message.failed) {
		http_post_close(p);
		return -E2BIG;
	}
	/* each goes on a connection of its own: the server must have this one before it gets any other */
	if (http_post_is_method(p, "notifications/initialized"))
		h->barrier = p;
	if (mcp_remote_may_send(h, p))
		http_post_send(p);
	return 0;
}

/* --- the GET stream, sessions ------------------------------------------------------------------------------ */

static void mcp_remote_open_stream(void *ctx)
{
	struct http_post *p = ctx;

	http_post_send(p);
}

static void mcp_remote_begin_stream(struct mcp_remote *h)
{
	if (!h->up.legacy || h->stream || h->no_stream)
		return;
	h->stream = http_post_new(h, NULL);
	http_post_send(h->stream);
}

/* The stream ended; the next one resumes it. */
static void stream_over(struct mcp_remote *h, struct http_post *old)
{
	struct http_post *p;
	uint64_t ms = MCP_STREAM_RETRY_MS;

	h->stream = NULL;
	/* MCP, Streamable HTTP: a server without this stream answers GET with 405. */
	if (old->status >= 400 && old->status < 500) {
		h->no_stream = old->status !=
			       404; /* 404: the session; the next request gets it, too */
		return;
	}
	if (!h->up.legacy)
		return;
	p = h->stream = http_post_new(h, NULL);
	/* The timer sends it, not mcp_remote_flush. */
	p->waits = false;
	p->sse.id = old->sse.id;
	p->sse.retry_ms = old->sse.retry_ms;
	/* The id moved to the new post. */
	old->sse.id = (struct buf){ 0 };
	/* A stream that delivered something is resumed soon, an idle one at growing intervals. */
	p->tries = old->got_event ? 0 : MIN(old->tries + 1, 6u);
	ms = MIN(ms << p->tries, (uint64_t)MCP_STREAM_RETRY_MAX_MS);
	loop_timer_set(h->up.loop, &p->timer, MAX(ms, p->sse.retry_ms), mcp_remote_open_stream, p);
}

void upstream_http_post_over(struct http_post *p)
{
	struct mcp_remote *h = p->h;

	if (p == h->stream) {
		stream_over(h, p);
	} else if (p == h->barrier) {
		h->barrier = NULL;
		mcp_remote_begin_stream(h);
		mcp_remote_flush(h);
	}
}

static void renewed(void *ctx, struct slice result, struct slice error)
{
	struct mcp_remote *h = ctx;

	loop_timer_cancel(&h->renew_timer);
	if (!result.n || error.n) {
		mcp_remote_fail(h, "SESSION_LOST",
				"forgot its session and does not begin a new one");
		return;
	}
	/* Before renewing ends: the notification becomes the barrier of the waiting posts. */
	upstream_rpc_notify(&h->up.rpc, "notifications/initialized", SLICE("{}"));
	h->renewing = false;
	if (h->up.legacy)
		legacy_renewed(h->up.legacy);
}

static void renew_over(void *ctx)
{
	mcp_remote_fail(ctx, "SESSION_LOST",
			"forgot its session and does not begin a new one in time");
}

/* The posts that get 404 wait together for one new session, and are sent again with it. */
void upstream_http_session_lost(struct mcp_remote *h, struct http_post *p)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	p->waits = true;
	if (h->renewing)
		return;
	h->renewing = true;
	free(TAKE_PTR(h->session));
	if (h->stream)
		http_post_close(TAKE_PTR(h->stream));
	log_info("mcp", "the server forgot its session; a new one is begun", "server", h->name);
	loop_timer_set(h->up.loop, &h->renew_timer, h->up.start_ms, renew_over, h);
	era_probe_put_initialize(&b);
	upstream_rpc_call(&h->up.rpc, &h->again, "initialize", buf_slice(&b));
}

/* --- headers that tools require ------------------------------------------------------------------------------ */

static void mcp_remote_on_listed(struct upstream *u, struct slice result)
{
	param_headers_learn(&mcp_remote_of(u)->param_headers, result);
}

static void list_tools(struct mcp_remote *h, struct jval cursor)
{
	_cleanup_(buf_done) struct buf params = { 0 }, member = { 0 }, b = { 0 };

	era_probe_put_discover(&params);
	if (cursor.type == J_STRING) {
		buf_puts(&member, "\"cursor\":");
		buf_add_slice(&member, cursor.raw);
	}
	mcp_object_merge(&b, buf_slice(&params), buf_slice(&member));
	upstream_rpc_call(&h->up.rpc, &h->listing, "tools/list", buf_slice(&b));
}

/* Also after an error: a call that lacks a header again reports the mismatch to its caller. */
static void got_list(void *ctx, struct slice result, struct slice error _unused_)
{
	struct mcp_remote *h = ctx;
	struct jval more = jobj_get(result, "nextCursor");

	param_headers_learn(&h->param_headers, result);
	if (more.type == J_STRING && ++h->pages < MCP_LIST_PAGES_MAX)
		list_tools(h, more);
	else
		mcp_remote_flush(h);
}

/* The tool list that is known is older than the server's. It is read again, all pages, and
 * then the call is sent once more. */
void upstream_http_headers_lacked(struct mcp_remote *h, struct http_post *p)
{
	p->waits = true;
	if (h->listing.id)
		return;
	h->pages = 0;
	list_tools(h, (struct jval){ J_NONE, SLICE_NONE });
}

/* --- interface -------------------------------------------------------------------------------------------- */

static void resolved(void *ctx, const struct sockaddr_storage *addresses, size_t n,
		     const char *error)
{
	struct mcp_remote *h = ctx;

	h->resolve = NULL;
	if (error) {
		upstream_http_unreachable(h, error);
		return;
	}
	/* All of them: one address elsewhere would be enough to leave this machine. */
	if (h->local_only && !addresses_are_local(addresses, n)) {
		mcp_remote_fail(h, "HOST_NOT_ALLOWED",
				"is not on this machine, which its configuration may not ask for");
		return;
	}
	h->naddresses = n;
	memcpy(h->addresses, addresses, n * sizeof(*addresses));
	upstream_begin(&h->up);
}

static void mcp_remote_begin(void *ctx)
{
	struct mcp_remote *h = ctx;

	upstream_begin(&h->up);
}

static int mcp_remote_start(struct upstream *u, struct err *e)
{
	struct mcp_remote *h = mcp_remote_of(u);

	if (h->up.state != UPSTREAM_DOWN || h->stopped)
		return err_set(e, -EALREADY, RPC_INTERNAL_ERROR, "SERVER_RUNNING",
			       "the MCP server \"%s\" is running", h->name);
	h->goodbye = http_exchange_close(h->goodbye);
	/* A server that did not offer the stream may have been updated. */
	h->no_stream = false;
	h->up.state = UPSTREAM_PROBING; /* calls wait from now on */
	if (h->fetcher)			/* acpd-fetch looks up the name */
		loop_defer(h->up.loop, &h->begin_task, mcp_remote_begin, h);
	else
		h->resolve = resolve_begin(h->up.loop, h->target.host, h->target.port, &h->as,
					   resolved, h);
	return 0;
}

static void mcp_remote_stop(struct upstream *u)
{
	mcp_remote_fail(mcp_remote_of(u), "SERVER_GONE", "was stopped");
}

static void mcp_remote_free(struct upstream *u)
{
	struct mcp_remote *h = mcp_remote_of(u);

	mcp_remote_abandon(h);
	loop_timer_cancel(&h->down_timer);
	http_exchange_close(h->goodbye);
	param_headers_done(&h->param_headers);
	upstream_done(&h->up);
	http_target_done(&h->target);
	free_each(h->session, h->name, h);
}

static const struct upstream_transport transport = {
	.start = mcp_remote_start,
	.stop = mcp_remote_stop,
	.free = mcp_remote_free,
	.refused = mcp_remote_on_refused,
	.listed = mcp_remote_on_listed,
};

struct upstream *mcp_remote_new(struct loop *loop, const struct mcp_remote_config *config,
				const struct mcp_server_events *events, void *ctx, struct err *e)
{
	struct mcp_remote *h = new0(struct mcp_remote);
	bool fetched;

	if (http_target_parse(&h->target, config->url, config->headers, e) < 0) {
		free(h);
		return NULL;
	}
	fetched = h->target.secure || config->fetched;
	if (fetched && !config->fetcher) {
		http_target_done(&h->target);
		free(h);
		err_field(e, "url", "TRANSPORT_UNSUPPORTED", "url: https is not supported here");
		return NULL;
	}
	h->fetcher = fetched ? config->fetcher : NULL;
	h->name = xstrdup(config->name);
	h->local_only = config->local_only;
	h->as = config->as;
	list_init(&h->posts);
	h->again = (struct upstream_rpc_request){ .reply = renewed, .ctx = h };
	h->listing = (struct upstream_rpc_request){ .reply = got_list, .ctx = h };
	param_headers_init(&h->param_headers);
	h->up = (struct upstream){
		.loop = loop,
		.name = h->name,
		.events = events,
		.ctx = ctx,
		.transport = &transport,
		.start_ms = config->start_ms ? config->start_ms : MCP_START_MS,
		.rpc = { .send = mcp_remote_on_send, .wire = h },
	};
	upstream_init(&h->up);
	return &h->up;
}
