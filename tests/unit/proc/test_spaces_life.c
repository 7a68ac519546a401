/* How children live in the namespaces of a session, and that nothing is left of them. */
#include "inside_rig.h"

#include "base/os/file.h"

#include <dirent.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* --- how children live in there -------------------------------------------------------------------------------------- */

static void a_child_is_the_daemons(void **state _unused_)
{
	struct spaces *s;
	struct proc *p;
	struct pollfd nothing = { .fd = -1 };

	NEED_SPACES();
	s = inside_open("a");
	inside_finish(inside_start(s, "exit 7"));
	assert_true(inside_ended.exited);
	assert_int_equal(inside_ended.code, 7);
	inside_finish(inside_start(s, "kill -SEGV $$"));
	assert_false(inside_ended.exited);
	assert_int_equal(inside_ended.code, SIGSEGV);
	p = inside_start(s, "cat; exit 3"); /* ends with its input */
	proc_stop(p);
	inside_finish(p);
	assert_int_equal(inside_ended.code, 3);
	p = inside_start(s, "sleep 1000"); /* does not, and gets a signal */
	proc_stop(p);
	inside_finish(p);
	assert_int_equal(inside_ended.code, SIGTERM);
	p = inside_start(s, "trap '' TERM; while :; do sleep 1; done");
	poll(&nothing, 1, 50);
	proc_kill(p);
	inside_finish(p);
	assert_int_equal(inside_ended.code, SIGKILL);
	inside_close(s);
}

static void a_program_that_is_not_there_is_an_error(void **state _unused_)
{
	char *argv[] = { (char[]){ "/none" }, NULL }, *env[] = { NULL };
	struct proc_spec spec = { .argv = argv, .env = env, .cwd = "/", .session = "a" };
	struct err e = { 0 };

	NEED_SPACES();
	spec.bounds = inside_bounds(inside_open("a"));
	for (int i = 0; i < 20; i++) {
		assert_null(proc_spawn(inside_procs, &spec, &inside_events, NULL, &e));
		assert_string_equal(e.reason, "HARNESS_SPAWN_FAILED");
	}
	argv[0][1] = '\0';
	spec.cwd = "/home/nobody-has-this";
	assert_null(proc_spawn(inside_procs, &spec, &inside_events, NULL, &e));
	assert_string_equal(e.reason, "CWD_NOT_ACCESSIBLE");
	inside_close(spec.bounds.spaces);
	/* nobody enters a dead one */
	spec.bounds.spaces = inside_open("a");
	spaces_ref(spec.bounds.spaces);
	assert_true(spaces_live(spec.bounds.spaces));
	spaces_kill(spec.bounds.spaces);
	while (spaces_live(spec.bounds.spaces))
		sched_yield();
	assert_null(proc_spawn(inside_procs, &spec, &inside_events, NULL, &e));
	assert_string_equal(e.reason, "HARNESS_SPAWN_FAILED");
	assert_false(spaces_live(spec.bounds.spaces));
	spaces_unref(spec.bounds.spaces);
	inside_close(spec.bounds.spaces);
}

/* Orphans too, whatever kernel session they have. */
static void the_end_of_init_is_the_end_of_all(void **state _unused_)
{
	struct spaces *s;
	struct proc *p;

	NEED_SPACES();
	s = inside_open("a");
	p = inside_start(s, "(setsid sh -c 'sleep 1000 & sleep 1000' &); echo up; sleep 1000");
	assert_true(inside_wait(&inside_spoke));
	assert_buf(&inside_said, "up\n");
	spaces_unref(s);
	inside_finish(p);
	assert_int_equal(inside_ended.code, SIGKILL);
}

/* --- nothing is left --------------------------------------------------------------------------------------------------- */

static size_t count_in(const char *dir)
{
	DIR *d = opendir(dir);
	size_t n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

static size_t count_mounts(void)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	size_t n = 0;

	file_read("/proc/self/mountinfo", 1 << 20, &b);
	for (size_t i = 0; i < b.len; i++)
		n += b.data[i] == '\n';
	return n;
}

