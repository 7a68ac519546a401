/* The lock of a state directory: one daemon holds it, and it ends with that process whatever its children do. */
#include "unit.h"

#include "proc/owner.h"
#include "proc/table/process_tree.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
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

#define MARK "a-daemon-before"

/* Starts a process that has the mark of an earlier daemon; it ends with the test. */
static pid_t marked(void)
{
	int ends[2];
	pid_t pid;
	char none;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = forked();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		execle("/bin/sleep", "sleep", "600", NULL,
		       (char *[]){ TREE_OWNER_ENV "=" MARK, NULL });
		_exit(1);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &none, 1), 0); /* the program runs */
	close(ends[0]);
	return pid;
}

/* Returns the signal that ends a process of an earlier daemon: SIGKILL of the next daemon, or else SIGTERM of the test.
 * The owner file names a daemon of that pid namespace, and no such process runs in ours. */
static int ends_by(uint64_t namespace)
{
	uint64_t start = tree_start_time(getpid()) + 1;
	pid_t pid = marked();
	char file[256];
	int status;

	snprintf(file, sizeof(file), MARK "\n\n%d %llu %llu\n", (int)getpid(),
		 (unsigned long long)start, (unsigned long long)namespace);
	scratch_write("owner", file, strlen(file));
	assert_int_equal(acquire(scratch_dir()), 0);
	kill(pid, SIGTERM);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	return WTERMSIG(status);
}

static void test_kills_orphans(void **state _unused_)
{
	assert_int_equal(ends_by(tree_pid_namespace()), SIGKILL);
}

/* A daemon of another pid namespace may run: its processes stay. */
static void test_leaves_other_namespaces(void **state _unused_)
{
	assert_int_equal(ends_by(tree_pid_namespace() + 1), SIGTERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_ends_with_its_process, scratch_setup_memory,
						scratch_done),
		cmocka_unit_test_setup_teardown(test_kills_orphans, scratch_setup_memory,
						scratch_done),
		cmocka_unit_test_setup_teardown(test_leaves_other_namespaces, scratch_setup_memory,
						scratch_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
