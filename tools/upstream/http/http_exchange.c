#include "tools/upstream/http/http_exchange.h"

#include "base/digits.h"
#include "base/http/chunked.h"
#include "base/limits.h"
#include "base/util.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <strings.h>
#include <sys/epoll.h>

enum exchange_state { X_CONNECTING, X_SENDING, X_HEAD, X_BODY, X_OVER };
enum framing { FRAMING_LENGTH, FRAMING_CHUNKED, FRAMING_CLOSE };

struct http_exchange {
	struct loop *loop;
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
	enum framing framing;
	uint64_t left;
	struct chunked chunked;
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
	disconnect(x);
	loop_timer_cancel(&x->timer);
	loop_task_cancel(&x->task);
	loop_defer(x->loop, &x->task, http_exchange_free, x);
	return NULL;
}

static void finish(struct http_exchange *x, enum http_exchange_end how, const char *why)
{
	if (x->state == X_OVER)
		return;
	x->state = X_OVER;
	disconnect(x);
	loop_timer_cancel(&x->timer);
	x->ops->end(x->ctx, how, why);
}

/* --- the answer ------------------------------------------------------------------------------------------- */

bool http_exchange_header(const struct http_exchange_head *h, const char *name, struct slice *ret)
{
	struct slice rest = h->lines;
	size_t n = strlen(name);

	while (rest.n) {
		const char *end = memmem(rest.p, rest.n, "\r\n", 2);
		struct slice line = { rest.p, end ? (size_t)(end - rest.p) : rest.n };

		rest = end ? (struct slice){ end + 2, rest.n - line.n - 2 } : SLICE_NONE;
		if (line.n <= n || line.p[n] != ':' || strncasecmp(line.p, name, n) != 0)
			continue;
		line = (struct slice){ line.p + n + 1, line.n - n - 1 };
		while (line.n && (*line.p == ' ' || *line.p == '\t'))
			line = (struct slice){ line.p + 1, line.n - 1 };
		while (line.n && (line.p[line.n - 1] == ' ' || line.p[line.n - 1] == '\t'))
			line.n--;
		*ret = line;
		return true;
	}
	return false;
}

/* How the body ends. False: in a way that two readers may understand differently. */
static bool read_framing(struct http_exchange *x, const struct http_exchange_head *h)
{
	struct slice coding, length;

	x->framing = FRAMING_CLOSE;
	if (http_exchange_header(h, "transfer-encoding", &coding)) {
		x->framing = FRAMING_CHUNKED;
		return coding.n == 7 && strncasecmp(coding.p, "chunked", 7) == 0;
	}
	if (h->status == 204 || h->status == 304) {
		x->framing = FRAMING_LENGTH;
		return true;
	}
	if (!http_exchange_header(h, "content-length", &length))
		return true;
	x->framing = FRAMING_LENGTH;
	return u64_parse(length, &x->left) && x->left / 10 <= UINT64_MAX / 16;
}

/* "HTTP/1.1 200 OK" */
static int read_status(struct slice *lines)
{
	const char *end = memmem(lines->p, lines->n, "\r\n", 2);
	size_t n = end ? (size_t)(end - lines->p) : lines->n;
	const char *p = lines->p;
	uint64_t status;

	if (n < 12 || memcmp(p, "HTTP/1.", 7) != 0 || p[8] != ' ' ||
	    !u64_parse((struct slice){ p + 9, 3 }, &status))
		return -EPROTO;
	*lines = end ? (struct slice){ end + 2, lines->n - n - 2 } : SLICE_NONE;
	return (int)status;
}

static void body_ended(struct http_exchange *x)
{
	finish(x, HTTP_EXCHANGE_COMPLETE, NULL);
}

static void give(struct http_exchange *x, struct slice bytes)
{
	if (bytes.n)
		x->ops->data(x->ctx, bytes);
}

static void got_chunked(struct http_exchange *x, struct slice bytes)
{
	struct slice data;
	int r = 1;

	while (x->state == X_BODY && (r = chunked_next(&x->chunked, &bytes, &data)) > 0)
		give(x, data);
	if (x->state != X_BODY)
		return;
	if (r < 0)
		finish(x, HTTP_EXCHANGE_CUT, "its chunked coding is broken");
	else if (x->chunked.state == CHUNKED_END)
		body_ended(x);
}

