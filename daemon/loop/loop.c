/*
 * loop.c - the event loop: epoll(7), one timerfd for all timers, a signalfd, and deferred tasks.
 *
 * A turn is: wait, notice a suspension, handle at most LOOP_EVENTS_PER_TURN events, run the
 * deferred tasks. Owners of descriptors and timers are freed only by deferred tasks, so that an
 * event later in the same batch never refers to freed memory. The kernel's clock includes skipped
 * time: a due time is converted back before the timerfd is set.
 */
#include "loop/loop.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/os/threads.h"
#include "base/util.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

struct loop {
	int epfd;
	bool quit;
	struct list timers; /* sorted by due */
	struct list tasks;
	struct loop_io timer_io, signal_io;
	uint64_t armed; /* due time the timerfd is set to; 0: disarmed */
	uint64_t ran;	/* when it was last known to run */
	void (*on_signal)(void *ctx, int signo);
	void *signal_ctx;
	void (*on_absence)(uint64_t ms);
	void (*on_wake)(void *ctx);
	void *wake_ctx;
};

static void on_timerfd(void *ctx, uint32_t events);

struct loop *loop_new(void)
{
	struct loop *l = new0(struct loop);

	list_init(&l->timers);
	list_init(&l->tasks);
	l->signal_io.fd = -1;
	l->ran = clock_mono_ms();
	l->epfd = epoll_create1(EPOLL_CLOEXEC);
	l->timer_io =
		(struct loop_io){ .fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
				  .fn = on_timerfd,
				  .ctx = l };
	if (l->epfd < 0 || l->timer_io.fd < 0 || loop_io_set(l, &l->timer_io, EPOLLIN) < 0)
		return loop_free(l);
	return l;
}

struct loop *loop_free(struct loop *l)
{
	if (!l)
		return NULL;
	closep(&l->signal_io.fd);
	closep(&l->timer_io.fd);
	closep(&l->epfd);
	free(l);
	return NULL;
}

int loop_fd(const struct loop *l)
{
	return l->epfd;
}

void loop_quit(struct loop *l)
{
	l->quit = true;
}

bool loop_quitting(const struct loop *l)
{
	return l->quit;
}

int loop_io_set(struct loop *l, struct loop_io *io, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = io };
	int op = !events ? EPOLL_CTL_DEL : io->events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

	if (events == io->events)
		return 0;
	io->loop = l;
	if (epoll_ctl(l->epfd, op, io->fd, &ev) < 0)
		return -errno;
	io->events = events;
	return 0;
}

void loop_io_close(struct loop *l, struct loop_io *io)
{
	loop_io_set(l, io, 0);
	closep(&io->fd);
}

static void timer_arm(struct loop *l)
{
	uint64_t due =
		list_empty(&l->timers) ? 0 : list_first(&l->timers, struct loop_timer, link)->due;
	uint64_t at = due + clock_skipped_ms();
	struct itimerspec spec = { .it_value = { .tv_sec = (time_t)(at / 1000),
						 .tv_nsec = (long)(at % 1000) * 1000000 } };

	/* too early is fine: it fires once for nothing and is set again; most timers are put off again and again */
	if (due == l->armed || (l->armed && due > l->armed) || !due)
		return;
	timerfd_settime(l->timer_io.fd, TFD_TIMER_ABSTIME, &spec, NULL);
	l->armed = due;
}

void loop_timer_cancel(struct loop_timer *t)
{
	if (!t->due)
		return;
	t->due = 0;
	list_del(&t->link); /* the timerfd may fire once for nothing: cheaper than re-arming */
}

void loop_timer_set(struct loop *l, struct loop_timer *t, uint64_t ms, void (*fn)(void *ctx),
		    void *ctx)
{
	struct list *at;

	loop_timer_cancel(t);
	/* At least 1 ms: a timer that sets itself again must not fire twice in one turn. */
	*t = (struct loop_timer){
		.due = clock_mono_ms() + MAX(ms, 1u), .fn = fn, .ctx = ctx, .loop = l
	};
	/* most timers are the latest: search from the end */
	for (at = l->timers.prev; at != &l->timers; at = at->prev)
		if (list_entry(at, struct loop_timer, link)->due <= t->due)
			break;
	list_add_tail(at->next, &t->link);
	timer_arm(l);
}

static void on_timerfd(void *ctx, uint32_t events _unused_)
{
	struct loop *l = ctx;
	uint64_t fired, now = clock_mono_ms();

	if (read(l->timer_io.fd, &fired, sizeof(fired)) < 0 && errno != EAGAIN)
		return;
	l->armed = 0;
	list_drain(t, &l->timers, struct loop_timer, link) {
		if (t->due > now)
			break;
		/* Cancelled first: fn may set the timer again, or free its owner by a deferred
		 * task. */
		loop_timer_cancel(t);
		t->fn(t->ctx);
	}
	timer_arm(l);
}

