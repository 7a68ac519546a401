#include "loop/acceptor.h"

#include "base/limits.h"
#include "base/util.h"

#include <sys/epoll.h>
#include <sys/socket.h>

static void acceptor_again(void *ctx)
{
	struct acceptor *a = ctx;

	loop_io_set(a->loop, &a->io, a->held ? 0 : EPOLLIN);
}

void acceptor_hold(struct acceptor *a, bool hold)
{
	a->held = hold;
	loop_timer_cancel(&a->again);
	acceptor_again(a);
}

static void acceptor_pause(struct acceptor *a)
{
	loop_io_set(a->loop, &a->io, 0);
	loop_timer_set(a->loop, &a->again, ACCEPT_AGAIN_MS, acceptor_again, a);
}

/* A connection that ended while it waited is no reason to stop. */
static bool is_lasting(int error)
{
	return error != EAGAIN && error != EINTR && error != ECONNABORTED && error != EPROTO;
}

static void on_listener(void *ctx, uint32_t events _unused_)
{
	struct acceptor *a = ctx;

	for (int i = 0; i < ACCEPTS_PER_TURN && a->io.events; i++) {
		int fd = accept4(a->io.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			a->fn(a->ctx, fd);
			continue;
		}
		if (is_lasting(errno))
			acceptor_pause(a);
		return;
	}
}

int acceptor_open(struct acceptor *a, struct loop *loop, int fd, void (*fn)(void *ctx, int fd),
		  void *ctx)
{
	int r;

	*a = (struct acceptor){ .loop = loop, .fn = fn, .ctx = ctx };
	a->io = (struct loop_io){ .fd = fd, .fn = on_listener, .ctx = a };
	r = loop_io_set(loop, &a->io, EPOLLIN);
	if (r < 0)
		acceptor_close(a);
	return r;
}

void acceptor_close(struct acceptor *a)
{
	/* All zeros, or closed before. */
	if (!a->loop)
		return;
	loop_timer_cancel(&a->again);
	loop_io_close(a->loop, &a->io);
	a->loop = NULL;
}
