/*
 * daemon_link.c - one message interface over a UNIX socket (JSON lines) or a WebSocket, for
 * subcommands.
 *
 * Messages are forwarded byte for byte. on_open is deferred, so the caller has its link by then.
 * Closing first writes everything that was sent. libwebsockets has a service loop of its own, so
 * daemon_link_run selects ws_client_run or loop_run.
 */
#include "net/client/daemon_link.h"

#include "base/limits.h"
#include "base/os/buf_io.h"
#include "base/os/local_sock.h"
#include "proc/output/lines.h"

#include <sys/epoll.h>

struct daemon_link {
	struct loop *loop;
	const struct daemon_link_events *ev;
	void *ctx;
	struct ws_client *ws; /* NULL: UNIX socket */
	struct loop_io io;
	struct lines in;
	struct buf out;
	struct loop_task open_task;
	bool closing, closed;
};

static void closed(struct daemon_link *l, const char *why)
{
	if (l->closed)
		return;
	l->closed = true;
	if (l->io.fd >= 0) {
		loop_io_close(l->loop, &l->io);
	}
	l->ev->on_closed(l->ctx, true, why);
}

static void link_flush(struct daemon_link *l)
{
	int r = l->closed ? 0 : buf_send(&l->out, l->io.fd);

	if (l->closed)
		return;
	if (r < 0 && r != -EAGAIN)
		closed(l, "the daemon closed the connection");
	else if (l->closing && !buf_len(&l->out))
		closed(l, "closed");
	else
		loop_io_set(l->loop, &l->io, EPOLLIN | (buf_len(&l->out) ? (uint32_t)EPOLLOUT : 0));
}

static void link_read_lines(struct daemon_link *l)
{
	char *space = lines_space(&l->in, CHILD_READ_BYTES);
	struct slice line;
	ssize_t n = space ? read(l->io.fd, space, CHILD_READ_BYTES) : 0;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		closed(l, "the daemon closed the connection");
		return;
	}
	lines_filled(&l->in, (size_t)n);
	while (!l->closed && lines_next(&l->in, &line) > 0)
		l->ev->on_message(l->ctx, line);
}

static void on_link_io(void *ctx, uint32_t events)
{
	struct daemon_link *l = ctx;

	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		link_read_lines(l);
	if (!l->closed && (events & EPOLLOUT))
		link_flush(l);
}

static void report_open(void *ctx)
{
	struct daemon_link *l = ctx;

	l->ev->on_open(l->ctx);
}

static struct daemon_link *daemon_link_new(struct loop *loop, const struct daemon_link_events *ev,
					   void *ctx)
{
	struct daemon_link *l = new0(struct daemon_link);

	l->loop = loop;
	l->ev = ev;
	l->ctx = ctx;
	l->io.fd = -1;
	lines_init(&l->in, LINE_MAX_BYTES);
	return l;
}

struct daemon_link *daemon_link_open_socket(struct loop *loop, const char *path,
					    const struct daemon_link_events *ev, void *ctx,
					    struct err *e)
{
	struct daemon_link *l;
	int fd = unixsock_connect(path);

	if (fd < 0) {
		err_set(e, fd, 0, "UNREACHABLE", "no daemon answers on %s: %s", path,
			strerror(-fd));
		return NULL;
	}
	l = daemon_link_new(loop, ev, ctx);
	l->io = (struct loop_io){ .fd = fd, .fn = on_link_io, .ctx = l };
	loop_io_set(loop, &l->io, EPOLLIN);
	/* The caller assigns the link that we return; only then may on_open send on it. */
	loop_defer(loop, &l->open_task, report_open, l);
	return l;
}

struct daemon_link *daemon_link_open_url(struct loop *loop, const char *url, struct slice token,
					 const struct daemon_link_events *ev, void *ctx,
					 struct err *e)
{
	struct daemon_link *l = daemon_link_new(loop, ev, ctx);

	l->ws = ws_client_new(loop, url, token, ev, ctx, e);
	return l->ws ? l : daemon_link_free(l);
}

void daemon_link_send(struct daemon_link *l, struct slice text)
{
	if (l->ws) {
		ws_client_send(l->ws, text);
		return;
	}
	if (l->closed)
		return;
	buf_add_slice(&l->out, text);
	buf_putc(&l->out, '\n');
	link_flush(l);
}

void daemon_link_close(struct daemon_link *l)
{
	if (l->ws) {
		ws_client_close(l->ws);
		return;
	}
	l->closing = true;
	link_flush(l);
}

void daemon_link_run(struct daemon_link *l)
{
	if (l->ws)
		ws_client_run(l->ws);
	else
		loop_run(l->loop);
}

struct daemon_link *daemon_link_free(struct daemon_link *l)
{
	if (!l)
		return NULL;
	ws_client_free(l->ws);
	loop_task_cancel(&l->open_task);
	if (l->io.fd >= 0) {
		loop_io_close(l->loop, &l->io);
	}
	lines_done(&l->in);
	buf_done(&l->out);
	free(l);
	return NULL;
}