void loop_defer(struct loop *l, struct loop_task *t, void (*fn)(void *ctx), void *ctx)
{
	if (t->fn)
		return;
	t->fn = fn;
	t->ctx = ctx;
	list_add_tail(&l->tasks, &t->link);
}

void loop_task_cancel(struct loop_task *t)
{
	if (!t->fn)
		return;
	t->fn = NULL;
	list_del(&t->link);
}

/* expected: the latest time at which it should look at the clock again. */
static void notice_absence(struct loop *l, uint64_t expected)
{
	uint64_t now = clock_mono_ms();

	if (now <= expected + LOOP_LATE_MS) {
		l->ran = now;
		return;
	}
	clock_skip(now - l->ran);
	if (l->on_absence)
		l->on_absence(now - l->ran);
}

/* Before anything else of a turn. */
static void notice_wake(struct loop *l)
{
	notice_absence(l, l->armed ? MAX(l->armed, l->ran) : UINT64_MAX - LOOP_LATE_MS);
	if (l->on_wake)
		l->on_wake(l->wake_ctx);
}

void loop_run_deferred(struct loop *l)
{
	notice_wake(l);
	/* a task may defer another; those run too, in order */
	list_drain(t, &l->tasks, struct loop_task, link) {
		void (*fn)(void *ctx) = t->fn;

		loop_task_cancel(t);
		fn(t->ctx);
	}
	notice_absence(l, l->ran);
}

static void on_signalfd(void *ctx, uint32_t events _unused_)
{
	struct signalfd_siginfo si;
	struct loop *l = ctx;

	while (read(l->signal_io.fd, &si, sizeof(si)) == (ssize_t)sizeof(si))
		l->on_signal(l->signal_ctx, (int)si.ssi_signo);
}

int loop_signals(struct loop *l, const sigset_t *set, void (*fn)(void *ctx, int signo), void *ctx)
{
	if (sigprocmask(SIG_BLOCK, set, NULL) < 0)
		return -errno;
	l->on_signal = fn;
	l->signal_ctx = ctx;
	l->signal_io = (struct loop_io){ .fd = signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK),
					 .fn = on_signalfd,
					 .ctx = l };
	if (l->signal_io.fd < 0)
		return -errno;
	return loop_io_set(l, &l->signal_io, EPOLLIN);
}

void loop_on_absence(struct loop *l, void (*fn)(uint64_t ms))
{
	l->on_absence = fn;
}

void loop_on_wake(struct loop *l, void (*fn)(void *ctx), void *ctx)
{
	l->on_wake = fn;
	l->wake_ctx = ctx;
}

static void loop_turn(struct loop *l, int timeout)
{
	struct epoll_event ev[LOOP_EVENTS_PER_TURN];
	int n = epoll_wait(l->epfd, ev, LOOP_EVENTS_PER_TURN, timeout);

	notice_wake(l);
	for (int i = 0; i < n; i++) {
		struct loop_io *io = ev[i].data.ptr;

		/* an earlier callback of this turn may have removed it; owners are freed by loop_defer only */
		if (io->events)
			io->fn(io->ctx, ev[i].events);
	}
	loop_run_deferred(l);
}

void loop_dispatch(struct loop *l)
{
	loop_turn(l, 0);
}

void loop_wait(struct loop *l)
{
	loop_turn(l, -1);
}

void loop_run(struct loop *l)
{
	loop_run_deferred(l);
	while (!l->quit)
		loop_turn(l, -1);
}

/* --- work beside the loop -------------------------------------------------------------------------------- */

static void *job_work(void *ctx)
{
	struct loop_job *j = ctx;

	j->run(j->ctx);
	eventfd_write(j->io.fd, 1);
	return NULL;
}

static void job_let_go(struct loop_job *j)
{
	if (j->threaded)
		pthread_join(j->thread, NULL);
	/* It is queued only where no thread could be started. */
	loop_task_cancel(&j->task);
	loop_io_close(j->loop, &j->io);
	j->busy = j->threaded = false;
}

static void job_ended(void *ctx)
{
	struct loop_job *j = ctx;

	job_let_go(j);
	j->done(j->ctx);
}

static void on_job_event(void *ctx, uint32_t events _unused_)
{
	job_ended(ctx);
}

void loop_job_start(struct loop *loop, struct loop_job *j, void (*run)(void *ctx),
		    void (*done)(void *ctx), void *ctx)
{
	*j = (struct loop_job){ .loop = loop, .run = run, .done = done, .ctx = ctx, .busy = true };
	j->io = (struct loop_io){ .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
				  .fn = on_job_event,
				  .ctx = j };
	if (j->io.fd >= 0 && loop_io_set(loop, &j->io, EPOLLIN) == 0)
		j->threaded = thread_start_sized(&j->thread, JOB_STACK, job_work, j) == 0;
	if (j->threaded)
		return;
	run(ctx);
	loop_defer(loop, &j->task, job_ended, j);
}

void loop_job_end(struct loop_job *j)
{
	if (j->busy)
		job_let_go(j);
}