static size_t count_children(void)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	char path[64];
	size_t n = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	file_read(path, 1 << 20, &b);
	for (size_t i = 0; i < b.len; i++)
		n += b.data[i] == ' ';
	return n;
}

static void nothing_is_left(void **state _unused_)
{
	size_t fds, mounts;

	NEED_SPACES();
	inside_close(inside_open("a"));
	fds = count_in("/proc/self/fd");
	mounts = count_mounts();
	for (unsigned i = 0; i < 200; i += stride(50)) {
		struct spaces *s = inside_open("a");

		if (i % 10 == 0)
			assert_string_equal(
				inside_tell(s,
					    "echo up; setsid sleep 1000 >/dev/null 2>&1 & exit 0"),
				"up\n");
		inside_close(s);
	}
	assert_int_equal(count_in("/proc/self/fd"), fds);
	assert_int_equal(count_mounts(), mounts);
	assert_int_equal(count_children(), 0);
}

/* The limit is raised until there are enough: before that it fails, and leaves nothing. */
static void without_descriptors_it_fails(void **state _unused_)
{
	struct rlimit files, few;
	struct spaces *s = NULL;
	struct fsview *v;
	size_t fds;
	int limit = 0;

	NEED_SPACES();
	v = inside_view("a");
	fds = count_in("/proc/self/fd");
	getrlimit(RLIMIT_NOFILE, &files);
	while (!s) {
		struct err e = { 0 };

		few = (struct rlimit){ (rlim_t)limit++, files.rlim_max };
		setrlimit(RLIMIT_NOFILE, &few);
		s = inside_try(v, &e);
		setrlimit(RLIMIT_NOFILE, &files);
		assert_true(s || e.msg[0]);
		assert_int_equal(count_in("/proc/self/fd"), fds + (s ? 1 : 0));
		assert_int_equal(count_children(), s ? 1 : 0);
	}
	assert_true(limit > 10);
	inside_close(s);
	fsview_free(v);
}

/* A daemon of its own, which is killed: init and what runs in there die with it. */
static void they_die_with_the_daemon(void **state _unused_)
{
	int ends[2];
	char byte;
	pid_t pid;

	NEED_SPACES();
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		struct spaces *s = inside_open("a");

		inside_start(s,
			     "sleep 1000"); /* the pipe stays open in neither of them, but in us */
		write(ends[1], "x", 1);
		for (;;)
			pause();
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	kill(pid, SIGKILL);
	/* what the daemon leaves comes to us, dead */
	for (unsigned n = 0; n < 3; n++)
		assert_true(waitpid(-1, NULL, 0) > 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	close(ends[0]);
}

/* From now on unshare kills its caller. */
static bool die_at_unshare(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { ARRAY_SIZE(code), code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/* A helper that is killed before it has a mount namespace must not pass that of the daemon on. */
static void a_killed_helper_leaves_no_mounts(void **state _unused_)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct fsview *v = fsview_new();

		if (!die_at_unshare())
			_exit(2);
		for (int i = 0; i < 50; i++) {
			struct err e = { 0 };

			if (spaces_new_mounts(v, &e) || !strstr(e.msg, strerror(ECHILD)))
				_exit(1);
		}
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static int run_group(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_is_the_daemons),
		cmocka_unit_test(a_program_that_is_not_there_is_an_error),
		cmocka_unit_test(the_end_of_init_is_the_end_of_all),
		cmocka_unit_test(nothing_is_left),
		cmocka_unit_test(without_descriptors_it_fails),
		cmocka_unit_test(a_killed_helper_leaves_no_mounts),
		cmocka_unit_test(they_die_with_the_daemon),
	};

	return RUN(tests, inside_begin, inside_end);
}

int main(void)
{
	return inside_run(run_group);
}
