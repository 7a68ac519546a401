/*
 * The usage ledger's durability: who waits is told once and truly, many to one fdatasync, on a thread that appears only when it is needed.
 * fdatasync is ours here: it counts, waits at a gate and fails on demand, and then does the real thing.
 */
#include "unit.h"

#include "base/clock.h"
#include "usage/ledger.h"

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <time.h>
#include <sys/syscall.h>

#define LEDGER "usage.jsonl"

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	bool closed;
	int pass; /* so many may go through the closed gate */
	int calls, fail, sleep_ms;
} gate = { .mutex = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER };

int fdatasync(int fd);
int fdatasync(int fd)
{
	int r, ms;

	pthread_mutex_lock(&gate.mutex);
	gate.calls++;
	pthread_cond_broadcast(&gate.cond);
	while (gate.closed && !gate.pass)
		pthread_cond_wait(&gate.cond, &gate.mutex);
	gate.pass -= gate.closed;
	r = gate.fail;
	ms = gate.sleep_ms;
	pthread_mutex_unlock(&gate.mutex);
	poll(NULL, 0, ms);
	if (!r)
		return (int)syscall(SYS_fdatasync, fd);
	errno = r;
	return -1;
}

static void gate_set(bool closed, int fail, int sleep_ms)
{
	pthread_mutex_lock(&gate.mutex);
	gate.closed = closed;
	gate.fail = fail;
	gate.sleep_ms = sleep_ms;
	pthread_cond_broadcast(&gate.cond);
	pthread_mutex_unlock(&gate.mutex);
}

static void gate_pass(void)
{
	pthread_mutex_lock(&gate.mutex);
	gate.pass++;
	pthread_cond_broadcast(&gate.cond);
	pthread_mutex_unlock(&gate.mutex);
}

static int sync_calls(void)
{
	int n;

	pthread_mutex_lock(&gate.mutex);
	n = gate.calls;
	pthread_mutex_unlock(&gate.mutex);
	return n;
}

static struct loop *loop;
static struct ledger *l;

static void open_at(const char *path)
{
	struct err e = { 0 };

	l = ledger_open(loop, path, "aa", &e);
	if (!l)
		fail_msg("%s", e.msg);
}

static int setup(void **state _unused_)
{
	loop = loop_new();
	unlink(scratch_path(LEDGER));
	open_at(scratch_path(LEDGER));
	gate_set(false, 0, 0);
	gate.calls = 0;
	return loop ? 0 : -1;
}

static int teardown(void **state _unused_)
{
	gate_set(false, 0, 0);
	l = ledger_free(l);
	loop = loop_free(loop);
	return 0;
}

struct waiter {
	struct ledger_wait wait;
	int calls, error;
	struct waiter *cancel, *again; /* what its callback does */
};

static void on_done(void *ctx, int error)
{
	struct waiter *w = ctx;

	w->calls++;
	w->error = error;
	if (w->cancel)
		ledger_wait_cancel(&w->cancel->wait);
	if (w->again)
		ledger_sync(l, &w->again->wait, on_done, w->again);
}

static void wait_for(struct waiter *w)
{
	ledger_sync(l, &w->wait, on_done, w);
	assert_int_equal(w->calls, 0); /* never from within */
}

static void turn(int ms)
{
	struct pollfd p = { loop_fd(loop), POLLIN, 0 };

	poll(&p, 1, ms);
	loop_dispatch(loop);
}

static void run_until(const int *calls, int want)
{
	uint64_t end = clock_mono_ms() + 10000;

	while (*calls < want && clock_mono_ms() < end)
		turn(20);
	assert_int_equal(*calls, want);
}

/* Until the worker stands in its nth fdatasync. */
static void run_until_syncing(int n)
{
	struct timespec end;
	int r = 0;

	loop_dispatch(loop);
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 10;
	pthread_mutex_lock(&gate.mutex);
	while (gate.calls < n && r == 0)
		r = pthread_cond_timedwait(&gate.cond, &gate.mutex, &end);
	pthread_mutex_unlock(&gate.mutex);
	assert_int_equal(r, 0);
}

