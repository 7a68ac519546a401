/* The end of a child: its pipe is read before it is closed, however busy the loop was, and no process of it is left. */
#include "unit.h"

#include "base/limits.h"
#include "loop/loop.h"
#include "proc/proc_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINE "a line of a child that is gone\n"
#define LINES 8000 /* more than one read takes */

static struct loop *loop;
static struct proc_host *procs;
static unsigned lines;
static char rest[64];
static bool gone;
static int held = -1; /* the pipe's other end, as something unkillable would have it */
static pid_t child, grandchild;
static struct loop_timer timer;

static int on_line(void *ctx _unused_, struct slice line)
{
	lines += line.n == sizeof(LINE) - 2;
	return 0;
}

static void on_closed(void *ctx _unused_, const char *fault _unused_)
{
}

static void on_gone(void *ctx _unused_, const struct proc_status *st _unused_)
{
	gone = true;
	loop_quit(loop);
}

static void on_rest(void *ctx _unused_, struct slice text)
{
	snprintf(rest, sizeof(rest), "%.*s", (int)text.n, text.p);
}

static const struct proc_events events = { on_line, on_closed, on_gone, on_rest, NULL };

/* The child is reaped: writes, and keeps the loop busy until the pipes are due to be closed. */
static void write_late(void *ctx _unused_)
{
	if (kill(child, 0) == 0) {
		loop_timer_set(loop, &timer, 1, write_late, NULL);
		return;
	}
	for (int i = 0; i < LINES; i++)
		assert_int_equal(write(held, LINE, sizeof(LINE) - 1), sizeof(LINE) - 1);
	assert_int_equal(write(held, "end\r", 4), 4);
	usleep((STOP_DRAIN_MS + 50) * 1000);
}

static void on_signal(void *ctx _unused_, int signo _unused_)
{
	proc_host_reap(procs);
}

static void begin(void)
{
	sigset_t set;

	loop = loop_new();
	procs = proc_host_new(loop, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	assert_int_equal(loop_signals(loop, &set, on_signal, NULL), 0);
}

static void test_pipe_that_is_held(void **state _unused_)
{
	char *argv[] = { (char[]){ "/bin/sleep" }, (char[]){ "1000" }, NULL };
	char *env[] = { NULL }, path[64];
	struct proc_spec spec = { .argv = argv, .env = env, .cwd = "/", .session = "a" };
	struct err e = { 0 };
	struct proc *p;

	begin();
	p = proc_spawn(procs, &spec, &events, NULL, &e);
	assert_non_null(p);
	child = proc_pid(p);
	snprintf(path, sizeof(path), "/proc/%d/fd/1", (int)child);
	held = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(held >= 0 && fcntl(held, F_SETPIPE_SZ, 512 * KIB) > 0);
	proc_kill(p);
	loop_timer_set(loop, &timer, 1, write_late, NULL);
	loop_run(loop);
	assert_true(gone);
	assert_int_equal(lines, LINES);
	assert_string_equal(rest, "end");
	close(held);
	proc_free(p);
	proc_host_free(procs);
	loop_free(loop);
}

static int on_number(void *ctx, struct slice line)
{
	struct proc **p = ctx;
	siginfo_t info;
	char text[16];

	snprintf(text, sizeof(text), "%.*s", (int)line.n, line.p);
	grandchild = atoi(text);
	proc_sweep_turn(*p, UINT64_MAX, 0);
	kill(proc_pid(*p), SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)proc_pid(*p), &info, WEXITED | WNOWAIT), 0);
	proc_host_reap(procs);
	return 0;
}

/* The sweep of a turn excludes all processes here. It still waits when the child ends, and the sweep of the end must not
 * take its result. */
static void test_sweep_of_a_turn_is_dropped_at_the_end(void **state _unused_)
{
	static const struct proc_events numbers = { on_number, on_closed, on_gone, NULL, NULL };
	char *argv[] = { (char[]){ "/bin/sh" }, (char[]){ "-c" },
			 (char[]){ "sleep 1000 & echo $!; exec sleep 1000" }, NULL };
	char *env[] = { NULL };
	struct proc_spec spec = { .argv = argv, .env = env, .cwd = "/", .session = "a" };
	struct err e = { 0 };
	struct proc *p;

	begin();
	procs->groups = cgroups_open("/nonexistent", tree_owner_mark()); /* none */
	gone = false;
	p = proc_spawn(procs, &spec, &numbers, &p, &e);
	assert_non_null(p);
	loop_run(loop);
	assert_true(gone && grandchild > 0);
	assert_int_equal(tree_start_time(grandchild), 0);
	proc_free(p);
	proc_host_free(procs);
	loop_free(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pipe_that_is_held),
		cmocka_unit_test(test_sweep_of_a_turn_is_dropped_at_the_end),
	};

	return RUN(tests, NULL, NULL);
}
