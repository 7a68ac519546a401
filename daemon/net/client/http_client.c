#include "net/client/http_client.h"

#include "base/digits.h"
#include "base/http/authority.h"
#include "base/os/file.h"
#include "base/limits.h"
#include "base/os/unixsock.h"
#include "digest/digest.h"
#include "http/query.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <strings.h>
#include <sys/socket.h>

struct http_client {
	char *host, *port, *authorization;
	char *socket; /* connect there; host and port are only said */
	int fd;
	struct buf in; /* behind the head: the beginning of the body */
	uint64_t left; /* of the body */
};

/* --- connecting ------------------------------------------------------------------------------------------- */

/* Up to the path. */
static bool take_address(struct http_client *c, struct slice rest)
{
	const char *slash = rest.n ? memchr(rest.p, '/', rest.n) : NULL;
	struct authority a;

	if (slash)
		rest.n = (size_t)(slash - rest.p);
	if (!authority_parse(rest, 1, &a))
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
	    !take_address(c, rest)) {
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
	if (c->authorization)
		secret_wipe(c->authorization, strlen(c->authorization));
	free(c->authorization);
	free(c->host);
	free(c->port);
	free(c->socket);
	free(c);
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
	limit_waits(c->fd);
	if (connect(c->fd, a->ai_addr, a->ai_addrlen) == 0)
		return 0;
	int r = -errno;

	close(TAKE_FD(c->fd));
	return r;
}

static int open_socket(struct http_client *c, struct err *e)
{
	int fd = unixsock_connect(c->socket);

	if (fd < 0)
		return err_set(e, -ECONNREFUSED, 0, "UNREACHABLE", "no daemon answers on %s: %s",
			       c->socket, strerror(-fd));
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
	c->fd = -1;
	buf_reset(&c->in);
	return c->socket ? open_socket(c, e) : open_tcp(c, e);
}

/* --- sending ---------------------------------------------------------------------------------------------- */

static int lost(struct err *e)
{
	return err_set(e, -ECONNRESET, 0, "CONNECTION_LOST", "the connection was cut off");
}

static int send_head(struct http_client *c, const struct http_ask *rq, struct err *e)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	bool v6 = strchr(c->host, ':');
	int r = 0;

	buf_printf(&b, "%s %s HTTP/1.1\r\nHost: %s%s%s:%s\r\nConnection: close\r\n", rq->method,
		   rq->path, v6 ? "[" : "", c->host, v6 ? "]" : "", c->port);
	buf_puts(&b, c->authorization ? c->authorization : "");
	buf_puts(&b, rq->headers ? rq->headers : "");
	if (rq->has_body)
		buf_printf(&b, "Content-Length: %llu\r\n", (unsigned long long)rq->count);
	buf_puts(&b, "\r\n");
	while (r == 0 && buf_len(&b)) {
		ssize_t n = send(c->fd, b.data + b.pos, buf_len(&b), MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			r = lost(e);
		else if (n > 0)
			buf_consume(&b, (size_t)n);
	}
	if (b.data)
		secret_wipe(b.data, b.cap);
	return r;
}

/* The daemon said something before it had the whole body. */
static bool answered(const struct http_client *c)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

static int send_body(struct http_client *c, const struct http_ask *rq, uint64_t *sent,
		     struct err *e)
{
	_cleanup_(freep) char *buf = xalloc(BODY_READ_BYTES);

