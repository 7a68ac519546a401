#include "net/uds.h"

#include "base/file.h"
#include "base/limits.h"
#include "base/log.h"
#include "net/control.h"
#include "base/unixsock.h"
#include "proc/lines.h"

#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>

struct listener {
	struct uds_server *server;
	struct loop_io io;
	char *path;
	bool acp;
};

struct uds_server {
	struct loop *loop;
	struct acp_server *acp;
	struct gate *gate;
	struct http_context *info;
	struct listener listeners[2];
	struct list clients;
	void (*adopt)(void *ctx, int fd);
	void *adopt_ctx;
};

struct client {
	struct list link;
	struct uds_server *server;
	struct loop_io io;
	struct lines in;
	struct buf out;
	struct acp_conn *conn; /* acp.sock only */
	bool unheard;	       /* of acp.sock, and has not said anything yet: JSON or HTTP? */
	struct loop_task flush_task, free_task;
	struct loop_timer close_timer;
	bool closing, dead;
};

static void client_free(void *ctx)
{
	struct client *c = ctx;

	loop_task_cancel(&c->flush_task);
	loop_task_cancel(&c->free_task);
	loop_timer_cancel(&c->close_timer);
	acp_conn_free(c->conn);
	if (c->io.fd >= 0) {
		loop_io_set(c->server->loop, &c->io, 0);
		closep(&c->io.fd);
	}
	lines_done(&c->in);
	buf_done(&c->out);
	list_del(&c->link);
	free(c);
}

static void client_drop(struct client *c)
{
	if (c->dead)
		return;
	c->dead = true;
	if (c->io.fd >= 0)
		loop_io_set(c->server->loop, &c->io, 0);
	loop_defer(c->server->loop, &c->free_task, client_free, c);
}

static bool add_line(void *ctx, struct slice text)
{
	struct client *c = ctx;

	if (buf_len(&c->out) && buf_len(&c->out) + text.n > CONN_BATCH_BYTES)
		return false;
	return buf_add_slice(&c->out, text) == 0 && buf_putc(&c->out, '\n') == 0;
}

/* Writes what the socket takes; asks for EPOLLOUT while something is left. */
static void client_flush(void *ctx)
{
	struct client *c = ctx;
	bool more = true;

	while (!c->dead && more) {
		ssize_t n;

		more = c->conn && acp_conn_pump(c->conn, add_line, c);
		if (!buf_len(&c->out))
			break;
		n = send(c->io.fd, c->out.data + c->out.pos, buf_len(&c->out), MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN) {
			client_drop(c);
			return;
		}
		if (n > 0)
			buf_consume(&c->out, (size_t)n);
		if (buf_len(&c->out))
			break;
	}
	if (c->dead)
		return;
	buf_trim(&c->out, 4 * KIB);
	if (c->closing && !buf_len(&c->out))
		client_drop(c);
	else
		loop_io_set(c->server->loop, &c->io,
			    EPOLLIN | (buf_len(&c->out) ? (uint32_t)EPOLLOUT : 0));
}

static void on_dirty(void *ctx)
{
	struct client *c = ctx;

	loop_defer(c->server->loop, &c->flush_task, client_flush, c);
}

static void on_close_overdue(void *ctx)
{
	client_drop(ctx);
}

static void on_close(void *ctx, int code _unused_, const char *reason)
{
	struct client *c = ctx;

	log_info("net", "closing a local connection", "reason", reason);
	c->closing = true;
	loop_timer_set(c->server->loop, &c->close_timer, 5000, on_close_overdue, c);
	on_dirty(c);
}

static void take_line(struct client *c, struct slice line)
{
	if (c->conn)
		acp_conn_feed(c->conn, line);
	else
		control_answer(&(struct control_context){ c->server->gate, c->server->info }, line,
			       &c->out);
}

/* JSON begins with no capital letter, and an HTTP request with nothing else. True: the HTTP server has it now. */
static bool hand_over_http(struct client *c)
{
	char first;

	if (!c->unheard || recv(c->io.fd, &first, 1, MSG_PEEK) != 1)
		return false;
	c->unheard = false;
	if (first < 'A' || first > 'Z' || !c->server->adopt)
		return false;
	loop_io_set(c->server->loop, &c->io, 0);
	c->server->adopt(c->server->adopt_ctx, TAKE_FD(c->io.fd));
	client_drop(c);
	return true;
}

