/*
 * The usage ledger's durability: who waits is told once and truly, many to one fdatasync, on a thread that appears only when it is needed.
 * fdatasync is ours here: it counts, waits at a gate and fails on demand, and then does the real thing.
 */
#include "ledger_rig.h"

#include "base/os/file.h"

#include <fcntl.h>
#include <pthread.h>
#include <time.h>
#include <sys/stat.h>
#include <sys/syscall.h>

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

static int setup(void **state)
{
	int r = rig_setup(state);

	open_at(scratch_path(LEDGER), "aa");
	gate_set(false, 0, 0);
	gate.calls = 0;
	return r;
}

static int teardown(void **state)
{
	gate_set(false, 0, 0);
	return rig_teardown(state);
}

/* Until the worker stands in its nth fdatasync. */
static void run_until_syncing(int n)
{
	struct timespec end;
	int r = 0;

	loop_dispatch(loop);
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 60;
	pthread_mutex_lock(&gate.mutex);
	while (gate.calls < n && r == 0)
		r = pthread_cond_timedwait(&gate.cond, &gate.mutex, &end);
	pthread_mutex_unlock(&gate.mutex);
	assert_int_equal(r, 0);
}

/* --- syncs ------------------------------------------------------------------------------------------------ */

static unsigned alone; /* threads of this program without a ledger */

/* A thread that was joined can stand in /proc for a moment more. */
static void assert_threads(unsigned n)
{
	for (int i = 0; i < 500 && threads() != n; i++)
		usleep(10000);
	assert_int_equal(threads(), n);
}

static void test_thread_only_when_needed(void **state _unused_)
{
	struct waiter w[3] = { 0 };

	wait_for(&w[0]); /* nothing was written */
	run_until(&w[0].calls, 1);
	assert_int_equal(w[0].error, 0);
	append_turn();
	loop_dispatch(loop);
	assert_int_equal(sync_calls(), 0);
	assert_threads(alone);
	wait_for(&w[1]);
	run_until(&w[1].calls, 1);
	assert_int_equal(sync_calls(), 1);
	assert_threads(alone + 1);
	wait_for(&w[2]); /* durable already */
	run_until(&w[2].calls, 1);
	assert_int_equal(sync_calls(), 1);
	l = ledger_free(l);
	assert_threads(alone);
	assert_int_equal(sync_calls(), 1);
}

static void test_many_to_one(void **state _unused_)
{
	struct waiter first[50] = { 0 }, second[50] = { 0 };

	append_turn();
	for (size_t i = 0; i < 50; i++)
		wait_for(&first[i]);
	gate_set(true, 0, 0);
	run_until_syncing(1);
	append_turn();
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

	append_turn();
	wait_for(&a);
	gate_set(true, 0, 0);
	run_until_syncing(1);
	append_turn();
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
	append_turn();
	wait_for(&before);
	wait_for(&during);
	wait_for(&stays);
	ledger_wait_cancel(&before.wait);
	ledger_wait_cancel(&before.wait);
	gate_set(true, 0, 0);
	run_until_syncing(1);
	append_turn();
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

	append_turn();
	wait_for(&a);
	gate_set(true, 0, 0);
	run_until_syncing(1);
	ledger_wait_cancel(&a.wait);
	append_turn();
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
	append_turn();
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
	struct ledger_limits small = { .file_max = 2000 };
	struct waiter w = { 0 };
	char dir[64], path[96];
	unsigned files;

	snprintf(dir, sizeof(dir), "/dev/shm/acpd-unit-%d", getpid());
	snprintf(path, sizeof(path), "%s/" LEDGER, dir);
	mkdir(dir, 0700);
	l = ledger_free(l);
	open_at(path, "aa");
	append_turn();
	wait_for(&w);
	loop_dispatch(loop);
	assert_int_equal(w.calls, 1);
	assert_int_equal(w.error, 0);
	/* and a file that is closed is let go */
	files = count_dir("/proc/self/fd");
	ledger_limit(l, &small);
	for (unsigned i = 0; i < 100; i++) {
		append_turn();
		turn(0);
	}
	assert_true(count_dir(dir) > 4);
	assert_in_range(count_dir("/proc/self/fd"), files - 1, files);
	l = ledger_free(l);
	file_remove_tree(dir);
	assert_int_equal(sync_calls(), 0);
	assert_threads(alone);
}

