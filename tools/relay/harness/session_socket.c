/*
 * session_socket.c - accepts connections of a harness, checks their first line, and serves MCP on
 * them.
 *
 * A client must have the uid of the session (SO_PEERCRED) and its key, which is compared by digest
 * in constant time. Connections without a first line are limited in time and bytes, and the oldest
 * makes place for a new one.
 */
#include "tools/relay/harness/session_socket.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/os/local_sock.h"
#include "digest/digest.h"
#include "json/json.h"
#include "loop/acceptor.h"
#include "tools/mcp/mcp_serve.h"

#include <sys/epoll.h>
#include <sys/socket.h>

struct session_socket {
	struct loop *loop;
	struct acceptor acceptor;
	char *path;	   /* NULL: it does not listen */
	struct sha256 key; /* of the key */
	uid_t uid;
	const struct session_socket_ops *ops;
	void *ctx;
	struct list clients;
	unsigned n;
	struct mcp_budget budget; /* of all its clients */
};

struct socket_client {
	struct list link;
	struct session_socket *socket;
	struct loop_io io; /* until its first line has come */
	struct buf hello;
	struct loop_timer timer;
	struct mcp_serving *serving;
	bool has_left; /* counts no more */
};

static void socket_client_free(void *ctx)
{
	struct socket_client *c = ctx;

	/* Before the descriptor is closed, because it restores the flags of it. */
	c->serving = mcp_serving_free(c->serving);
	loop_timer_cancel(&c->timer);
	loop_io_close(c->socket->loop, &c->io);
	buf_done(&c->hello);
	list_del(&c->link);
	/* session_socket_drop_silent has already subtracted a client that it dropped. */
	if (!c->has_left)
		c->socket->n--;
	free(c);
}

/* The connection has ended; its calls were cancelled with the front. */
static void on_served(void *ctx, const char *fault)
{
	if (fault)
		log_warn("mcp", "a harness's MCP connection was ended", "text", fault);
	socket_client_free(ctx);
}

static const struct mcp_serve_ops serve_ops = { on_served };

/* Compares the key in constant time, and finds the server by its name. */
static struct mcp_backend *let_in(struct socket_client *c, struct slice line)
{
	_cleanup_(freep) char *server = NULL, *key = NULL;
	struct sha256 said;
	struct slice hello;
	struct jval v;

	if (jscan_value(line, &v) != JSCAN_OK || v.type != J_OBJECT)
		return NULL;
	hello = jobj_get(v.raw, "acpd").raw;
	if (!hello.n || jstr_decode(jobj_get(hello, "server"), 256, &server) < 0 ||
	    jstr_decode(jobj_get(hello, "key"), 256, &key) < 0)
		return NULL;
	if (sha256_of(slice_of(key), &said) < 0 || !sha256_equal(&said, &c->socket->key))
		return NULL;
	return c->socket->ops->find(c->socket->ctx, server);
}

static void socket_client_begin(struct socket_client *c, size_t line)
{
	struct slice said = buf_slice(&c->hello);
	struct mcp_backend *b = let_in(c, (struct slice){ said.p, line });

	loop_timer_cancel(&c->timer);
	loop_io_set(c->socket->loop, &c->io, 0);
	if (!b) {
		log_warn("mcp", "a connection to a session's MCP socket was refused");
		socket_client_free(c);
		return;
	}
	/* The first messages may have arrived in the same read as the first line. */
	c->serving = mcp_serve(c->socket->loop, b, c->io.fd, c->io.fd,
			       (struct slice){ said.p + line + 1, said.n - line - 1 }, &serve_ops,
			       c);
	mcp_serving_share(c->serving, &c->socket->budget);
	buf_done(&c->hello);
	c->hello = (struct buf){ 0 };
}

static void socket_client_on_readable(void *ctx, uint32_t events _unused_)
{
	struct socket_client *c = ctx;
	char piece[512];
	ssize_t n = read(c->io.fd, piece, sizeof(piece));
	const char *end;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		buf_add(&c->hello, piece, (size_t)n);
	end = buf_len(&c->hello) ? memchr(c->hello.data, '\n', buf_len(&c->hello)) : NULL;
	if (end)
		socket_client_begin(c, (size_t)(end - c->hello.data));
	else if (n <= 0 || buf_len(&c->hello) > SESSION_SOCKET_HELLO_MAX)
		socket_client_free(c);
}

/* Drops the oldest without a first line. Not freed at once: this turn may hold an event for it. */
static void session_socket_drop_silent(struct session_socket *d)
{
	list_each(c, &d->clients, struct socket_client, link) {
		if (c->serving || !c->io.events)
			continue;
		loop_io_set(d->loop, &c->io, 0);
		loop_timer_set(d->loop, &c->timer, 0, socket_client_free, c);
		d->n--;
		c->has_left = true;
		return;
	}
}

static void session_socket_on_accept(void *ctx, int fd)
{
	struct session_socket *d = ctx;
	struct socket_client *c;

	if (d->n >= SESSION_SOCKET_CLIENTS_MAX)
		session_socket_drop_silent(d);
	if (!unixsock_peer_is(fd, d->uid) || d->n >= SESSION_SOCKET_CLIENTS_MAX) {
		log_warn("mcp", "a connection to a session's MCP socket was refused");
		close(fd);
		return;
	}
	c = new0(struct socket_client);
	c->socket = d;
	c->io = (struct loop_io){ .fd = fd, .fn = socket_client_on_readable, .ctx = c };
	list_add_tail(&d->clients, &c->link);
	d->n++;
	loop_timer_set(d->loop, &c->timer, SESSION_SOCKET_HELLO_MS, socket_client_free, c);
	loop_io_set(d->loop, &c->io, EPOLLIN);
}

struct session_socket *session_socket_new(struct loop *loop, const char *path, uid_t uid, gid_t gid,
					  const char *key, const struct session_socket_ops *ops,
					  void *ctx, struct err *e)
{
	struct session_socket *d = new0(struct session_socket);
	int fd = unixsock_listen(path), r = MIN(fd, 0);

	d->loop = loop;
	d->path = fd < 0 ? NULL : xstrdup(path);
	d->uid = uid;
	d->ops = ops;
	d->ctx = ctx;
	list_init(&d->clients);
	d->budget = (struct mcp_budget){ .in_max = SESSION_SOCKET_IN_MAX,
					 .out_max = SESSION_SOCKET_OUT_MAX,
					 .line_ms = SESSION_SOCKET_LINE_MS };
	if (r == 0)
		r = acceptor_open(&d->acceptor, loop, fd, session_socket_on_accept, d);
	if (r == 0)
		r = sha256_of(slice_of(key), &d->key);
	/* unix(7): connecting needs write permission, so the session's user must own the socket. */
	if (r == 0 && uid != geteuid() && chown(path, uid, gid) < 0)
		r = -errno;
	if (r < 0) {
		err_set(e, r, 0, "MCP_SOCKET_FAILED", "%s: %s", path, strerror(-r));
		return session_socket_free(d);
	}
	return d;
}

void session_socket_clear(struct session_socket *d)
{
	while (!list_empty(&d->clients))
		socket_client_free(list_first(&d->clients, struct socket_client, link));
}

struct session_socket *session_socket_free(struct session_socket *d)
{
	if (!d)
		return NULL;
	session_socket_clear(d);
	acceptor_close(&d->acceptor);
	/* The name of a socket remains after close(2) (unix(7)). */
	if (d->path)
		unlink(d->path);
	free_each(d->path, d);
	return NULL;
}
