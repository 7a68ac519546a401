/*
 * spawn.c - starts a child: fork, setup by system calls, exec; a failed step is reported over a
 * pipe.
 *
 * The pipe closes at exec, so EOF means success. The order in child_main is forced. Cgroup and
 * namespaces need rights that the user switch drops, and the switch clears PDEATHSIG (prctl(2)).
 * The system call filter is last, because it can refuse the steps before it. A child in a pid
 * namespace is cloned by an intermediate process, which reports its pid and exits.
 */
#include "proc/spawn.h"

#include "base/limits.h"
#include "base/os/child.h"
#include "base/os/file.h"
#include "base/os/local_sock.h"
#include "confine/confine_self.h"

#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* What a child has to say, sent over the status pipe: what went wrong, or its number. */
struct report {
	int step, err;
};

enum spawn_step {
	STEP_NUMBER, /* nothing went wrong: err is a pid */
	STEP_PIPES,
	STEP_CGROUP,
	STEP_NETWORK,
	STEP_SPACES,
	STEP_USER,
	STEP_CWD,
	STEP_CONFINE,
	STEP_EXEC,
	STEP_MAX
};

static const char *const step_text[STEP_MAX] = {
	[STEP_PIPES] = "setting up pipes",
	[STEP_CGROUP] = "joining the cgroup",
	[STEP_NETWORK] = "entering the network namespace",
	[STEP_SPACES] = "entering the namespaces",
	[STEP_USER] = "switching user",
	[STEP_CWD] = "entering the working directory",
	[STEP_CONFINE] = "confining what it may do",
	[STEP_EXEC] = "starting the program",
};

struct pipes {
	int in[2], out[2], err[2], status[2];
	int listener[2]; /* socket pair, where there will be one */
};

static void pipes_close(struct pipes *p)
{
	int *all[] = { p->in, p->out, p->err, p->status, p->listener };

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		for (int k = 0; k < 2; k++)
			closep(&all[i][k]);
}

_noreturn_ static void child_fail(int fd, enum spawn_step step)
{
	struct report r = { step, errno };

	if (write(fd, &r, sizeof(r)) < 0)
		_exit(126);
	_exit(127);
}

static rlim_t files_at_start; /* soft; 0: it is still in force */

void spawn_raise_files(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur == files.rlim_max)
		return;
	files_at_start = files.rlim_cur;
	files.rlim_cur = files.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &files) < 0)
		files_at_start = 0;
}

static bool write_oom_score(const char *score)
{
	_cleanup_(closep) int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, score, strlen(score)) > 0;
}

bool spawn_spare_daemon(void)
{
	_cleanup_(buf_done) struct buf now = { 0 };

	if (file_read("/proc/self/oom_score_adj", 16, &now) == 0 && buf_putc(&now, '\0') == 0 &&
	    atoi(now.data) <= atoi(OOM_SCORE_DAEMON))
		return true; /* whoever started us has seen to it */
	return write_oom_score(OOM_SCORE_DAEMON);
}

static void child_files(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return;
	files.rlim_max = MIN(files.rlim_max, (rlim_t)CHILD_NOFILE);
	files.rlim_cur = MIN(files_at_start ? files_at_start : files.rlim_cur, files.rlim_max);
	setrlimit(RLIMIT_NOFILE, &files);
}

/* The count is of the uid. Where a cgroup counts the session's own, this one is only for all of them together. */
static rlim_t process_limit(const struct proc_group *g)
{
	rlim_t pids = g ? (rlim_t)proc_group_limits(g)->pids : 0;
	bool counted = g && !*proc_group_why(g, CGROUP_PIDS);

	return pids && (!counted || pids > CHILD_NPROC) ? pids : CHILD_NPROC;
}

static void child_limits(const struct proc_spec *spec)
{
	struct rlimit core = { 0, 0 }, procs;

	setrlimit(RLIMIT_CORE, &core);
	child_files();
	procs.rlim_cur = procs.rlim_max = process_limit(spec->bounds.group);
	if (spec->bounds.switch_user) /* with our own uid it would count us and our neighbours */
		setrlimit(RLIMIT_NPROC, &procs);
	/* asked for, not needed. Written with CAP_SYS_RESOURCE it is also the least that the child can have from then on: else
	 * that would still be the daemon's own. */
	write_oom_score(OOM_SCORE_CHILD);
}

