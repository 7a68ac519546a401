/*
 * http_exchange.c - one HTTP/1.1 request on a TCP connection of its own: connect, send, head, body.
 *
 * Sockets belong to the given user (struct socket_user). Each address has MCP_CONNECT_MS. The answer is
 * read while the request is sent, because a server may refuse early. An owner may close in any
 * callback: the state is checked after each one, and the memory is freed at the end of the turn. A
 * body without framing ends with the connection.
 */
#include "tools/upstream/http/http_exchange.h"

#include "base/http/http_message.h"
#include "base/limits.h"
#include "base/util.h"
#include "proc/users/agent_user.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

bool socket_user_enter(const struct socket_user *as)
{
	return !as->switch_user || fs_user_enter(as->uid, as->gid);
}

void socket_user_leave(const struct socket_user *as)
{
	if (as->switch_user)
		fs_user_leave();
}

/* socket(2) as that user; -1 and errno. */
static int socket_user_open(const struct socket_user *as, int family, int type)
{
	int fd = -1, error = EPERM;

	if (socket_user_enter(as)) {
		fd = socket(family, type, 0);
		error = errno;
	}
	socket_user_leave(as);
	errno = error;
	return fd;
}

enum exchange_state { X_CONNECTING, X_SENDING, X_HEAD, X_BODY, X_OVER };

/* Owned by its opener until http_exchange_close. With `fetched`, acpd-fetch does the work, and
 * only that member, loop and io are set. */
struct http_exchange {
	struct loop *loop;
	struct fetched_exchange *fetched; /* it is all that there is */
	const struct http_exchange_ops *ops;
	void *ctx;
	struct socket_user as;
	struct address addresses[MCP_ADDRESSES_MAX];
	size_t n, next;
	struct loop_io io;
	struct loop_timer timer;
	struct loop_task task;
	struct buf out, in; /* in: the head */
	enum exchange_state state;
	struct message_body body;
	enum http_exchange_end how;
	int error; /* of the last address that was tried */
	bool closed;
};

/* --- the end ---------------------------------------------------------------------------------------------- */

static void disconnect(struct http_exchange *x)
{
	if (x->io.fd < 0)
		return;
	loop_io_set(x->loop, &x->io, 0);
	close(TAKE_FD(x->io.fd));
}

static void http_exchange_free(void *ctx)
{
	struct http_exchange *x = ctx;

	buf_done(&x->out);
	buf_done(&x->in);
	free(x);
}

struct http_exchange *http_exchange_close(struct http_exchange *x)
{
	if (!x || x->closed)
		return NULL;
	x->closed = true;
	x->state = X_OVER;
	x->fetched = fetched_exchange_close(x->fetched);
	disconnect(x);
	loop_timer_cancel(&x->timer);
	loop_task_cancel(&x->task);
	loop_defer(x->loop, &x->task, http_exchange_free, x);
	return NULL;
}

/* Calls end once; later reasons are dropped. */
static void http_exchange_finish(struct http_exchange *x, enum http_exchange_end how,
				 const char *why)
{
	if (x->state == X_OVER)
		return;
	x->state = X_OVER;
	disconnect(x);
	loop_timer_cancel(&x->timer);
	/* Last: the owner may close the exchange in it. */
	x->ops->end(x->ctx, how, why);
}

/* --- the answer ------------------------------------------------------------------------------------------- */

static void got_body(struct http_exchange *x, struct slice bytes)
{
	struct slice data;
	int r = 0;

	while (x->state == X_BODY && (r = http_body_next(&x->body, &bytes, &data)) > 0)
		x->ops->data(x->ctx, data);
	if (x->state != X_BODY)
		return;
	if (r < 0)
		http_exchange_finish(x, HTTP_EXCHANGE_CUT, "its chunked coding is broken");
	else if (http_body_has_ended(&x->body))
		http_exchange_finish(x, HTTP_EXCHANGE_COMPLETE, NULL);
}

/* n: bytes of x->in that are the head. */
static void http_exchange_begin_body(struct http_exchange *x, const struct http_head *h, size_t n)
{
	_cleanup_(buf_done) struct buf in = x->in;

	/* The head's bytes are in a local buffer: the callbacks below may close the exchange. */
	x->in = (struct buf){ 0 };
	x->state = X_BODY;
	http_body_begin(&x->body, h, false);
	/* Before in is consumed: the fields of the head point into it. */
	x->ops->head(x->ctx, h);
	buf_consume(&in, n);
	if (x->state == X_BODY)
		got_body(x, buf_slice(&in));
}

/* Reads the head in x->in; false: more has to come, or the exchange is closed. */
static bool got_head(struct http_exchange *x)
{
	struct http_head h;
	ssize_t n = http_head_parse(buf_slice(&x->in), &h);

	if (n > 0 && http_head_is_interim(&h)) { /* the final one follows */
		buf_consume(&x->in, (size_t)n);
		return true;
	}
	if (n == -EMSGSIZE)
		http_exchange_finish(x, HTTP_EXCHANGE_CUT, "the head of its answer is too long");
	else if (n < 0 || (n > 0 && h.status < 200))
		http_exchange_finish(x, HTTP_EXCHANGE_CUT, "its answer is not HTTP");
	else if (n > 0)
		http_exchange_begin_body(x, &h, (size_t)n);
	return false;
}

