/*
 * http_client.c - blocking HTTP/1.1 for subcommands: one request on each connection, bodies in
 * chunks.
 *
 * A new connection for each request leaves no state of a failed one. SO_SNDTIMEO and SO_RCVTIMEO
 * limit every wait. While a body is sent, poll(2) looks for an early answer, because the daemon can
 * refuse an upload before it has read all of it. The head with the token is wiped after it is sent.
 */
#include "net/client/http_client.h"

#include "base/format/digits.h"
#include "base/http/authority.h"
#include "base/http/http_message.h"
#include "base/os/buf_io.h"
#include "base/os/file.h"
#include "base/limits.h"
#include "base/os/local_sock.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#define HTTP_CLIENT_READ 4096 /* bytes, of a head */

struct http_client {
	char *host, *port, *authorization;
	char *socket; /* connect to it; host and port are only for the header */
	int fd;
	struct buf in; /* bytes received and not used yet */
	struct message_body body;
};

/* --- connecting ------------------------------------------------------------------------------------------- */

/* Reads host and port, up to the path. */
static bool http_client_take_address(struct http_client *c, struct slice rest)
{
	struct slice address;
	struct authority a;

	if (!slice_item(&rest, '/', &address) || !authority_parse(address, 1, &a))
		return false;
	c->host = xstrndup(a.host.p, a.host.n);
	return asprintf(&c->port, "%d", a.port < 0 ? 80 : a.port) > 0;
}

struct http_client *http_client_new(const char *url, struct slice token, struct err *e)
{
	struct http_client *c = new0(struct http_client);
	struct slice rest = slice_of(url);

	c->fd = -1;
	if ((!slice_skip(&rest, "http://") && !slice_skip(&rest, "ws://")) ||
	    !http_client_take_address(c, rest)) {
		err_field(e, "url", "OPTION_INVALID",
			  slice_starts(slice_of(url), "https://") ||
					  slice_starts(slice_of(url), "wss://") ?
				  "--url: '%s': archives go without TLS only; use an http:// URL" :
				  "--url: '%s' is not an http:// or ws:// URL",
			  url);
		return http_client_free(c);
	}
	if (token.n && asprintf(&c->authorization, "Authorization: Bearer %.*s\r\n", (int)token.n,
				token.p) < 0)
		abort();
	return c;
}

struct http_client *http_client_new_socket(const char *path)
{
	struct http_client *c = new0(struct http_client);

	c->fd = -1;
	c->socket = xstrdup(path);
	c->host = xstrdup("localhost");
	c->port = xstrdup("80");
	return c;
}

struct http_client *http_client_free(struct http_client *c)
{
	if (!c)
		return NULL;
	closep(&c->fd);
	buf_done(&c->in);
	secret_text_wipe(c->authorization);
	free_each(c->authorization, c->host, c->port, c->socket, c);
	return NULL;
}

static void limit_waits(int fd)
{
	const struct timeval tv = { .tv_sec = HTTP_CLIENT_SECS };

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
}

static int connect_one(struct http_client *c, const struct addrinfo *a)
{
	c->fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
	if (c->fd < 0)
		return -errno;
	/* Before connect(2), which SO_SNDTIMEO limits as well (socket(7)). */
	limit_waits(c->fd);
	if (connect(c->fd, a->ai_addr, a->ai_addrlen) == 0)
		return 0;
	int r = -errno;

	close(TAKE_FD(c->fd));
	return r;
}

static int http_client_open_socket(struct http_client *c, struct err *e)
{
	int fd = unixsock_connect(c->socket);

	if (fd < 0)
		return err_set(e, -ECONNREFUSED, 0, "UNREACHABLE", "no daemon answers on %s: %s",
			       c->socket, strerror(-fd));
	/* Blocking again, so that the time limits of the socket apply. */
	fcntl(fd, F_SETFL, 0);
	limit_waits(fd);
	c->fd = fd;
	return 0;
}

static int open_tcp(struct http_client *c, struct err *e)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *list = NULL;
	int r, gai = getaddrinfo(c->host, c->port, &hints, &list);

	if (gai)
		return err_set(e, -ECONNREFUSED, 0, "UNREACHABLE", "%s: %s", c->host,
			       gai_strerror(gai));
	r = -EHOSTUNREACH;
	for (const struct addrinfo *a = list; a && r < 0; a = a->ai_next)
		r = connect_one(c, a);
	freeaddrinfo(list);
	if (r < 0)
		return err_set(e, -ECONNREFUSED, 0, "UNREACHABLE", "no daemon answers on %s:%s: %s",
			       c->host, c->port, strerror(-r));
	return 0;
}

static int open_connection(struct http_client *c, struct err *e)
{
	closep(&c->fd);
	/* Bytes of an earlier answer are not of this connection. */
	buf_reset(&c->in);
	return c->socket ? http_client_open_socket(c, e) : open_tcp(c, e);
}

