/*
 * dial.c - connects to the first address that answers, within the time of each and of all of them.
 *
 * The caller has checked every address against its rules; nothing is resolved again here. The result always arrives from a
 * deferred task, so `done` never runs inside dial_start. After that task the socket belongs to the owner, and dial_stop is
 * harmless.
 */
#include "loop/dial.h"

#include "base/clock.h"
#include "base/util.h"

#include <netinet/in.h>
#include <sys/epoll.h>

static void dial_next(struct dial *d);

static void dial_drop_socket(struct dial *d)
{
	loop_timer_cancel(&d->timer);
	loop_io_close(d->loop, &d->io);
}

static void report_dialed(void *ctx)
{
	struct dial *d = ctx;

	d->done(d->ctx, TAKE_FD(d->io.fd), d->error);
}

static void dial_failed(struct dial *d, int error)
{
	d->error = error;
	dial_drop_socket(d);
	dial_next(d);
}

static void on_dial_connected(void *ctx, uint32_t events _unused_)
{
	struct dial *d = ctx;
	int error = 0;
	socklen_t n = sizeof(error);

	if (getsockopt(d->io.fd, SOL_SOCKET, SO_ERROR, &error, &n) < 0)
		error = errno;
	if (error) {
		dial_failed(d, error);
		return;
	}
	loop_timer_cancel(&d->timer);
	loop_io_set(d->loop, &d->io, 0);
	loop_defer(d->loop, &d->task, report_dialed, d);
}

static void on_dial_late(void *ctx)
{
	struct dial *d = ctx;

	d->late = true;
	dial_failed(d, ETIMEDOUT);
}

static int dial_socket(const struct dial *d, int family)
{
	return d->terms->open ? d->terms->open(d->ctx, family) :
				socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* True: it is on its way. */
static bool dial_one(struct dial *d, const struct sockaddr_storage *at, uint64_t ms)
{
	socklen_t n = at->ss_family == AF_INET ? sizeof(struct sockaddr_in) :
						 sizeof(struct sockaddr_in6);
	int fd = dial_socket(d, at->ss_family);

	d->io = (struct loop_io){ .fd = fd, .fn = on_dial_connected, .ctx = d };
	if (fd < 0 || (connect(fd, (const struct sockaddr *)at, n) < 0 && errno != EINPROGRESS) ||
	    loop_io_set(d->loop, &d->io, EPOLLOUT) < 0) {
		d->error = errno;
		closep(&d->io.fd);
		return false;
	}
	d->tried_ms = clock_mono_ms();
	loop_timer_set(d->loop, &d->timer, ms, on_dial_late, d);
	return true;
}

/* The time of the next address; 0: all of it has passed. */
static uint64_t dial_time(const struct dial *d)
{
	uint64_t now = clock_mono_ms(), left = d->until > now ? d->until - now : 0;

	if (!d->until)
		return d->terms->each_ms;
	return d->next + 1 < d->n ? MIN(left, d->terms->each_ms) : left;
}

static void dial_next(struct dial *d)
{
	while (d->next < d->n) {
		uint64_t ms = dial_time(d);

		if (!ms)
			break;
		if (dial_one(d, &d->to[d->next++], ms))
			return;
	}
	loop_defer(d->loop, &d->task, report_dialed, d);
}

void dial_start(struct dial *d, struct loop *loop, const struct sockaddr_storage *to, size_t n,
		const struct dial_terms *terms, void (*done)(void *ctx, int fd, int error),
		void *ctx)
{
	*d = (struct dial){ .loop = loop,
			    .io = { .fd = -1 },
			    .terms = terms,
			    .to = to,
			    .n = n,
			    .error = EADDRNOTAVAIL,
			    .done = done,
			    .ctx = ctx };
	if (terms->all_ms)
		d->until = clock_mono_ms() + terms->all_ms;
	dial_next(d);
}

void dial_stop(struct dial *d)
{
	if (!d->loop)
		return;
	loop_task_cancel(&d->task);
	dial_drop_socket(d);
}