static void http_exchange_on_readable(struct http_exchange *x)
{
	/* Static, because it is large for a stack, and the loop has one thread. */
	static char chunk[CHILD_READ_BYTES];
	ssize_t n = recv(x->io.fd, chunk, sizeof(chunk), 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		if (n == 0 && x->state == X_BODY && http_body_is_whole(&x->body))
			http_exchange_finish(x, HTTP_EXCHANGE_COMPLETE, NULL);
		else
			http_exchange_finish(x, HTTP_EXCHANGE_CUT, "it closed the connection");
		return;
	}
	if (x->state == X_BODY) {
		got_body(x, (struct slice){ chunk, (size_t)n });
		return;
	}
	buf_add(&x->in, chunk, (size_t)n);
	while (x->state < X_BODY && got_head(x))
		;
}

/* --- the request ------------------------------------------------------------------------------------------ */

static void http_exchange_on_writable(struct http_exchange *x)
{
	while (buf_len(&x->out)) {
		ssize_t n =
			send(x->io.fd, x->out.data + x->out.pos, buf_len(&x->out), MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) /* it may have answered before it had all */
			break;
		buf_consume(&x->out, (size_t)n);
	}
	buf_done(&x->out);
	if (x->state == X_SENDING)
		x->state = X_HEAD;
	loop_io_set(x->loop, &x->io, EPOLLIN);
}

static void http_exchange_try_next(struct http_exchange *x);

static void http_exchange_on_connected(struct http_exchange *x)
{
	int error = 0;
	socklen_t n = sizeof(error);

	getsockopt(x->io.fd, SOL_SOCKET, SO_ERROR, &error, &n);
	if (error) {
		x->error = error;
		disconnect(x);
		http_exchange_try_next(x);
		return;
	}
	loop_timer_cancel(&x->timer);
	x->state = X_SENDING;
	loop_io_set(x->loop, &x->io, EPOLLIN | EPOLLOUT);
	http_exchange_on_writable(x);
}

static void http_exchange_on_event(void *ctx, uint32_t events)
{
	struct http_exchange *x = ctx;

	if (x->state == X_CONNECTING) {
		http_exchange_on_connected(x);
		return;
	}
	if (events & EPOLLOUT)
		http_exchange_on_writable(x);
	if (x->state != X_OVER && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		http_exchange_on_readable(x);
}

static void connect_over(void *ctx)
{
	struct http_exchange *x = ctx;

	x->error = ETIMEDOUT;
	disconnect(x);
	http_exchange_try_next(x);
}

static void no_address(void *ctx)
{
	struct http_exchange *x = ctx;

	http_exchange_finish(x, HTTP_EXCHANGE_UNREACHABLE, strerror(x->error));
}

static void http_exchange_try_next(struct http_exchange *x)
{
	const struct address *a;
	int on = 1;

	while (x->next < x->n) {
		a = &x->addresses[x->next++];
		x->io.fd = socket_user_open(&x->as, a->at.ss_family,
					    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (x->io.fd < 0) {
			x->error = errno;
			continue;
		}
		setsockopt(x->io.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		/* A stream may be silent for hours; a peer that vanished is noticed by this
		 * alone. */
		setsockopt(x->io.fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
		if (connect(x->io.fd, (const struct sockaddr *)&a->at, a->n) == 0 ||
		    errno == EINPROGRESS) {
			loop_io_set(x->loop, &x->io, EPOLLOUT);
			loop_timer_set(x->loop, &x->timer, MCP_CONNECT_MS, connect_over, x);
			return;
		}
		x->error = errno;
		close(TAKE_FD(x->io.fd));
	}
	loop_timer_cancel(&x->timer);
	/* Deferred, because the first try runs inside http_exchange_open. */
	loop_defer(x->loop, &x->task, no_address, x);
}

struct http_exchange *http_exchange_open(struct loop *loop, const struct http_route *route,
					 struct buf *request, const struct http_exchange_ops *ops,
					 void *ctx)
{
	struct http_exchange *x = new0(struct http_exchange);

	x->loop = loop;
	x->io = (struct loop_io){ .fd = -1, .fn = http_exchange_on_event, .ctx = x };
	if (route->fetcher) {
		x->fetched = fetched_exchange_open(loop, route, request, ops, ctx);
		return x;
	}
	x->as = *route->as;
	x->ops = ops;
	x->ctx = ctx;
	x->n = MIN(route->n, (size_t)MCP_ADDRESSES_MAX);
	memcpy(x->addresses, route->addresses, x->n * sizeof(*route->addresses));
	x->out = *request;
	*request = (struct buf){ 0 };
	x->error = EADDRNOTAVAIL;
	http_exchange_try_next(x);
	return x;
}
