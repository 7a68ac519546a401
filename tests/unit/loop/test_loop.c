/* The event loop: timers in order, deferred calls, and callbacks that remove what else is about to be called. */
#include "unit.h"

#include "base/clock.h"
#include "base/limits.h"
#include "loop/loop.h"

#include <poll.h>
#include <sys/epoll.h>

#define MANY 1000

static struct loop *l;
static unsigned fired, order[2 * MANY];

static int setup(void **state _unused_)
{
	l = loop_new();
	fired = 0;
	return l ? 0 : -1;
}

static int teardown(void **state _unused_)
{
	l = loop_free(l);
	return 0;
}

/* Dispatches until fired has reached n; gives up after a minute. */
static void run_until(unsigned n)
{
	uint64_t end = clock_mono_ms() + 60000;

	while (fired < n && clock_mono_ms() < end) {
		struct pollfd p = { loop_fd(l), POLLIN, 0 };

		poll(&p, 1, 100);
		loop_dispatch(l);
	}
	assert_int_equal(fired, n);
}

/* --- timers ------------------------------------------------------------------------------------------ */

struct alarm {
	struct loop_timer timer;
	unsigned no;
	uint64_t due;
	struct alarm *victim; /* cancelled by this one */
	unsigned again;	      /* sets itself so many times more */
};

static void on_alarm(void *ctx)
{
	struct alarm *a = ctx;

	assert_true(clock_mono_ms() >= a->due);
	assert_int_equal(a->timer.due, 0);
	order[fired++] = a->no;
	if (a->victim)
		loop_timer_cancel(&a->victim->timer);
	if (a->again) {
		a->again--;
		loop_timer_set(l, &a->timer, 0, on_alarm, a);
		a->due = a->timer.due;
	}
}

static void set(struct alarm *a, unsigned no, uint64_t ms)
{
	a->no = no;
	loop_timer_set(l, &a->timer, ms, on_alarm, a);
	a->due = a->timer.due;
}

static void test_many_timers_in_order(void **state _unused_)
{
	static struct alarm alarms[MANY];

	memset(alarms, 0, sizeof(alarms));
	for (unsigned i = 0; i < MANY; i++)
		set(&alarms[i], i, 1 + i * 7919 % 41);
	run_until(MANY);
	for (unsigned i = 1; i < MANY; i++) {
		const struct alarm *a = &alarms[order[i - 1]], *b = &alarms[order[i]];

		assert_true(a->due < b->due || (a->due == b->due && a->no < b->no));
	}
}

static void test_timer_cancels(void **state _unused_)
{
	struct alarm a = { 0 }, same = { 0 }, later = { 0 }, last = { 0 };

	set(&a, 0, 2);
	set(&same, 1, 2);
	set(&later, 2, 4);
	set(&last, 3, 6);
	a.victim = &same;
	loop_timer_cancel(&later.timer);
	loop_timer_cancel(&later.timer);
	run_until(2);
	assert_int_equal(order[0], 0);
	assert_int_equal(order[1], 3);
	loop_timer_cancel(&last.timer);
}

static void test_timer_is_moved(void **state _unused_)
{
	struct alarm a = { 0 }, b = { 0 };

	set(&a, 0, 1);
	set(&b, 1, 3);
	set(&a, 0, 6);
	run_until(2);
	assert_int_equal(order[0], 1);
	assert_int_equal(order[1], 0);
	set(&a, 0, 10000);
	set(&a, 0, 1);
	run_until(3);
}

static void test_timer_sets_itself(void **state _unused_)
{
	struct alarm a = { .again = 20 }, never = { 0 };

	set(&never, 9, 60000);
	set(&a, 0, 1);
	run_until(21);
	assert_int_equal(a.timer.due, 0);
	loop_timer_cancel(&never.timer);
}

/* --- deferred calls ---------------------------------------------------------------------------------- */

struct job {
	struct loop_task task;
	unsigned no;
	struct job *next, *victim;
};

