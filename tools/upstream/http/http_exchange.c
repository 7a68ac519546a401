/*
 * http_exchange.c - one HTTP/1.1 request on a TCP connection of its own: connect, send, head, body; or by acpd-fetch.
 *
 * Sockets belong to the given user (struct socket_user). Each address has MCP_CONNECT_MS. The answer is
 * read while the request is sent, because a server may refuse early. An owner may close in any
 * callback: the state is checked after each one, and the memory is freed at the end of the turn. A
 * body without framing ends with the connection.
 *
 * For acpd-fetch the request, which is text of HTTP/1.1, is split into method, URL, headers and body; libcurl
 * writes the framing headers itself. Headers may hold secrets, so both forms of them are wiped.
 */
#include "tools/upstream/http/http_exchange.h"

#include "base/limits.h"
#include "base/os/buf_io.h"
#include "base/util.h"
#include "fetcher/fetcher.h"
#include "json/jenc.h"
#include "loop/dial.h"
#include "proc/users/agent_user.h"

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

/* Owned by its opener until http_exchange_close. Where acpd-fetch does the work, there is a fetch, or why there is none,
 * and no connection. */
struct http_exchange {
	struct loop *loop;
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
	struct fetch *fetch;
	struct err why_not_fetched;
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
	x->fetch = fetch_close(x->fetch);
	dial_stop(&x->dial);
	loop_io_close(x->loop, &x->io);
	loop_task_cancel(&x->task);
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

/* --- by acpd-fetch ------------------------------------------------------------------------------------------ */

/* What frames a message is libcurl's. */
static bool is_framing_field(struct slice name)
{
	return http_word_among(name, "host connection content-length");
}

static void exchange_fetch_put_headers(struct buf *json, struct slice lines)
{
	struct slice line, name, value;
	struct jw w = JW(json);

	jw_obj(&w, NULL);
	while (http_line_next(&lines, &line)) {
		_cleanup_(freep) char *key = NULL;

		if (!http_field_split(line, &name, &value) || is_framing_field(name))
			continue;
		key = xstrndup(name.p, name.n);
		jw_lead_key(&w, key);
		jw_slice(&w, NULL, value);
	}
	jw_end_obj(&w);
}

static void exchange_fetch_begin(struct http_exchange *x, const struct http_route *route,
				 struct slice request, const struct fetch_ops *ops)
{
	_cleanup_(secret_buf_done) struct buf headers = { 0 };
	_cleanup_(freep) char *method = NULL, *url = NULL;
	struct slice host = SLICE_NONE;
	struct http_request_head h;
	/* Our own text, so it is a request. */
	ssize_t n = http_request_parse(request, request.n, &h);

	http_field_find(h.fields, "host", &host);
	method = xstrndup(h.method.p, h.method.n);
	url = xprintf("%s://%.*s%.*s", route->secure ? "https" : "http", (int)host.n, host.p,
		      (int)h.target.n, h.target.p);
	exchange_fetch_put_headers(&headers, h.fields);
	x->fetch = fetch_open(route->fetcher,
			      &(struct fetch_request){ .method = method,
						       .url = url,
						       .headers = buf_slice(&headers),
						       .body = slice_after(request, (size_t)n),
						       .named = route->named,
						       .idle_ms = FETCH_IDLE_MAX_MS },
			      ops, x, &x->why_not_fetched);
}

static void exchange_fetch_on_head(void *ctx, int status, struct slice headers)
{
	_cleanup_(buf_done) struct buf lines = { 0 };
	struct http_exchange *x = ctx;
	struct fetch_headers h;
	struct http_head head = { .status = status };

	fetch_headers_begin(&h, headers);
	while (fetch_headers_next(&h) > 0)
		buf_printf(&lines, "%s: %s\r\n", h.name, h.value);
	fetch_headers_done(&h);
	head.fields = buf_slice(&lines);
	x->ops->head(x->ctx, &head);
}

static void exchange_fetch_on_data(void *ctx, struct slice bytes)
{
	struct http_exchange *x = ctx;

	x->ops->data(x->ctx, bytes);
	/* The owner may have closed the exchange in its callback, and the fetch with it. */
	if (!x->closed)
		fetch_taken(x->fetch, bytes.n);
}

static void exchange_fetch_on_end(void *ctx, enum fetch_end how, const char *why)
{
	static const enum http_exchange_end ends[FETCH_END_MAX] = {
		[FETCH_COMPLETE] = HTTP_EXCHANGE_COMPLETE,
		[FETCH_REFUSED] = HTTP_EXCHANGE_UNREACHABLE,
		[FETCH_UNREACHABLE] = HTTP_EXCHANGE_UNREACHABLE,
		[FETCH_CUT] = HTTP_EXCHANGE_CUT,
		[FETCH_SILENT] = HTTP_EXCHANGE_CUT,
		[FETCH_GONE] = HTTP_EXCHANGE_CUT,
		[FETCH_UNAVAILABLE] = HTTP_EXCHANGE_UNREACHABLE,
		[FETCH_NO_LOCK] = HTTP_EXCHANGE_UNREACHABLE,
	};
	struct http_exchange *x = ctx;

	http_exchange_finish(x, ends[how], how == FETCH_COMPLETE ? NULL : why);
}

static void on_not_fetched(void *ctx)
{
	struct http_exchange *x = ctx;

	http_exchange_finish(x, HTTP_EXCHANGE_UNREACHABLE, x->why_not_fetched.msg);
}

static void fetch_exchange(struct http_exchange *x, const struct http_route *route,
			   struct buf *request)
{
	static const struct fetch_ops ops = { exchange_fetch_on_head, exchange_fetch_on_data,
					      exchange_fetch_on_end };

	exchange_fetch_begin(x, route, buf_slice(request), &ops);
	secret_buf_done(request);
	/* From the loop: nobody is called back in http_exchange_open. */
	if (!x->fetch)
		loop_defer(x->loop, &x->task, on_not_fetched, x);
}

/* --- how it begins ------------------------------------------------------------------------------------------ */

struct http_exchange *http_exchange_open(struct loop *loop, const struct http_route *route,
					 struct buf *request, const struct http_exchange_ops *ops,
					 void *ctx)
{
	static const struct dial_terms terms = { .each_ms = MCP_CONNECT_MS, .open = open_socket };
	struct http_exchange *x = new0(struct http_exchange);
	size_t n = MIN(route->n, (size_t)MCP_ADDRESSES_MAX);

	x->loop = loop;
	x->io = (struct loop_io){ .fd = -1, .fn = http_exchange_on_event, .ctx = x };
	x->ops = ops;
	x->ctx = ctx;
	if (route->fetcher) {
		fetch_exchange(x, route, request);
		return x;
	}
	x->as = *route->as;
	memcpy(x->addresses, route->addresses, n * sizeof(*route->addresses));
	x->out = *request;
	*request = (struct buf){ 0 };
	dial_start(&x->dial, loop, x->addresses, n, &terms, on_dialed, x);
	return x;
}
