/*
 * socket_wait.c - decides when libwebsockets runs: in passes over all sockets, or for one socket
 * alone.
 *
 * The poll(2) of lws scans every connection for each message; epoll reports the active ones only.
 * Busy sockets are edge-triggered. An edge, or a call to lws, requests passes until PASSES in a row
 * call nothing. Sockets at rest are level-triggered. Invariant: at rest, lws stores no unsent or
 * unread bytes of a socket; otherwise no edge would report them and the connection would hang.
 */
#include "net/socket_wait.h"

#include "base/util.h"
#include "net/ws.h"

#include <poll.h>
#include <sys/epoll.h>

#define PASSES                                                                                     \
	2 /* in one, lws may do something of its own, such as the end of a write, and have the next thing ready then */
#define PASS_EACH_MS 1000
#define EDGES (EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET)

/* --- the set ------------------------------------------------------------------------------------------------ */

/* They are served after the events of the loop. */
static void on_socket_ready(void *ctx, uint32_t events _unused_)
{
	struct socket_wait *w = ctx;

	w->ready = true;
}

int socket_wait_open(struct net_server *n)
{
	struct socket_wait *w = &n->sockets;

	w->io = (struct loop_io){ .fd = epoll_create1(EPOLL_CLOEXEC),
				  .fn = on_socket_ready,
				  .ctx = w };
	if (w->io.fd < 0)
		return -errno;
	list_init(&w->busy);
	w->passes = PASSES;
	return loop_io_set(n->loop, &w->io, EPOLLIN);
}

void socket_wait_close(struct net_server *n)
{
	struct socket_wait *w = &n->sockets;

	loop_timer_cancel(&w->again);
	if (!w->io.fn)
		return;
	loop_io_close(n->loop, &w->io);
}

static void on_socket_again(void *ctx)
{
	socket_wait_asked(ctx);
}

void socket_wait_asked(struct net_server *n)
{
	n->sockets.passes = PASSES;
}

void socket_wait_called(struct net_server *n, enum lws_callback_reasons reason, int answer)
{
	bool message = reason == LWS_CALLBACK_RECEIVE || reason == LWS_CALLBACK_RECEIVE_PONG ||
		       reason == LWS_CALLBACK_SERVER_WRITEABLE;

	/* Debian 13's tells of each change of its own set of sockets */
	if (reason >= LWS_CALLBACK_ADD_POLL_FD && reason <= LWS_CALLBACK_UNLOCK_POLL)
		return;
	/* A callback that is not about a message, or whose answer closes the connection, leaves lws with work
	 * of its own: serve_one then requests passes. */
	n->sockets.called = true;
	n->sockets.changed |= !message || answer;
}

static void asked(struct lws *wsi)
{
	socket_wait_asked(lws_context_user(lws_get_context(wsi)));
}

void socket_set_timeout(struct lws *wsi, enum pending_timeout reason, int secs)
{
	lws_set_timeout(wsi, reason, secs);
	asked(wsi);
}

void socket_ask_writeable(struct lws *wsi)
{
	lws_callback_on_writable(wsi);
	asked(wsi);
}

void socket_read(struct lws *wsi, bool on)
{
	lws_rx_flow_control(wsi, on);
	asked(wsi);
}

/* --- the sockets -------------------------------------------------------------------------------------------- */

static int socket_watch_set(struct socket_watch *w, int op, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = w };

	return epoll_ctl(w->net->sockets.io.fd, op, lws_get_socket_fd(w->wsi), &ev) < 0 ? -errno :
											  0;
}

int socket_watch_begin(struct net_server *n, struct lws *wsi, struct socket_watch *w)
{
	int r;

	*w = (struct socket_watch){ .net = n, .wsi = wsi };
	list_init(&w->busy);
	r = socket_watch_set(w, EPOLL_CTL_ADD, EDGES);
	if (r < 0)
		w->net = NULL;
	else
		list_add_tail(&n->sockets.busy, &w->busy);
	socket_wait_asked(n);
	return r;
}

void socket_watch_end(struct socket_watch *w)
{
	struct socket_wait *all = w->net ? &w->net->sockets : NULL;

	if (!all)
		return;
	/* An earlier socket of the running batch can destroy this one: serve_batch must not follow the pointer. */
	for (size_t i = 0; i < SOCKET_BATCH; i++)
		if (all->batch[i] == w)
			all->batch[i] = NULL;
	list_del(&w->busy);
	socket_watch_set(w, EPOLL_CTL_DEL,
			 0); /* if it is closed already, it is in no set any more */
	w->net = NULL;
}