static void got_body(struct http_exchange *x, struct slice bytes)
{
	if (x->framing == FRAMING_CHUNKED) {
		got_chunked(x, bytes);
		return;
	}
	if (x->framing == FRAMING_LENGTH) {
		bytes.n = (size_t)MIN((uint64_t)bytes.n, x->left);
		x->left -= bytes.n;
	}
	give(x, bytes);
	if (x->state == X_BODY && x->framing == FRAMING_LENGTH && !x->left)
		body_ended(x);
}

/* All of x->in; false: more has to come. */
static bool got_head(struct http_exchange *x)
{
	_cleanup_(buf_done) struct buf rest = { 0 };
	struct slice in = buf_slice(&x->in);
	const char *end = memmem(in.p, in.n, "\r\n\r\n", 4);
	struct http_exchange_head h = { .lines = { in.p, end ? (size_t)(end + 2 - in.p) : 0 } };

	if (!end) {
		if (in.n > HTTP_HEADERS_MAX)
			finish(x, HTTP_EXCHANGE_CUT, "the head of its answer is too long");
		return false;
	}
	h.status = read_status(&h.lines);
	buf_add(&rest, end + 4, in.n - (size_t)(end + 4 - in.p));
	if (h.status >= 100 && h.status < 200 && h.status != 101) { /* and then the true one */
		buf_reset(&x->in);
		buf_add_slice(&x->in, buf_slice(&rest));
		return buf_len(&x->in) > 0;
	}
	if (h.status < 200 || !read_framing(x, &h)) {
		finish(x, HTTP_EXCHANGE_CUT, "its answer is not HTTP");
		return false;
	}
	x->state = X_BODY;
	x->ops->head(x->ctx, &h);
	buf_done(&x->in);
	if (x->state == X_BODY)
		got_body(x, buf_slice(&rest));
	return false;
}

static void on_readable(struct http_exchange *x)
{
	static char chunk[CHILD_READ_BYTES];
	ssize_t n = recv(x->io.fd, chunk, sizeof(chunk), 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		if (n == 0 && x->state == X_BODY && x->framing == FRAMING_CLOSE)
			body_ended(x);
		else
			finish(x, HTTP_EXCHANGE_CUT, "it closed the connection");
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

static void on_writable(struct http_exchange *x)
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

static void try_next(struct http_exchange *x);

static void on_connected(struct http_exchange *x)
{
	int error = 0;
	socklen_t n = sizeof(error);

	getsockopt(x->io.fd, SOL_SOCKET, SO_ERROR, &error, &n);
	if (error) {
		x->error = error;
		disconnect(x);
		try_next(x);
		return;
	}
	loop_timer_cancel(&x->timer);
	x->state = X_SENDING;
	loop_io_set(x->loop, &x->io, EPOLLIN | EPOLLOUT);
	on_writable(x);
}

static void on_event(void *ctx, uint32_t events)
{
	struct http_exchange *x = ctx;

	if (x->state == X_CONNECTING) {
		on_connected(x);
		return;
	}
	if (events & EPOLLOUT)
		on_writable(x);
	if (x->state != X_OVER && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		on_readable(x);
}

static void connect_over(void *ctx)
{
	struct http_exchange *x = ctx;

	x->error = ETIMEDOUT;
	disconnect(x);
	try_next(x);
}

static void no_address(void *ctx)
{
	struct http_exchange *x = ctx;

	finish(x, HTTP_EXCHANGE_UNREACHABLE, strerror(x->error));
}

static void try_next(struct http_exchange *x)
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
	loop_defer(x->loop, &x->task, no_address, x);
}

struct http_exchange *http_exchange_open(struct loop *loop, const struct socket_user *as,
					 const struct address *addresses, size_t n,
					 struct buf *request, const struct http_exchange_ops *ops,
					 void *ctx)
{
	struct http_exchange *x = new0(struct http_exchange);

	x->loop = loop;
	x->as = *as;
	x->ops = ops;
	x->ctx = ctx;
	x->n = MIN(n, (size_t)MCP_ADDRESSES_MAX);
	memcpy(x->addresses, addresses, x->n * sizeof(*addresses));
	x->out = *request;
	*request = (struct buf){ 0 };
	x->io = (struct loop_io){ .fd = -1, .fn = on_event, .ctx = x };
	x->error = EADDRNOTAVAIL;
	try_next(x);
	return x;
}
