/*
 * Processes that a keeper forks: how they end is told apart, what they say comes whole, and time, signals and their silence end the wait.
 */
#include "unit.h"

#include "base/clock.h"
#include "base/os/file.h"
#include "unpack/job/worker_process.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

static int return_it(void *ctx)
{
	return *(int *)ctx;
}

static int die(void *ctx _unused_)
{
	kill(getpid(), SIGKILL);
	pause();
	return 0;
}

static void test_run(void **state _unused_)
{
	int codes[] = { 0, 1, 2, 255 };

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		assert_int_equal(worker_process_run(return_it, &codes[i]), codes[i]);
	assert_int_equal(worker_process_run(die, NULL), WORKER_KILLED);
	/* all are reaped */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

/* Two pieces, of which the second is larger than a pipe, and a code of its own. */
static void say_much(void *ctx, int answer)
{
	char block[100 * 1024];

	file_write_all(answer, "one\n", 4);
	usleep(20000);
	memset(block, *(char *)ctx, sizeof(block));
	file_write_all(answer, block, sizeof(block));
	_exit(7);
}

static void test_hear(void **state _unused_)
{
	struct worker_process w = WORKER_PROCESS_NONE;
	struct verdict v = { .kind = VERDICT_NONE };
	char fill = 'x';
	int r;

	assert_int_equal(worker_process_start(&w, say_much, &fill, &v), 0);
	assert_true(w.pid > 0 && w.from >= 0);
	while ((r = worker_process_hear(&w, 0, 0, &v)) > 0)
		;
	assert_int_equal(r, 0);
	assert_int_equal(buf_len(&w.heard), 4 + 100 * 1024);
	assert_memory_equal(w.heard.data, "one\nxxx", 7);
	assert_int_equal(w.heard.data[w.heard.len - 1], 'x');
	assert_int_equal(worker_process_wait(&w), 7);
	assert_int_equal(w.pid, 0);
	assert_int_equal(w.from, -1);
	assert_int_equal(v.kind, VERDICT_NONE);
	worker_process_end(&w);
	worker_process_end(&w); /* as often as one likes */
}

static void say_too_much(void *ctx _unused_, int answer)
{
	char block[64 * 1024] = { 0 };

	for (;;)
		if (file_write_all(answer, block, sizeof(block)) < 0)
			_exit(3);
}

static void test_too_much(void **state _unused_)
{
	struct worker_process w = WORKER_PROCESS_NONE;
	struct verdict v = { .kind = VERDICT_NONE };
	int r;

	w.heard.max = 1024 * 1024;
	assert_int_equal(worker_process_start(&w, say_too_much, NULL, &v), 0);
	while ((r = worker_process_hear(&w, 0, 0, &v)) > 0)
		;
	assert_int_equal(r, -ENOMEM);
	assert_string_equal(v.reason, "NO_MEMORY");
	/* waiting closes the pipe first, so a worker that writes on does not hold it */
	r = worker_process_wait(&w);
	assert_true(r == 3 || r == WORKER_KILLED);
	worker_process_end(&w);
}

static void say_nothing(void *ctx _unused_, int answer _unused_)
{
	for (;;)
		pause();
}

static void test_time(void **state _unused_)
{
	struct worker_process w = WORKER_PROCESS_NONE;
	struct verdict v = { .kind = VERDICT_NONE };
	uint64_t begun = clock_mono_ms();
	pid_t pid;
	int r;

	assert_int_equal(worker_process_start(&w, say_nothing, NULL, &v), 0);
	pid = w.pid;
	while ((r = worker_process_hear(&w, begun + 60, 9, &v)) > 0)
		;
	assert_true(r < 0);
	assert_true(clock_mono_ms() >= begun + 60);
	assert_int_equal(v.kind, VERDICT_REFUSED);
	assert_string_equal(v.reason, "TIME_LIMIT");
	assert_int_equal(v.limit, 9);
	worker_process_end(&w);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
}

static int be_interrupted(void *ctx _unused_)
{
	struct worker_process w = WORKER_PROCESS_NONE;
	struct verdict v = { .kind = VERDICT_NONE };

	keeper_signals();
	if (worker_process_start(&w, say_nothing, NULL, &v) < 0 ||
	    worker_process_hear(&w, clock_mono_ms() + 10, 1, &v) != 1)
		return 1;
	kill(getpid(), SIGTERM);
	if (worker_process_hear(&w, 0, 0, &v) >= 0 || strcmp(v.reason, "INTERRUPTED") != 0)
		return 2;
	worker_process_end(&w);
	return 0;
}

/* In a process of its own: it takes over signals, and stays interrupted. */
static void test_interrupted(void **state _unused_)
{
	assert_int_equal(worker_process_run(be_interrupted, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_run),	    cmocka_unit_test(test_hear),
		cmocka_unit_test(test_too_much),    cmocka_unit_test(test_time),
		cmocka_unit_test(test_interrupted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