static bool child_user(const struct proc_bounds *b)
{
	if (confinement_drop_bounding(b->confinement) < 0)
		return false;
	if (!b->switch_user)
		return true;
	errno = -confine_self_switch(b->uid, b->gid);
	return !errno && (b->may_gain || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
}

/* What answers refused calls is the parent's, and has to be there before the first of them. */
static bool child_confine(const struct proc_bounds *b, int listener_to)
{
	int listener = -1;
	int r = confinement_enter(b->confinement, listener_to < 0 ? NULL : &listener);

	errno = -r;
	return r == 0 && (listener < 0 || handed_fd_send(listener_to, listener));
}

/* What a child has until exec: 0 to 2 are pipes, 3 what the spec gives or closed, and these stand behind. */
enum { CHILD_STATUS = 4, CHILD_LISTENER = 5, CHILD_ENDS = 6 };

static bool child_streams(const struct proc_spec *spec, const struct pipes *p)
{
	return spec->inherits ||
	       (dup2(p->in[0], 0) >= 0 && dup2(p->out[1], 1) >= 0 && dup2(p->err[1], 2) >= 0);
}

static int fd_move_up(int fd)
{
	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, CHILD_ENDS);
}

/* Whatever is still needed is first moved out of the way. */
static bool child_descriptors(const struct proc_spec *spec, const struct pipes *p, int *status)
{
	int data = spec->data ? fd_move_up(spec->data) : -1;
	int report = fd_move_up(*status), listener = fd_move_up(p->listener[1]);

	if (report < 0 || (spec->data && data < 0) || (p->listener[1] >= 0 && listener < 0) ||
	    !child_streams(spec, p) || dup3(report, CHILD_STATUS, O_CLOEXEC) < 0)
		return false;
	*status = CHILD_STATUS;
	if (listener >= 0 && dup3(listener, CHILD_LISTENER, O_CLOEXEC) < 0)
		return false;
	if (spec->data && dup2(data, 3) < 0)
		return false;
	if (!spec->data)
		close(3);
	/* What the daemon, or a library, has opened without close-on-exec must not reach the program. */
	syscall(SYS_close_range, listener < 0 ? CHILD_LISTENER : CHILD_ENDS, ~0u, 0);
	return true;
}

static bool child_groups(const struct cgroup_join *groups)
{
	for (unsigned i = 0; groups && i < groups->n; i++)
		if (write(groups->fds[i], "0", 1) < 0)
			return false;
	return true;
}

/* Only a child of who enters a pid namespace is in it. That one is the daemon's, as if it had no one in between. */
static void child_inside(int status)
{
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
	struct report r = { STEP_NUMBER, pid };

	if (pid < 0)
		child_fail(status, STEP_SPACES);
	if (pid > 0)
		_exit(write(status, &r, sizeof(r)) < 0 ? 126 : 0);
}

static void child_spaces(const struct proc_bounds *b, int status)
{
	int r = b->netns ? netns_enter(b->netns) : b->spaces ? netns_enter_users() : 0;

	if (r < 0) {
		errno = -r;
		child_fail(status, b->netns ? STEP_NETWORK : STEP_SPACES);
	}
	if (!b->spaces)
		return;
	r = spaces_enter(b->spaces);
	if (r < 0)
		child_fail(status, STEP_SPACES);
	if (r > 0)
		child_inside(status);
}

_noreturn_ static void child_main(const struct proc_spec *spec, const struct pipes *p,
				  const struct cgroup_join *groups)
{
	int status = p->status[1];

	close(p->status[0]);
	child_reset_signals();
	if (!child_groups(groups))
		child_fail(status, STEP_CGROUP);
	child_limits(spec);
	child_spaces(&spec->bounds, status);
	/* A kernel session of its own: no terminal, and its orphans are found by its number (table/process_tree.h). */
	setsid();
	if (!child_descriptors(spec, p, &status))
		child_fail(status, STEP_PIPES);
	if (!child_user(&spec->bounds))
		child_fail(status, STEP_USER);
	/* after the uid change, which clears it */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (child_is_orphan(status))
		_exit(127);
	/* As the new user: a directory that it cannot enter is an error. */
	if (chdir(spec->cwd) < 0)
		child_fail(status, STEP_CWD);
	if (!child_confine(&spec->bounds, p->listener[1] < 0 ? -1 : CHILD_LISTENER))
		child_fail(status, STEP_CONFINE);
	execve(spec->argv[0], spec->argv, spec->env);
	child_fail(status, STEP_EXEC);
}

static int pipes_open(struct pipes *p, bool listener)
{
	*p = (struct pipes){ { -1, -1 }, { -1, -1 }, { -1, -1 }, { -1, -1 }, { -1, -1 } };
	if (pipe2(p->in, O_CLOEXEC) < 0 || pipe2(p->out, O_CLOEXEC) < 0 ||
	    pipe2(p->err, O_CLOEXEC) < 0 || pipe2(p->status, O_CLOEXEC) < 0 ||
	    (listener && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, p->listener) < 0))
		return -errno;
	return 0;
}

