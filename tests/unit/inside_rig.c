#include "inside_rig.h"

#include "base/clock.h"
#include "base/os/file.h"
#include "loop/loop.h"

#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define PLAIN 61501
#define WAIT_MS 60000

struct proc_host *inside_procs;
struct buf inside_said;
struct proc_status inside_ended;
bool inside_gone, inside_spoke;
static struct loop *inside_loop;

/* --- a session --------------------------------------------------------------------------------------------------- */

static void set_program(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 32);

	assert_true(n > 0);
	path[n] = '\0';
	*strstr(path, "/tests/unit/") = '\0';
	strcat(path, "/acpd-init");
	setenv("ACPD_INIT", path, 1);
}

struct proc_bounds inside_bounds(struct spaces *s)
{
	bool root = geteuid() == 0;

	return (struct proc_bounds){ .switch_user = root,
				     .uid = root ? INSIDE_AGENT : 0,
				     .gid = root ? INSIDE_AGENT : 0,
				     .spaces = s };
}

void inside_give(const char *dir)
{
	struct proc_bounds b = inside_bounds(NULL);

	assert_int_equal(file_mkdirs(scratch_path(dir), 0711), 0);
	if (b.switch_user)
		assert_int_equal(chown(scratch_path(dir), b.uid, b.gid), 0);
}

struct fsview *inside_view(const char *session)
{
	struct fsview *v = fsview_new();
	struct err e = { 0 };
	char home[64], tmp[80], run[64];

	snprintf(home, sizeof(home), "state/homes/%s", session);
	snprintf(tmp, sizeof(tmp), "%s/system-tmp", home);
	snprintf(run, sizeof(run), "run/mcp/%s", session);
	inside_give("ws");
	inside_give(home);
	inside_give(tmp);
	inside_give(run);
	assert_int_equal(file_mkdirs(scratch_path("tmp"), 0755), 0);
	fsview_add(v, FSVIEW_WRITABLE, scratch_path("ws"), &e);
	fsview_add(v, FSVIEW_WRITABLE, scratch_path(home), &e);
	fsview_add(v, FSVIEW_SHOWN, scratch_path(run), &e);
	fsview_add(v, FSVIEW_SECRET, scratch_path("state"), &e);
	fsview_add(v, FSVIEW_SECRET, scratch_path("run"), &e);
	fsview_add(v, FSVIEW_HIDDEN, "/home", &e);
	fsview_add(v, FSVIEW_HIDDEN, "/root", &e);
	fsview_put(v, scratch_path("tmp"), scratch_path(tmp), &e);
	return v;
}

struct spaces *inside_try(struct fsview *v, struct err *e)
{
	struct proc_bounds b = inside_bounds(NULL);

	return fsview_settle(v, e) < 0 ? NULL : spaces_new(v, "a", b.switch_user, b.uid, b.gid, e);
}

struct spaces *inside_open(const char *session)
{
	struct fsview *v = inside_view(session);
	struct err e = { 0 };
	struct spaces *s = inside_try(v, &e);

	fsview_free(v);
	if (!s)
		fail_msg("%s: %s", e.reason, e.msg);
	return s;
}

/* And waits until none of ours is left. */
void inside_close(struct spaces *s)
{
	spaces_unref(s);
	while (waitpid(-1, NULL, 0) > 0)
		;
}

bool inside_possible(void)
{
	const struct spaces_missing *m = spaces_missing();

	if (m)
		print_message("no namespaces here: %s: %s\n", m->what, m->why);
	return !m;
}

/* --- children ------------------------------------------------------------------------------------------------------ */

static int on_line(void *ctx _unused_, struct slice line)
{
	buf_add_slice(&inside_said, line);
	inside_spoke = true;
	return buf_putc(&inside_said, '\n');
}

static void on_closed(void *ctx _unused_, const char *fault _unused_)
{
}

static void on_exit_of(void *ctx _unused_, const struct proc_status *st)
{
	inside_ended = *st;
	if (*st->stderr_tail) /* valid for now */
		print_message("%s\n", st->stderr_tail);
	inside_ended.stderr_tail = NULL;
	inside_gone = true;
}

const struct proc_events inside_events = { on_line, on_closed, on_exit_of, NULL, NULL };

struct proc *inside_start(struct spaces *s, const char *script)
{
	char *argv[] = { (char[]){ "/bin/sh" }, (char[]){ "-c" }, xstrdup(script), NULL };
	char *env[] = { (char[]){ "PATH=/usr/bin:/bin" }, NULL };
	struct proc_spec spec = { .argv = argv,
				  .env = env,
				  .cwd = scratch_path("ws"),
				  .session = "a",
				  .bounds = inside_bounds(s) };
	struct err e = { 0 };
	struct proc *p;

	inside_said.len = inside_said.pos = 0;
	inside_gone = inside_spoke = false;
	p = proc_spawn(inside_procs, &spec, &inside_events, NULL, &e);
	if (!p)
		fail_msg("%s: %s", e.reason, e.msg);
	free(argv[2]);
	return p;
}

bool inside_wait(const bool *done)
{
	uint64_t end = clock_mono_ms() + WAIT_MS;

	while (!*done && clock_mono_ms() < end) {
		struct pollfd f = { .fd = loop_fd(inside_loop), .events = POLLIN };

		if (poll(&f, 1, 100) > 0)
			loop_dispatch(inside_loop);
	}
	return *done;
}

void inside_finish(struct proc *p)
{
	assert_true(inside_wait(&inside_gone));
	proc_free(p);
}

/* What a script prints in there. */
const char *inside_tell(struct spaces *s, const char *script)
{
	inside_finish(inside_start(s, script));
	buf_putc(&inside_said, '\0');
	return inside_said.data;
}

/* --- as whom ------------------------------------------------------------------------------------------------------------ */

static void on_signal(void *ctx _unused_, int signo _unused_)
{
	proc_host_reap(inside_procs);
}

int inside_begin(void **state)
{
	sigset_t set;

	set_program();
	if (scratch_setup(state) < 0 || chmod(scratch_dir(), 0755) < 0)
		return -1;
	inside_loop = loop_new();
	inside_procs = proc_host_new(inside_loop, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	return loop_signals(inside_loop, &set, on_signal, NULL);
}

int inside_end(void **state)
{
	inside_procs = proc_host_free(inside_procs);
	inside_loop = loop_free(inside_loop);
	buf_done(&inside_said);
	return scratch_done(state);
}

/* What it prints is shown only if it fails: the counts of this file are those of root. */
static int run_as_plain_user(int (*group)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		FILE *text = tmpfile();
		char line[4096];
		int failed;

		dup2(fileno(text), 1);
		dup2(fileno(text), 2);
		if (setgroups(0, NULL) < 0 || setresgid(PLAIN, PLAIN, PLAIN) < 0 ||
		    setresuid(PLAIN, PLAIN, PLAIN) < 0)
			_exit(2);
		prctl(PR_SET_DUMPABLE, 1);
		netns_prepare();
		failed = group();
		fflush(stdout);
		rewind(text);
		while (failed && fgets(line, sizeof(line), text))
			dprintf(3, "plain user: %s", line);
		_exit(failed ? 1 : 0);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int inside_run(int (*group)(void))
{
	int failed;

	if (geteuid() != 0) {
		netns_prepare();
		return group();
	}
	/* what the tests mount is theirs */
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		print_message("mounts of the tests are the machine's\n");
	dup2(1, 3);
	failed = group();
	return run_as_plain_user(group) || failed;
}