	while (*sent < rq->count && !answered(c)) {
		size_t want = (size_t)MIN(rq->count - *sent, (uint64_t)BODY_READ_BYTES);
		ssize_t n = pread(rq->body_fd, buf, want, (off_t)(rq->at + *sent));

		if (n <= 0)
			return err_set(e, -EIO, 0, "FILE_UNREADABLE", "the file: %s",
				       n < 0 ? strerror(errno) : "became shorter");
		n = send(c->fd, buf, (size_t)n, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return answered(c) ? 0 : lost(e);
		*sent += (uint64_t)n;
	}
	return 0;
}

/* --- the answer ------------------------------------------------------------------------------------------- */

static void take_header(struct http_answer *a, struct slice line)
{
	static const struct {
		const char *name;
		size_t value, flag;
	} rows[] = {
		{ "content-length:", offsetof(struct http_answer, length), 0 },
		{ "upload-offset:", offsetof(struct http_answer, offset),
		  offsetof(struct http_answer, has_offset) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t n = strlen(rows[i].name);
		struct slice v = { line.p + n, line.n - n };

		if (line.n < n || strncasecmp(line.p, rows[i].name, n) != 0)
			continue;
		while (v.n && *v.p == ' ')
			v = (struct slice){ v.p + 1, v.n - 1 };
		if (u64_parse(v, (uint64_t *)((char *)a + rows[i].value)) && rows[i].flag)
			*(bool *)((char *)a + rows[i].flag) = true;
	}
}

/* The lines up to the empty one. */
static int parse_head(struct slice head, struct http_answer *a)
{
	uint64_t status;

	if (!slice_starts(head, "HTTP/1.") || head.n < 13 ||
	    !u64_parse((struct slice){ head.p + 9, 3 }, &status))
		return -EPROTO;
	a->status = (int)status;
	while (head.n) {
		const char *end = memmem(head.p, head.n, "\r\n", 2);
		size_t n = end ? (size_t)(end - head.p) : head.n;

		take_header(a, (struct slice){ head.p, n });
		n = MIN(n + 2, head.n);
		head = (struct slice){ head.p + n, head.n - n };
	}
	return 0;
}

static int read_more(struct http_client *c)
{
	ssize_t n;

	if (buf_len(&c->in) > HTTP_HEADERS_MAX || buf_reserve(&c->in, 4096) < 0)
		return -EPROTO;
	do {
		n = recv(c->fd, c->in.data + c->in.len, 4096, 0);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return -ECONNRESET;
	c->in.len += (size_t)n;
	return 0;
}

static int read_head(struct http_client *c, struct http_answer *a, struct err *e)
{
	const char *end;
	struct slice in;
	int r;

	for (;;) {
		in = buf_slice(&c->in);
		end = in.n ? memmem(in.p, in.n, "\r\n\r\n", 4) : NULL;
		if (end)
			break;
		r = read_more(c);
		if (r == -ECONNRESET)
			return lost(e);
		if (r < 0)
			return err_set(e, -EPROTO, 0, "PROTOCOL", "no sensible answer came");
	}
	if (parse_head((struct slice){ in.p, (size_t)(end - in.p) }, a) < 0)
		return err_set(e, -EPROTO, 0, "PROTOCOL", "no sensible answer came");
	buf_consume(&c->in, (size_t)(end + 4 - in.p));
	return 0;
}

int http_client_ask(struct http_client *c, const struct http_ask *rq, struct http_answer *ret,
		    struct err *e)
{
	int r;

	*ret = (struct http_answer){ 0 };
	r = open_connection(c, e);
	if (r == 0)
		r = send_head(c, rq, e);
	if (r == 0 && rq->has_body)
		r = send_body(c, rq, &ret->sent, e);
	if (r == 0)
		r = read_head(c, ret, e);
	c->left = strcmp(rq->method, "HEAD") == 0 ? 0 : ret->length;
	return r;
}

ssize_t http_client_read(struct http_client *c, void *out, size_t n)
{
	size_t want = (size_t)MIN((uint64_t)n, c->left);
	ssize_t got;

	if (!want)
		return 0;
	if (buf_len(&c->in)) {
		got = (ssize_t)MIN(want, buf_len(&c->in));
		memcpy(out, c->in.data + c->in.pos, (size_t)got);
		buf_consume(&c->in, (size_t)got);
	} else {
		do {
			got = recv(c->fd, out, want, 0);
		} while (got < 0 && errno == EINTR);
	}
	if (got <= 0)
		return -ECONNRESET;
	c->left -= (uint64_t)got;
	return got;
}