struct exec_size {
	size_t all, largest;
	const char *what; /* the largest */
};

static void add_sizes(struct exec_size *size, char *const *list)
{
	for (; *list; list++) {
		size_t n = strlen(*list) + 1;

		size->all += n;
		if (n > size->largest) {
			size->largest = n;
			size->what = *list;
		}
	}
}

/* A variable is named, but its value may be a secret. */
static int exec_too_large(const struct proc_spec *spec, struct err *e)
{
	struct exec_size size = { 0, 0, "" };
	int name;

	add_sizes(&size, spec->argv);
	add_sizes(&size, spec->env);
	name = (int)MIN(strcspn(size.what, "="), 40u);
	return err_set(e, -E2BIG, RPC_INTERNAL_ERROR, "HARNESS_SPAWN_FAILED",
		       "cannot start %s: its arguments and variables have %zu bytes, the largest "
		       "(%.*s) %zu; Linux accepts %lu in one and about %ld in all",
		       spec->argv[0], size.all, name, size.what, size.largest, ARG_BYTES_MAX,
		       sysconf(_SC_ARG_MAX));
}

/* Waits until the child has called exec (EOF), and for what it reports before. pid: of the child; one that has entered
 * a pid namespace says the number of its own there, and has ended. */
static int await_exec(int fd, pid_t *pid, struct err *e, const struct proc_spec *spec)
{
	struct report r, failed = { STEP_NUMBER, 0 };
	pid_t outer = *pid;
	ssize_t n;

	while ((n = RETRY(read(fd, &r, sizeof(r)))) != 0) {
		if (n != (ssize_t)sizeof(r) || r.step < 0 || r.step >= STEP_MAX)
			return err_set(e, -EIO, RPC_INTERNAL_ERROR, "HARNESS_SPAWN_FAILED",
				       "%s died before it was started", spec->argv[0]);
		if (r.step == STEP_NUMBER)
			*pid = r.err;
		else
			failed = r;
	}
	if (*pid != outer)
		RETRY(waitpid(outer, NULL, 0));
	if (failed.step == STEP_NUMBER)
		return 0;
	if (failed.step == STEP_EXEC && failed.err == E2BIG)
		return exec_too_large(spec, e);
	return err_set(e, -failed.err, RPC_INTERNAL_ERROR,
		       failed.step == STEP_CWD ? "CWD_NOT_ACCESSIBLE" : "HARNESS_SPAWN_FAILED",
		       "%s failed for %s: %s", step_text[failed.step], spec->argv[0],
		       strerror(failed.err));
}

static void own_ends(struct pipes *p, bool inherits, struct spawned *ret)
{
	ret->in = ret->out = ret->errout = -1;
	if (inherits)
		return;
	ret->in = TAKE_FD(p->in[1]);
	ret->out = TAKE_FD(p->out[0]);
	ret->errout = TAKE_FD(p->err[0]);
	/* The loop must not wait for a child that does not read or write. */
	fcntl(ret->in, F_SETFL, O_NONBLOCK);
	fcntl(ret->out, F_SETFL, O_NONBLOCK);
	fcntl(ret->errout, F_SETFL, O_NONBLOCK);
	/* larger pipes mean fewer switches under a flood; refusal is harmless */
	fcntl(ret->out, F_SETPIPE_SZ, 4 * CHILD_READ_BYTES);
}

int spawn_child(const struct proc_spec *spec, const struct cgroup_join *groups, struct spawned *ret,
		struct err *e)
{
	_cleanup_(pipes_close) struct pipes p;
	pid_t pid;
	int r = pipes_open(&p, confinement_logs(spec->bounds.confinement));

	if (r < 0)
		return err_set(e, r, RPC_INTERNAL_ERROR, "OUT_OF_DESCRIPTORS",
			       "cannot open pipes: %s", strerror(-r));
	pid = fork();
	if (pid < 0)
		return err_set(e, -errno, RPC_INTERNAL_ERROR, "HARNESS_SPAWN_FAILED", "fork: %s",
			       strerror(errno));
	if (pid == 0)
		child_main(spec, &p, groups);
	/* The daemon's own copy would keep the pipe from ending when the child calls exec. */
	closep(&p.status[1]);
	closep(&p.listener[1]);
	r = await_exec(p.status[0], &pid, e, spec);
	if (r < 0)
		return r; /* the reaper collects the dead child */
	ret->pid = pid;
	/* Without pidfds it is -1, and signals go to the number, which is the child's until it is reaped. */
	ret->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	ret->listener = p.listener[0] < 0 ? -1 : handed_fd_take(p.listener[0]);
	own_ends(&p, spec->inherits, ret);
	if (spec->no_input)
		closep(&ret->in);
	return 0;
}
