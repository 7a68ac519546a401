/*
 * dial.c - connects to the first address that answers, with one deadline for all of them.
 *
 * The caller has checked every address against the rules (proxy_conn.c); nothing is resolved again
 * here. The result always arrives from a deferred task, so `done` never runs inside dial_start.
 * After that task the socket belongs to the owner, and dial_stop is harmless.
 */
#include "proxy/proxy.h"

#include "base/clock.h"
#include "base/util.h"

#include <errno.h>
#include <sys/epoll.h>

static void try_next(struct dial *d);

static void drop_socket(struct dial *d)
{
	loop_timer_cancel(&d->timer);
	loop_io_close(d->loop, &d->io);
}

static void on_over(void *ctx)
{
	struct dial *d = ctx;
	int fd = TAKE_FD(d->io.fd);

	d->done(d->ctx, fd,
		fd >= 0 ? EGRESS_FINE :
		d->late ? EGRESS_CONNECT_TIMEOUT :
			  EGRESS_CONNECT_FAILED);
}

static void on_connected(void *ctx, uint32_t events _unused_)
{
	struct dial *d = ctx;
	int error = 0;
	socklen_t n = sizeof(error);

	if (getsockopt(d->io.fd, SOL_SOCKET, SO_ERROR, &error, &n) < 0 || error) {
		drop_socket(d);
		try_next(d);
		return;
	}
	loop_timer_cancel(&d->timer);
	loop_io_set(d->loop, &d->io, 0);
	loop_defer(d->loop, &d->task, on_over, d);
}

static void on_late(void *ctx)
{
	struct dial *d = ctx;

	d->late = true;
	drop_socket(d);
	try_next(d);
}

/* True: it is on its way. */
static bool try_one(struct dial *d, const struct sockaddr_storage *at, uint64_t ms)
{
	socklen_t n = at->ss_family == AF_INET ? sizeof(struct sockaddr_in) :
						 sizeof(struct sockaddr_in6);
	int fd = socket(at->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	d->io = (struct loop_io){ .fd = fd, .fn = on_connected, .ctx = d };
	if (fd < 0)
		return false;
	if ((connect(fd, (const struct sockaddr *)at, n) < 0 && errno != EINPROGRESS) ||
	    loop_io_set(d->loop, &d->io, EPOLLOUT) < 0) {
		closep(&d->io.fd);
		return false;
	}
	loop_timer_set(d->loop, &d->timer, ms, on_late, d);
	return true;
}

static void try_next(struct dial *d)
{
	while (d->next < d->to->n) {
		uint64_t now = clock_mono_ms(), ms = d->until > now ? d->until - now : 0;
		const struct sockaddr_storage *at = &d->to->at[d->next++];

		if (!ms)
			break;
		if (d->next < d->to->n)
			ms = MIN(ms, (uint64_t)EGRESS_CONNECT_NEXT_MS);
		if (try_one(d, at, ms))
			return;
	}
	loop_defer(d->loop, &d->task, on_over, d);
}

void dial_start(struct dial *d, struct loop *loop, const struct name_answer *to,
		void (*done)(void *ctx, int fd, enum egress_reason why), void *ctx)
{
	*d = (struct dial){ .loop = loop, .io = { .fd = -1 }, .to = to, .done = done, .ctx = ctx };
	d->until = clock_mono_ms() + EGRESS_CONNECT_MS;
	try_next(d);
}

void dial_stop(struct dial *d)
{
	if (!d->loop)
		return;
	loop_task_cancel(&d->task);
	drop_socket(d);
}