static void on_job(void *ctx)
{
	struct job *j = ctx;

	order[fired++] = j->no;
	if (j->victim)
		loop_task_cancel(&j->victim->task);
	if (j->next)
		loop_defer(l, &j->next->task, on_job, j->next);
}

static void test_deferred(void **state _unused_)
{
	struct job a = { .no = 1 }, b = { .no = 2 }, c = { .no = 3 }, gone = { .no = 4 },
		   next = { .no = 5 };

	loop_defer(l, &a.task, on_job, &a);
	loop_defer(l, &b.task, on_job, &b);
	loop_defer(l, &gone.task, on_job, &gone);
	loop_defer(l, &c.task, on_job, &c);
	loop_defer(l, &a.task, on_job, &a); /* already queued */
	a.next = &next;
	b.victim = &gone;
	loop_run_deferred(l);
	assert_int_equal(fired, 4);
	assert_int_equal(order[0], 1);
	assert_int_equal(order[1], 2);
	assert_int_equal(order[2], 3);
	assert_int_equal(order[3], 5);
	loop_run_deferred(l);
	assert_int_equal(fired, 4);
	a.next = NULL;
	loop_defer(l, &a.task, on_job, &a);
	loop_task_cancel(&a.task);
	loop_task_cancel(&a.task);
	loop_run_deferred(l);
	assert_int_equal(fired, 4);
}

/* An object may be freed by the call it deferred. */
static void free_job(void *ctx)
{
	fired++;
	free(ctx);
}

static void test_deferred_free(void **state _unused_)
{
	for (int i = 0; i < 3; i++) {
		struct job *j = calloc(1, sizeof(*j));

		loop_defer(l, &j->task, free_job, j);
	}
	loop_dispatch(l);
	assert_int_equal(fired, 3);
}

/* --- descriptors --------------------------------------------------------------------------------------- */

struct end {
	struct loop_io io;
	int write_fd;
	unsigned calls;
	uint32_t seen;
	struct end *victim;
};

static void on_end(void *ctx, uint32_t events)
{
	struct end *e = ctx;

	e->calls++;
	e->seen |= events;
	fired++;
	if (e->victim)
		loop_io_set(l, &e->victim->io, 0);
}

static void end_open(struct end *e)
{
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	*e = (struct end){ .io = { .fd = fds[0], .fn = on_end, .ctx = e }, .write_fd = fds[1] };
	assert_int_equal(loop_io_set(l, &e->io, EPOLLIN), 0);
}

static void end_close(struct end *e)
{
	loop_io_set(l, &e->io, 0);
	close(e->io.fd);
	closep(&e->write_fd);
}

static void test_readable(void **state _unused_)
{
	struct pollfd p = { loop_fd(l), POLLIN, 0 };
	struct end e;

	end_open(&e);
	assert_int_equal(poll(&p, 1, 0), 0);
	loop_dispatch(l);
	assert_int_equal(e.calls, 0);
	assert_int_equal(write(e.write_fd, "x", 1), 1);
	assert_int_equal(poll(&p, 1, 0), 1);
	loop_dispatch(l);
	loop_dispatch(l);
	assert_int_equal(e.calls, 2); /* level-triggered */
	assert_int_equal(e.seen, EPOLLIN);
	end_close(&e);
}

/* Both are ready in the same turn; whichever runs first removes the other. */
static void test_removed_by_another(void **state _unused_)
{
	struct end a, b;

	end_open(&a);
	end_open(&b);
	a.victim = &b;
	b.victim = &a;
	assert_int_equal(write(a.write_fd, "x", 1), 1);
	assert_int_equal(write(b.write_fd, "x", 1), 1);
	loop_dispatch(l);
	assert_int_equal(a.calls + b.calls, 1);
	end_close(&a);
	end_close(&b);
}

