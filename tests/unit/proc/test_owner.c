/* The lock of a state directory: one daemon holds it, and it ends with that process whatever its children do. */
#include "unit.h"

#include "proc/owner.h"

#include <signal.h>
#include <sys/wait.h>

static int acquire(const char *state)
{
	struct owner_lock l = OWNER_LOCK_INIT;
	struct err e = { 0 };
	int r = owner_acquire(&l, state, &e);

	if (r < 0)
		assert_string_equal(e.reason, "STATE_IN_USE");
	owner_release(&l);
	return r;
}

static pid_t forked(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	return pid;
}

/* A daemon that holds the lock, and a child of it that never comes to run its program. Both numbers come by pipe. */
static void hold(const char *state, int to)
{
	struct owner_lock l = OWNER_LOCK_INIT;
	struct err e = { 0 };
	pid_t pids[2] = { getpid(), 0 };

	if (owner_acquire(&l, state, &e) < 0)
		_exit(1);
	pids[1] = forked();
	if (pids[1] > 0 && write(to, pids, sizeof(pids)) != sizeof(pids))
		_exit(2);
	pause();
	_exit(0);
}

static void test_ends_with_its_process(void **state _unused_)
{
	const char *dir = scratch_dir();
	pid_t pids[2], daemon;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	daemon = forked();
	if (daemon == 0)
		hold(dir, ends[1]);
	assert_int_equal(read(ends[0], pids, sizeof(pids)), sizeof(pids));
	assert_int_equal(acquire(dir), -EBUSY);
	kill(daemon, SIGKILL);
	assert_int_equal(waitpid(daemon, NULL, 0), daemon);
	assert_int_equal(kill(pids[1], 0), 0);
	assert_int_equal(acquire(dir), 0);
	kill(pids[1], SIGKILL);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_ends_with_its_process, scratch_setup_memory,
						scratch_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