static bool socket_is_at_rest(const struct socket_watch *w)
{
	return list_empty(&w->busy);
}

void socket_watch_rest(struct socket_watch *w, bool rests)
{
	if (!w->net || socket_is_at_rest(w) == rests || w->leaves)
		return;
	list_del(&w->busy);
	if (!rests)
		list_add_tail(&w->net->sockets.busy, &w->busy);
	socket_watch_set(w, EPOLL_CTL_MOD, rests ? EPOLLIN | EPOLLRDHUP : EDGES);
	socket_wait_asked(w->net);
}

/* --- serving them ------------------------------------------------------------------------------------------- */

/* A socket that never was full gives no edge when it can take the rest of a message. poll(2) makes it give one, if not. */
static bool takes_more(const struct socket_watch *w)
{
	struct pollfd p = { .fd = lws_get_socket_fd(w->wsi), .events = POLLOUT };

	return lws_partial_buffered(w->wsi) && poll(&p, 1, 0) > 0;
}

static bool any_takes_more(struct socket_wait *all)
{
	list_each(w, &all->busy, struct socket_watch, busy)
		if (takes_more(w))
			return true;
	return false;
}

static int socket_wait_pass(struct net_server *n)
{
	struct socket_wait *w = &n->sockets;

	w->called = false;
	/* A negative timeout is the only one with which lws does not wait (since 3.2 it ignores the others). */
	if (lws_service(n->context, -1) < 0)
		return -1;
	w->passes = w->called ? PASSES : w->passes - 1;
	if (!w->passes && any_takes_more(w))
		w->passes = 1;
	if (!list_empty(&w->busy) && !w->again.due)
		loop_timer_set(n->loop, &w->again, PASS_EACH_MS, on_socket_again, n);
	return 0;
}

/* Asked with a time of 0 or more, lws 4.3 also answers 0 while a timer of its own is due within a millisecond. */
bool socket_wait_has_stored(struct lws_context *context)
{
	return lws_service_adjust_timeout(context, -1, 0) == 0;
}

static bool left_something(const struct socket_watch *w)
{
	return lws_partial_buffered(w->wsi) || socket_wait_has_stored(w->net->context);
}

static bool serve_for(struct net_server *n, int fd, short events)
{
	struct lws_pollfd p = { .fd = fd, .events = POLLIN | POLLOUT, .revents = events };

	return lws_service_fd(n->context, &p) == 0;
}

/* lws asks to write without telling anybody, so it is told each time that it may. False: it is being closed. */
static bool serve_well(struct net_server *n, struct socket_watch **w, uint32_t events)
{
	int fd = lws_get_socket_fd((*w)->wsi);

	n->sockets.changed = false;
	return serve_for(n, fd, (short)(events & (EPOLLIN | EPOLLERR | EPOLLHUP))) && *w &&
	       serve_for(n, fd, POLLOUT) && *w && !n->sockets.changed;
}

static void serve_one(struct net_server *n, struct socket_watch **w, uint32_t events)
{
	bool well = serve_well(n, w, events);

	if (!well)
		socket_wait_asked(n);
	if (!*w || (well && !left_something(*w)))
		return;
	socket_watch_rest(*w, false);
	(*w)->leaves = !well;
}

static void serve_batch(struct net_server *n)
{
	struct epoll_event ev[SOCKET_BATCH];
	struct socket_watch **batch = n->sockets.batch;
	int got = n->sockets.ready ? epoll_wait(n->sockets.io.fd, ev, SOCKET_BATCH, 0) : 0;

	n->sockets.ready = false;
	for (int i = 0; i < got; i++)
		batch[i] = ev[i].data.ptr;
	/* Copied before the first is served, so that socket_watch_end can clear the entry of one that is
	 * destroyed. */
	for (int i = 0; i < got; i++) {
		if (batch[i] && socket_is_at_rest(batch[i]))
			serve_one(n, &batch[i], ev[i].events);
		else
			socket_wait_asked(n);
		batch[i] = NULL;
	}
}

/* What was deferred in a pass is done before the loop handles anything else: net_server_run. */
int socket_wait_turn(struct net_server *n)
{
	(n->sockets.passes ? loop_dispatch : loop_wait)(n->loop);
	serve_batch(n);
	return n->sockets.passes ? socket_wait_pass(n) : 0;
}