static void test_removes_itself(void **state _unused_)
{
	struct end e;

	end_open(&e);
	e.victim = &e;
	assert_int_equal(write(e.write_fd, "x", 1), 1);
	for (int i = 0; i < 3; i++)
		loop_dispatch(l);
	assert_int_equal(e.calls, 1);
	e.victim = NULL;
	assert_int_equal(loop_io_set(l, &e.io, EPOLLIN), 0);
	loop_dispatch(l);
	assert_int_equal(e.calls, 2);
	end_close(&e);
}

/* A paused pipe that hangs up must not spin the loop. */
static void test_paused_hangup_is_quiet(void **state _unused_)
{
	struct pollfd p = { loop_fd(l), POLLIN, 0 };
	struct end e;

	end_open(&e);
	loop_io_set(l, &e.io, 0);
	close(e.write_fd);
	e.write_fd = -1;
	assert_int_equal(poll(&p, 1, 0), 0);
	loop_dispatch(l);
	assert_int_equal(e.calls, 0);
	loop_io_set(l, &e.io, EPOLLIN);
	loop_dispatch(l);
	assert_int_equal(e.calls, 1);
	assert_true(e.seen & EPOLLHUP);
	end_close(&e);
}

static void test_events_per_turn(void **state _unused_)
{
	struct end ends[LOOP_EVENTS_PER_TURN + 10];

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		end_open(&ends[i]);
		ends[i].victim = &ends[i];
		assert_int_equal(write(ends[i].write_fd, "x", 1), 1);
	}
	loop_dispatch(l);
	assert_int_equal(fired, LOOP_EVENTS_PER_TURN);
	loop_dispatch(l);
	assert_int_equal(fired, ARRAY_SIZE(ends));
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		assert_int_equal(ends[i].calls, 1);
		end_close(&ends[i]);
	}
}

static void test_bad_descriptor(void **state _unused_)
{
	struct loop_io io = { .fd = -1 };

	assert_int_equal(loop_io_set(l, &io, EPOLLIN), -EBADF);
	assert_int_equal(io.events, 0);
	assert_int_equal(loop_io_set(l, &io, 0), 0);
}

/* --- signals and the end ------------------------------------------------------------------------------- */

static void on_signal(void *ctx _unused_, int signo)
{
	order[fired++] = (unsigned)signo;
	loop_quit(l);
}

static void test_signals_and_run(void **state _unused_)
{
	struct alarm watchdog = { 0 };
	sigset_t set_, old;

	sigprocmask(SIG_BLOCK, NULL, &old);
	sigemptyset(&set_);
	sigaddset(&set_, SIGUSR1);
	sigaddset(&set_, SIGUSR2);
	assert_int_equal(loop_signals(l, &set_, on_signal, NULL), 0);
	set(&watchdog, 99, 5000);
	raise(SIGUSR2);
	assert_false(loop_quitting(l));
	loop_run(l);
	assert_true(loop_quitting(l));
	assert_int_equal(fired, 1);
	assert_int_equal(order[0], SIGUSR2);
	loop_timer_cancel(&watchdog.timer);
	sigprocmask(SIG_SETMASK, &old, NULL);
}

/* --- a process that was stopped ------------------------------------------------------------------------- */

static void test_absence(void **state _unused_)
{
	struct alarm a = { .no = 1 };
	uint64_t before = clock_skipped_ms();

	loop_dispatch(l);
	loop_timer_set(l, &a.timer, 100, on_alarm, &a);
	usleep(1000 * (LOOP_LATE_MS + 300));
	loop_dispatch(l);
	assert_int_equal(fired, 0);
	assert_true(clock_skipped_ms() - before >= LOOP_LATE_MS);
	run_until(1);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_absence),
		T(test_many_timers_in_order),
		T(test_timer_cancels),
		T(test_timer_is_moved),
		T(test_timer_sets_itself),
		T(test_deferred),
		T(test_deferred_free),
		T(test_readable),
		T(test_removed_by_another),
		T(test_removes_itself),
		T(test_paused_hangup_is_quiet),
		T(test_events_per_turn),
		T(test_bad_descriptor),
		T(test_signals_and_run),
	};

	return RUN(tests, NULL, NULL);
}