/* --- the end ---------------------------------------------------------------------------------------------- */

static void test_free_while_it_runs(void **state _unused_)
{
	struct waiter a = { 0 }, b = { 0 }, c = { 0 };

	append_turn();
	wait_for(&a);
	gate_set(true, 0, 0);
	run_until_syncing(1);
	append_turn();
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

		append_turn();
		wait_for(&a);
		loop_dispatch(loop);
		l = ledger_free(l);
		assert_int_equal(a.calls, 1);
		assert_true(sync_calls() > i);
		open_at(scratch_path(LEDGER), "aa");
	}
}

static void test_free_makes_durable(void **state _unused_)
{
	append_turn();
	l = ledger_free(l);
	assert_int_equal(sync_calls(), 1);
	open_at(scratch_path(LEDGER), "aa");
	l = ledger_free(l); /* nothing was written */
	assert_int_equal(sync_calls(), 1);
}

/* --- failures --------------------------------------------------------------------------------------------- */

static void test_sync_error_is_sticky(void **state _unused_)
{
	struct waiter a = { 0 }, b = { 0 };

	append_turn();
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

/* --- other files with it ---------------------------------------------------------------------------------------- */

static int lowest_free(void)
{
	int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);

	assert_true(fd >= 0);
	return close(fd) == 0 ? fd : -1;
}

/* One that a restore could not find. Returns the syncer's own descriptor of it. */
static int another(void)
{
	int fd = open(scratch_path("other"), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
	int theirs = lowest_free();

	assert_true(fd >= 0 && write(fd, "x", 1) == 1);
	assert_int_equal(
		ledger_sync_also(l, &(struct sync_also){ fd, "/of/another/folder", 1, true }), 0);
	close(fd);
	return theirs;
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void test_others_before_it_is_told(void **state _unused_)
{
	struct waiter a = { 0 }, b = { 0 };
	int first, second, third;

	append_turn();
	first = another();
	second = another();
	wait_for(&a);
	gate_set(true, 0, 0);
	run_until_syncing(1);
	third = another(); /* the next sync's */
	wait_for(&b);
	gate_pass();
	run_until_syncing(2);
	gate_pass();
	run_until_syncing(3);
	turn(30);
	assert_int_equal(a.calls, 0);
	assert_true(is_open(first) && is_open(second));
	gate_pass();
	run_until(&a.calls, 1);
	assert_true(!is_open(first) && !is_open(second) && is_open(third));
	gate_set(false, 0, 0);
	run_until(&b.calls, 1);
	assert_false(is_open(third));
	assert_int_equal(sync_calls(), 5);
}

static void test_others_that_fail(void **state _unused_)
{
	struct waiter a = { 0 }, b = { 0 };
	int fd = another();

	gate_set(false, EIO, 0);
	wait_for(&a);
	run_until(&a.calls, 1);
	assert_int_equal(a.error, -EIO);
	assert_false(is_open(fd));
	gate_set(false, 0, 0);
	fd = another();
	wait_for(&b);
	run_until(&b.calls, 1);
	assert_int_equal(b.error, -EIO);
	assert_false(is_open(fd));
}

static void test_others_at_the_end(void **state _unused_)
{
	struct waiter a = { 0 };
	int running = another(), waiting;

	wait_for(&a);
	gate_set(true, 0, 0);
	run_until_syncing(1);
	waiting = another();
	gate_set(false, 0, 0);
	l = ledger_free(l);
	assert_true(!is_open(running) && !is_open(waiting));
	assert_in_range(sync_calls(), 3, 6);
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
		T(test_others_before_it_is_told),
		T(test_others_that_fail),
		T(test_others_at_the_end),
	};

	alone = threads();
	return RUN(tests, scratch_setup_disk, scratch_done);
}