static void client_read(struct client *c)
{
	char *space = lines_space(&c->in, CHILD_READ_BYTES);
	struct slice line;
	ssize_t n;
	int r;

	n = space ? read(c->io.fd, space, CHILD_READ_BYTES) : 0;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		client_drop(c);
		return;
	}
	lines_filled(&c->in, (size_t)n);
	while ((r = lines_next(&c->in, &line)) > 0 && !c->closing)
		if (line.n)
			take_line(c, line);
	lines_trim(&c->in);
	if (r < 0)
		client_drop(c);
	else
		on_dirty(c);
}

static void on_client(void *ctx, uint32_t events)
{
	struct client *c = ctx;

	if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) && !hand_over_http(c))
		client_read(c);
	if (!c->dead && (events & EPOLLOUT))
		client_flush(c);
}

static void client_begin(struct uds_server *u, int fd, bool acp)
{
	struct client *c = new0(struct client);
	struct acp_transport t = { on_dirty, on_close, c };

	c->server = u;
	c->io = (struct loop_io){ .fd = fd, .fn = on_client, .ctx = c };
	lines_init(&c->in, MESSAGE_MAX);
	list_add_tail(&u->clients, &c->link);
	loop_io_set(u->loop, &c->io, EPOLLIN);
	if (!acp)
		return;
	if (gate_claimed(u->gate)) {
		c->conn = acp_conn_new(u->acp, &t, NULL);
		c->unheard = true;
		return;
	}
	control_refuse_unclaimed(&c->out);
	on_close(c, 1008, "Unclaimed");
}

static void on_accept(void *ctx, uint32_t events _unused_)
{
	struct listener *l = ctx;
	int fd = accept4(l->io.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	if (!unixsock_peer_trusted(fd)) {
		log_warn("net", "local connection refused", "path", l->path);
		close(fd);
		return;
	}
	client_begin(l->server, fd, l->acp);
}

static int listener_open(struct uds_server *u, struct listener *l, const char *run_dir,
			 const char *name, bool acp, struct err *e)
{
	l->server = u;
	l->acp = acp;
	l->path = file_join(run_dir, name);
	l->io = (struct loop_io){ .fd = unixsock_listen(l->path), .fn = on_accept, .ctx = l };
	if (l->io.fd < 0)
		return err_set(e, l->io.fd, 0, "RUN_DIR_UNUSABLE", "%s: %s", l->path,
			       strerror(-l->io.fd));
	return loop_io_set(u->loop, &l->io, EPOLLIN);
}

struct uds_server *uds_server_new(struct loop *loop, const char *run_dir, struct acp_server *acp,
				  struct gate *gate, struct http_context *info, struct err *e)
{
	struct uds_server *u = new0(struct uds_server);
	int r = file_mkdirs(run_dir, 0711);

	u->loop = loop;
	u->acp = acp;
	u->gate = gate;
	u->info = info;
	list_init(&u->clients);
	u->listeners[0].io.fd = u->listeners[1].io.fd = -1;
	if (r < 0)
		err_set(e, r, 0, "RUN_DIR_UNUSABLE", "%s: %s", run_dir, strerror(-r));
	if (r < 0 || listener_open(u, &u->listeners[0], run_dir, "control.sock", false, e) < 0 ||
	    listener_open(u, &u->listeners[1], run_dir, "acp.sock", true, e) < 0)
		return uds_server_free(u);
	return u;
}

void uds_server_serve_http(struct uds_server *u, void (*adopt)(void *ctx, int fd), void *ctx)
{
	u->adopt = adopt;
	u->adopt_ctx = ctx;
}

struct uds_server *uds_server_free(struct uds_server *u)
{
	if (!u)
		return NULL;
	list_each(c, &u->clients, struct client, link)
		client_free(c);
	for (size_t i = 0; i < ARRAY_SIZE(u->listeners); i++) {
		struct listener *l = &u->listeners[i];

		if (l->io.fd >= 0) {
			loop_io_set(u->loop, &l->io, 0);
			closep(&l->io.fd);
			unlink(l->path);
		}
		free(l->path);
	}
	free(u);
	return NULL;
}