/* --- sending ---------------------------------------------------------------------------------------------- */

static int lost(struct err *e)
{
	return err_set(e, -ECONNRESET, 0, "CONNECTION_LOST", "the connection was cut off");
}

static int http_client_send_head(struct http_client *c, const struct http_ask *rq, struct err *e)
{
	_cleanup_(secret_buf_done) struct buf b = { 0 };
	bool v6 = strchr(c->host, ':');

	buf_printf(&b, "%s %s HTTP/1.1\r\nHost: %s%s%s:%s\r\nConnection: close\r\n", rq->method,
		   rq->path, v6 ? "[" : "", c->host, v6 ? "]" : "", c->port);
	buf_puts(&b, c->authorization ? c->authorization : "");
	buf_puts(&b, rq->headers ? rq->headers : "");
	if (rq->has_body)
		buf_printf(&b, "Content-Length: %llu\r\n", (unsigned long long)rq->count);
	buf_puts(&b, "\r\n");
	return file_send_all(c->fd, b.data, buf_len(&b)) < 0 ? lost(e) : 0;
}

/* The daemon answered before it had the whole body. */
static bool http_client_has_answer(const struct http_client *c)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

static int http_client_send_body(struct http_client *c, const struct http_ask *rq, uint64_t *sent,
				 struct err *e)
{
	_cleanup_(freep) char *buf = xalloc(BODY_READ_BYTES);

	while (*sent < rq->count && !http_client_has_answer(c)) {
		size_t want = (size_t)MIN(rq->count - *sent, (uint64_t)BODY_READ_BYTES);
		ssize_t n = pread(rq->body_fd, buf, want, (off_t)(rq->at + *sent));

		if (n <= 0)
			return err_set(e, -EIO, 0, "FILE_UNREADABLE", "the file: %s",
				       n < 0 ? strerror(errno) : "became shorter");
		n = RETRY(send(c->fd, buf, (size_t)n, MSG_NOSIGNAL));
		/* The daemon may have answered and closed before it read all; that answer says why. */
		if (n < 0)
			return http_client_has_answer(c) ? 0 : lost(e);
		*sent += (uint64_t)n;
	}
	return 0;
}

/* --- the answer ------------------------------------------------------------------------------------------- */

static int no_answer(struct err *e)
{
	return err_set(e, -EPROTO, 0, "PROTOCOL", "no sensible answer came");
}

static void http_client_take_head(const struct http_head *h, struct http_answer *a)
{
	struct slice offset;

	a->status = h->status;
	a->length = h->body.length;
	a->has_offset = http_field_find(h->fields, "upload-offset", &offset) &&
			u64_parse(offset, &a->offset);
}

static int http_client_read_head(struct http_client *c, bool to_head, struct http_answer *a,
				 struct err *e)
{
	struct http_head h = { 0 };
	ssize_t n;

	while ((n = http_answer_begin(&c->in, to_head, &h, &c->body)) == 0)
		if (buf_receive(&c->in, c->fd, HTTP_CLIENT_READ) <= 0)
			return lost(e);
	if (n < 0 || h.status < 200)
		return no_answer(e);
	http_client_take_head(&h, a);
	buf_consume(&c->in, (size_t)n);
	return 0;
}

int http_client_ask(struct http_client *c, const struct http_ask *rq, struct http_answer *ret,
		    struct err *e)
{
	int r;

	*ret = (struct http_answer){ 0 };
	r = open_connection(c, e);
	if (r == 0)
		r = http_client_send_head(c, rq, e);
	if (r == 0 && rq->has_body)
		r = http_client_send_body(c, rq, &ret->sent, e);
	if (r == 0)
		r = http_client_read_head(c, strcmp(rq->method, "HEAD") == 0, ret, e);
	return r;
}

/* A part of what has come, at most n bytes; 0: there is none. */
static ssize_t http_client_take_body(struct http_client *c, void *out, size_t n)
{
	struct slice in = buf_slice(&c->in), data;
	size_t before;
	int r;

	/* The parser is given at most n bytes, so its data fit into out. */
	in.n = before = MIN(in.n, n);
	r = http_body_next(&c->body, &in, &data);
	if (r > 0)
		memcpy(out, data.p, data.n);
	buf_consume(&c->in, before - in.n);
	return r > 0 ? (ssize_t)data.n : r;
}

ssize_t http_client_read(struct http_client *c, void *out, size_t n)
{
	for (;;) {
		ssize_t got = http_client_take_body(c, out, n);

		if (got)
			return got < 0 ? -ECONNRESET : got;
		if (!n || http_body_has_ended(&c->body))
			return 0;
		if (buf_len(&c->in))
			continue;
		got = buf_receive(&c->in, c->fd, n);
		/* The end of the connection completes only a body without a length; another one is cut off. */
		if (got <= 0)
			return got == 0 && http_body_is_whole(&c->body) ? 0 : -ECONNRESET;
	}
}
