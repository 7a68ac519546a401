/*
 * http_exchange.c - one HTTP/1.1 request on a TCP connection of its own: connect, send, head, body.
 *
 * Sockets belong to the given user (struct socket_user). Each address has MCP_CONNECT_MS. The answer is
 * read while the request is sent, because a server may refuse early. An owner may close in any
 * callback: the state is checked after each one, and the memory is freed at the end of the turn. A
 * body without framing ends with the connection.
 */
#include "tools/upstream/http/http_exchange.h"

#include "base/limits.h"
#include "base/os/buf_io.h"
#include "base/util.h"
#include "proc/users/agent_user.h"
#include "loop/dial.h"

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
	/* socket_user_leave may have changed it. */
	errno = error;
	return fd;
}

/* EXCHANGE_HEAD: until the head of the answer is whole. */
enum exchange_state { EXCHANGE_HEAD, EXCHANGE_BODY, EXCHANGE_ENDED };

/* Owned by its opener until http_exchange_close. With `fetched`, acpd-fetch does the work, and
 * only that member, loop and io are set. */
struct http_exchange {
	struct loop *loop;
	struct fetched_exchange *fetched; /* it is all that there is */
	const struct http_exchange_ops *ops;
	void *ctx;
	struct socket_user as;
	struct sockaddr_storage addresses[MCP_ADDRESSES_MAX];
	struct dial dial;
	struct loop_io io;
	struct loop_task task;
	struct buf out, in;
	enum exchange_state state;
	struct message_body body;
	bool closed;
};

/* --- the end ---------------------------------------------------------------------------------------------- */

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
	x->state = EXCHANGE_ENDED;
	x->fetched = fetched_exchange_close(x->fetched);
	dial_stop(&x->dial);
	loop_io_close(x->loop, &x->io);
	loop_defer(x->loop, &x->task, http_exchange_free, x);
	return NULL;
}

/* Calls end once; later reasons are dropped. */
static void http_exchange_finish(struct http_exchange *x, enum http_exchange_end how,
				 const char *why)
{
	if (x->state == EXCHANGE_ENDED)
		return;
	x->state = EXCHANGE_ENDED;
	loop_io_close(x->loop, &x->io);
	x->ops->end(x->ctx, how, why);
}

/* --- the answer ------------------------------------------------------------------------------------------- */

static void got_body(struct http_exchange *x)
{
	struct slice data;
	int r = 0;

	while (x->state == EXCHANGE_BODY && (r = http_body_take(&x->body, &x->in, &data)) > 0)
		x->ops->data(x->ctx, data);
	buf_trim(&x->in, IO_KEEP_BYTES);
	if (x->state != EXCHANGE_BODY)
		return;
	if (r < 0)
		http_exchange_finish(x, HTTP_EXCHANGE_CUT, "its chunked coding is broken");
	else if (http_body_has_ended(&x->body))
		http_exchange_finish(x, HTTP_EXCHANGE_COMPLETE, NULL);
}

static void got_head(struct http_exchange *x)
{
	struct http_head h;
	ssize_t n = http_answer_begin(&x->in, false, &h, &x->body);

	if (n == -EMSGSIZE) {
		http_exchange_finish(x, HTTP_EXCHANGE_CUT, "the head of its answer is too long");
	} else if (n < 0 || (n > 0 && h.status < 200)) {
		http_exchange_finish(x, HTTP_EXCHANGE_CUT, "its answer is not HTTP");
	} else if (n > 0) {
		x->state = EXCHANGE_BODY;
		x->ops->head(x->ctx, &h);
		buf_consume(&x->in, (size_t)n);
	}
}

static void http_exchange_on_readable(struct http_exchange *x)
{
	ssize_t n = buf_receive(&x->in, x->io.fd, CHILD_READ_BYTES);

	if (n == -EAGAIN)
		return;
	if (n <= 0) {
		if (n == 0 && x->state == EXCHANGE_BODY && http_body_is_whole(&x->body))
			http_exchange_finish(x, HTTP_EXCHANGE_COMPLETE, NULL);
		else
			http_exchange_finish(x, HTTP_EXCHANGE_CUT, "it closed the connection");
		return;
	}
	if (x->state == EXCHANGE_HEAD)
		got_head(x);
	if (x->state == EXCHANGE_BODY)
		got_body(x);
}

/* --- the request ------------------------------------------------------------------------------------------ */

static void http_exchange_on_writable(struct http_exchange *x)
{
	if (buf_send(&x->out, x->io.fd) == -EAGAIN)
		return;
	/* where it could not be sent, the server may have answered before it had all */
	buf_done(&x->out);
	loop_io_set(x->loop, &x->io, EPOLLIN);
}

static void http_exchange_on_event(void *ctx, uint32_t events)
{
	struct http_exchange *x = ctx;

	if (events & EPOLLOUT)
		http_exchange_on_writable(x);
	if (x->state != EXCHANGE_ENDED && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		http_exchange_on_readable(x);
}

static int open_socket(void *ctx, int family)
{
	struct http_exchange *x = ctx;
	int on = 1,
	    fd = socket_user_open(&x->as, family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0) {
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		/* A stream may be silent for long, and a server that has disappeared sends nothing
		 * at all. */
		setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	}
	return fd;
}

static void on_dialed(void *ctx, int fd, int error)
{
	struct http_exchange *x = ctx;

	x->io.fd = fd;
	if (fd < 0) {
		http_exchange_finish(x, HTTP_EXCHANGE_UNREACHABLE, strerror(error));
		return;
	}
	loop_io_set(x->loop, &x->io, EPOLLIN | EPOLLOUT);
	http_exchange_on_writable(x);
}

struct http_exchange *http_exchange_open(struct loop *loop, const struct http_route *route,
					 struct buf *request, const struct http_exchange_ops *ops,
					 void *ctx)
{
	static const struct dial_terms terms = { .each_ms = MCP_CONNECT_MS, .open = open_socket };
	struct http_exchange *x = new0(struct http_exchange);
	size_t n = MIN(route->n, (size_t)MCP_ADDRESSES_MAX);

	x->loop = loop;
	x->io = (struct loop_io){ .fd = -1, .fn = http_exchange_on_event, .ctx = x };
	if (route->fetcher) {
		x->fetched = fetched_exchange_open(loop, route, request, ops, ctx);
		return x;
	}
	x->as = *route->as;
	x->ops = ops;
	x->ctx = ctx;
	memcpy(x->addresses, route->addresses, n * sizeof(*route->addresses));
	x->out = *request;
	*request = (struct buf){ 0 };
	dial_start(&x->dial, loop, x->addresses, n, &terms, on_dialed, x);
	return x;
}