static void append(void)
{
	assert_true(ledger_append(l, SLICE("{\"type\":\"turn\"}")) > 0);
}

static unsigned count_dir(const char *path)
{
	DIR *d = opendir(path);
	unsigned n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static unsigned threads(void)
{
	return count_dir("/proc/self/task");
}

/* --- syncs ------------------------------------------------------------------------------------------------ */

static void test_thread_only_when_needed(void **state _unused_)
{
	struct waiter w[3] = { 0 };
	unsigned before = threads();

	wait_for(&w[0]); /* nothing was written */
	run_until(&w[0].calls, 1);
	assert_int_equal(w[0].error, 0);
	append();
	loop_dispatch(loop);
	assert_int_equal(sync_calls(), 0);
	assert_int_equal(threads(), before);
	wait_for(&w[1]);
	run_until(&w[1].calls, 1);
	assert_int_equal(sync_calls(), 1);
	assert_int_equal(threads(), before + 1);
	wait_for(&w[2]); /* durable already */
	run_until(&w[2].calls, 1);
	assert_int_equal(sync_calls(), 1);
	l = ledger_free(l);
	assert_int_equal(threads(), before);
	assert_int_equal(sync_calls(), 1);
}

static void test_many_to_one(void **state _unused_)
{
	struct waiter first[50] = { 0 }, second[50] = { 0 };

	append();
	for (size_t i = 0; i < 50; i++)
		wait_for(&first[i]);
	gate_set(true, 0, 0);
	run_until_syncing(1);
	append();
	for (size_t i = 0; i < 50; i++)
		wait_for(&second[i]);
	turn(0);
	turn(30);
	assert_int_equal(first[0].calls + second[0].calls, 0);
	gate_set(false, 0, 0);
	run_until(&first[49].calls, 1);
	run_until(&second[49].calls, 1);
	for (size_t i = 0; i < 50; i++) {
		assert_true(first[i].calls == 1 && first[i].error == 0);
		assert_true(second[i].calls == 1 && second[i].error == 0);
	}
	assert_int_equal(sync_calls(), 2);
}

/* What is written while a sync runs is not covered by it. */
static void test_later_ones_by_the_next(void **state _unused_)
{
	struct waiter a = { 0 }, b = { 0 };

	append();
	wait_for(&a);
	gate_set(true, 0, 0);
	run_until_syncing(1);
	append();
	wait_for(&b);
	turn(0);
	gate_pass(); /* one may go, the next stands again */
	run_until(&a.calls, 1);
	run_until_syncing(2);
	turn(30);
	assert_int_equal(b.calls, 0);
	assert_int_equal(sync_calls(), 2);
	gate_set(false, 0, 0);
	run_until(&b.calls, 1);
}

static void test_cancel_at_any_moment(void **state _unused_)
{
	struct waiter never = { 0 }, before = { 0 }, during = { 0 }, after = { 0 }, stays = { 0 };

	ledger_wait_cancel(&never.wait);
	append();
	wait_for(&before);
	wait_for(&during);
	wait_for(&stays);
	ledger_wait_cancel(&before.wait);
	ledger_wait_cancel(&before.wait);
	gate_set(true, 0, 0);
	run_until_syncing(1);
	append();
	wait_for(&after);
	ledger_wait_cancel(&during.wait);
	ledger_wait_cancel(&after.wait);
	gate_set(false, 0, 0);
	run_until(&stays.calls, 1);
	ledger_wait_cancel(&stays.wait);
	turn(30);
	assert_int_equal(before.calls + during.calls + after.calls, 0);
	assert_int_equal(sync_calls(), 1);
}

static void test_all_cancelled_while_it_runs(void **state _unused_)
{
	struct waiter a = { 0 }, b = { 0 };

	append();
	wait_for(&a);
	gate_set(true, 0, 0);
	run_until_syncing(1);
	ledger_wait_cancel(&a.wait);
	append();
	gate_set(false, 0, 0);
	turn(100);
	wait_for(&b);
	run_until(&b.calls, 1);
	assert_int_equal(b.error, 0);
	assert_int_equal(sync_calls(), 2);
}

static void test_callbacks_that_meddle(void **state _unused_)
{
	struct waiter a = { 0 }, b = { 0 }, c = { 0 };

	a.cancel = &b;
	a.again = &c;
	append();
	wait_for(&a);
	wait_for(&b);
	run_until(&a.calls, 1);
	run_until(&c.calls, 1);
	turn(20);
	assert_int_equal(a.calls + b.calls + c.calls, 2);
	assert_int_equal(sync_calls(), 1);
}

static void test_in_memory_without_thread(void **state _unused_)
{
	struct waiter w = { 0 };
	unsigned before = threads();
	char path[64];

	snprintf(path, sizeof(path), "/dev/shm/acpd-unit-%d", getpid());
	l = ledger_free(l);
	open_at(path);
	append();
	wait_for(&w);
	loop_dispatch(loop);
	assert_int_equal(w.calls, 1);
	assert_int_equal(w.error, 0);
	l = ledger_free(l);
	unlink(path);
	assert_int_equal(sync_calls(), 0);
	assert_int_equal(threads(), before);
}

/* --- the end ---------------------------------------------------------------------------------------------- */

static void test_free_while_it_runs(void **state _unused_)
{
	struct waiter a = { 0 }, b = { 0 }, c = { 0 };

	append();
	wait_for(&a);
	gate_set(true, 0, 0);
	run_until_syncing(1);
	append();
	wait_for(&b);
	wait_for(&c);
	ledger_wait_cancel(&c.wait);
	gate_set(false, 0, 50);
	l = ledger_free(l);
	assert_true(a.calls == 1 && a.error == -ECANCELED);
	assert_true(b.calls == 1 && b.error == -ECANCELED);
	assert_int_equal(c.calls, 0);
	assert_int_equal(sync_calls(), 2); /* the second record is durable as well */
}

/* Between the order and the worker's waking, over and over. */
static void test_free_at_once(void **state _unused_)
{
	for (int i = 0; i < 200; i++) {
		struct waiter a = { 0 };

		append();
		wait_for(&a);
		loop_dispatch(loop);
		l = ledger_free(l);
		assert_int_equal(a.calls, 1);
		assert_true(sync_calls() > i);
		open_at(scratch_path(LEDGER));
	}
}

static void test_free_makes_durable(void **state _unused_)
{
	append();
	l = ledger_free(l);
	assert_int_equal(sync_calls(), 1);
	open_at(scratch_path(LEDGER));
	l = ledger_free(l); /* nothing was written */
	assert_int_equal(sync_calls(), 1);
}

/* --- failures --------------------------------------------------------------------------------------------- */

static void test_sync_error_is_sticky(void **state _unused_)
{
	struct waiter a = { 0 }, b = { 0 };

	append();
	gate_set(false, EIO, 0);
	wait_for(&a);
	run_until(&a.calls, 1);
	assert_int_equal(a.error, -EIO);
	assert_int_equal(ledger_error(l), -EIO);
	gate_set(false, 0, 0);
	assert_true(ledger_append(l, SLICE("{}")) == 0);
	wait_for(&b);
	run_until(&b.calls, 1);
	assert_int_equal(b.error, -EIO);
	assert_int_equal(sync_calls(), 1);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_thread_only_when_needed),
		T(test_many_to_one),
		T(test_later_ones_by_the_next),
		T(test_cancel_at_any_moment),
		T(test_all_cancelled_while_it_runs),
		T(test_callbacks_that_meddle),
		T(test_in_memory_without_thread),
		T(test_free_while_it_runs),
		T(test_free_at_once),
		T(test_free_makes_durable),
		T(test_sync_error_is_sticky),
	};

	return RUN(tests, scratch_setup, scratch_done);
}
