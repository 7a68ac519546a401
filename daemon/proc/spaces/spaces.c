/*
 * spaces.c - namespaces of a session (mount, pid, IPC, UTS) around acpd-init, or a mount namespace
 * alone.
 *
 * unshare(CLONE_NEWPID) affects children only: a first child unshares, and clones acpd-init as a
 * child of the daemon (CLONE_PARENT). Both report over a pipe that closes at exec: EOF after a pid
 * means that init runs. If the daemon dies before PDEATHSIG is set, the pipe has no reader, which
 * child_is_orphan detects. SIGKILL to init ends all processes of the pid namespace (pid_namespaces(7)).
 */
#include "proc/spaces/spaces.h"

#include "base/list.h"
#include "base/os/child.h"
#include "base/os/file.h"
#include "base/util.h"
#include "confine/confine_self.h"
#include "proc/spaces/netns.h"

#include <linux/securebits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

struct spaces {
	struct list link;
	unsigned refs;
	pid_t init; /* 0: there is only a mount namespace */
	int pidfd;  /* of init: also what is entered by */
	int mounts; /* of a mount namespace alone; -1 */
	char *session;
};

static struct list living = { &living, &living };

/* --- what can go wrong ------------------------------------------------------------------------------------------- */

enum space_step {
	SPACE_MADE, /* nothing: error is the number of init */
	SPACE_USERS,
	SPACE_MOUNTS,
	SPACE_PIDS,
	SPACE_IPC,
	SPACE_INIT,
	SPACE_VIEW,
	SPACE_STEPS = SPACE_VIEW + FSVIEW_PLACE + 1,
};

static const struct {
	const char *what, *why;
} steps[SPACE_STEPS] = {
	[SPACE_USERS] = { "userNamespace", "no user namespace can be entered" },
	[SPACE_MOUNTS] = { "mountNamespace", "no mount namespace can be made" },
	[SPACE_PIDS] = { "pidNamespace", "no pid namespace can be made" },
	[SPACE_IPC] = { "ipcNamespace", "no namespaces of IPC and host name can be made" },
	[SPACE_INIT] = { "initProgram", "acpd-init cannot be started" },
	[SPACE_VIEW + FSVIEW_CALLS] = { "readOnlyMounts",
					"mounts cannot be made read-only as a tree (Linux 5.12)" },
	[SPACE_VIEW + FSVIEW_MOUNTS] = { "readOnlyMounts",
					 "mounts cannot be made private and read-only" },
	[SPACE_VIEW +
		FSVIEW_PROC] = { "procMount",
				 "no /proc of its own can be mounted (containers often mask parts of theirs)" },
	[SPACE_VIEW + FSVIEW_DEV] = { "devMount", "no /dev of its own can be made" },
	[SPACE_VIEW + FSVIEW_COVERS] = { "mountNamespace", "a file cannot be covered" },
	[SPACE_VIEW + FSVIEW_PLACE] = { "mountNamespace", "a directory cannot be mounted" },
};

/* What a child says over the pipe. */
struct space_report {
	enum space_step step;
	int error; /* errno */
	unsigned number;
};

static bool send_report(int to, enum space_step step, int error, unsigned number)
{
	struct space_report r = { step, error, number };

	return write(to, &r, sizeof(r)) == sizeof(r);
}

_noreturn_ static void report_fault(int to, enum space_step step, int error, unsigned number)
{
	_exit(send_report(to, step, error, number) ? 127 : 126);
}

/* --- the children -------------------------------------------------------------------------------------------------- */

struct space_plan {
	struct fsview *view;
	bool switch_user;
	uid_t uid;
	gid_t gid;
	int program;   /* acpd-init */
	int status[2]; /* both ends close at exec */
};

/* The first process in there. */
_noreturn_ static void be_init(const struct space_plan *p)
{
	static char name[] = "acpd-init", *const argv[] = { name, NULL }, *const env[] = { NULL };
	struct fsview_fault f;
	int to = p->status[1], r;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* With a reader of its own it would never see that the daemon has died (child_is_orphan). */
	close(p->status[0]);
	if (fsview_mount(p->view, p->uid, p->gid, &f) < 0)
		report_fault(to, SPACE_VIEW + f.step, f.error, f.number);
	/* It lives as long as the session, and must not hold the daemon's standard streams open. */
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	/* root would gain capabilities by exec, and who gains some is asked for his parent's death no more */
	prctl(PR_SET_SECUREBITS, SECBIT_NOROOT);
	r = p->switch_user ? confine_self_switch(p->uid, p->gid) : 0;
	if (r < 0)
		report_fault(to, SPACE_INIT, -r, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* to become another user clears it */
	if (child_is_orphan(to))
		_exit(127);
	child_reset_signals();
	/* By descriptor: the view need not show where acpd-init is. */
	syscall(SYS_execveat, p->program, "", argv, env, AT_EMPTY_PATH);
	report_fault(to, SPACE_INIT, errno, 0);
}

/* Makes the namespaces, and a child in them that is the daemon's. */
_noreturn_ static void make_spaces(const struct space_plan *p)
{
	static const struct {
		int flags;
		enum space_step step;
	} each[] = {
		{ CLONE_NEWNS, SPACE_MOUNTS },
		{ CLONE_NEWPID, SPACE_PIDS },
		{ CLONE_NEWIPC | CLONE_NEWUTS, SPACE_IPC },
	};
	int r = netns_enter_users();
	pid_t pid;

	if (r < 0)
		report_fault(p->status[1], SPACE_USERS, -r, 0);
	for (size_t i = 0; i < ARRAY_SIZE(each); i++)
		if (unshare(each[i].flags) < 0)
			report_fault(p->status[1], each[i].step, errno, 0);
	/* The raw call without a stack forks; CLONE_PARENT makes the child the daemon's, which can then wait
	 * for it. */
	pid = (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
	if (pid == 0)
		be_init(p);
	if (pid < 0)
		report_fault(p->status[1], SPACE_PIDS, errno, 0);
	report_fault(p->status[1], SPACE_MADE, pid, 0);
}

/* --- the daemon's end ------------------------------------------------------------------------------------------------ */

/* Until both children have said what they have to, or one has become acpd-init. The number of that, or 0 with ret. */
static pid_t take_reports(int from, struct space_report *ret)
{
	struct space_report r;
	pid_t init = 0;
	ssize_t n;

	*ret = (struct space_report){ .step = SPACE_MADE };
	while ((n = RETRY(read(from, &r, sizeof(r)))) != 0) {
		if (n != sizeof(r))
			break;
		if (r.step == SPACE_MADE)
			init = r.error;
		else
			*ret = r;
	}
	if (init && ret->step == SPACE_MADE)
		return init;
	if (ret->step == SPACE_MADE) /* it was killed */
		*ret = (struct space_report){ SPACE_PIDS, ECHILD, 0 };
	/* The child has reported a failure and exits, so the wait is short. */
	if (init)
		RETRY(waitpid(init, NULL, 0));
	return 0;
}

static pid_t start_init(struct space_plan *p, struct space_report *ret)
{
	_cleanup_(closep) int from = -1;
	pid_t pid, init;

	if (pipe2(p->status, O_CLOEXEC) < 0) {
		*ret = (struct space_report){ SPACE_PIDS, errno, 0 };
		return 0;
	}
	from = p->status[0];
	pid = fork();
	if (pid == 0)
		make_spaces(p);
	if (pid < 0)
		*ret = (struct space_report){ SPACE_PIDS, errno, 0 };
	/* With the daemon's own copy open, take_reports would never read end of file. */
	close(p->status[1]);
	init = pid < 0 ? 0 : take_reports(from, ret);
	if (pid > 0)
		RETRY(waitpid(pid, NULL, 0));
	return init;
}

/* As start_init, and everything that it needs. */
static struct spaces *spaces_make(struct space_plan *p, const char *session,
				  struct space_report *ret)
{
	_cleanup_(freep) char *path = file_program("ACPD_INIT", "acpd-init");
	_cleanup_(closep) int program = path ? open(path, O_PATH | O_CLOEXEC) : -1;
	struct spaces *s;
	pid_t init;

	*ret = (struct space_report){ SPACE_INIT, path ? errno : ENOENT, 0 };
	if (program < 0)
		return NULL;
	p->program = program;
	init = start_init(p, ret);
	if (!init)
		return NULL;
	s = new0(struct spaces);
	*s = (struct spaces){ .refs = 1,
			      .init = init,
			      .pidfd = (int)syscall(SYS_pidfd_open, init, 0),
			      .mounts = -1,
			      .session = xstrdup(session) };
	list_add_tail(&living, &s->link);
	/* Without a pidfd no process could enter, and a signal could reach another process of that number. */
	if (s->pidfd >= 0)
		return s;
	*ret = (struct space_report){ SPACE_PIDS, errno, 0 };
	kill(init, SIGKILL); /* not reaped yet, so it is still ours */
	return spaces_unref(s);
}

/* --- a mount namespace alone ------------------------------------------------------------------------------------------- */

/* Makes it, reports so, and lives until the other end has a descriptor of it. */
_noreturn_ static void be_mounts(struct fsview *view, int to, int until)
{
	struct fsview_fault f = { 0 };
	char byte;

	if (unshare(CLONE_NEWNS) < 0)
		report_fault(to, SPACE_MOUNTS, errno, 0);
	if (fsview_mount_places(view, &f) < 0)
		report_fault(to, SPACE_VIEW + f.step, f.error, f.number);
	if (!send_report(to, SPACE_MADE, 0, 0))
		_exit(126);
	RETRY(read(until, &byte, 1));
	_exit(0);
}

static int open_mounts(pid_t pid)
{
	int fd;

	fd = open(SHORT_TEXT(40, "/proc/%d/ns/mnt", (int)pid), O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Returns the child's namespace, or a negative number with ret. End of file is a failure: a child that was killed before
 * its report may still be in the daemon's own namespace. */
static int take_mounts(pid_t pid, int from, struct space_report *ret)
{
	ssize_t n;
	int fd;

	n = RETRY(read(from, ret, sizeof(*ret)));
	if (n != sizeof(*ret))
		*ret = (struct space_report){ SPACE_MOUNTS, ECHILD, 0 };
	if (ret->step != SPACE_MADE)
		return -1;
	fd = open_mounts(pid);
	if (fd < 0)
		*ret = (struct space_report){ SPACE_MOUNTS, -fd, 0 };
	return fd;
}

/* Returns the namespace, or a negative number with ret. */
static int start_mounts(struct fsview *view, struct space_report *ret)
{
	int status[2] = { -1, -1 }, hold[2] = { -1, -1 }, fd = -1;
	pid_t pid = -1;

	*ret = (struct space_report){ .step = SPACE_MADE };
	if (pipe2(status, O_CLOEXEC) == 0 && pipe2(hold, O_CLOEXEC) == 0)
		pid = fork();
	if (pid == 0) {
		/* With a writer of its own the child would never see that the daemon has closed the pipe, or
		 * died. */
		close(hold[1]);
		be_mounts(view, status[1], hold[0]);
	}
	if (pid < 0)
		*ret = (struct space_report){ SPACE_MOUNTS, errno, 0 };
	closep(&status[1]);
	closep(&hold[0]);
	if (pid > 0)
		fd = take_mounts(pid, status[0], ret);
	closep(&status[0]);
	closep(&hold[1]);
	if (pid > 0)
		RETRY(waitpid(pid, NULL, 0));
	return fd;
}

static struct spaces *spaces_fail(const struct fsview *view, const struct space_report *r,
				  struct err *e)
{
	if (r->step == SPACE_VIEW + FSVIEW_PLACE)
		err_set(e, -r->error, 0, "CONFINEMENT_UNSUPPORTED", "%s cannot be mounted: %s",
			fsview_path(view, r->number), strerror(r->error));
	else
		err_set(e, -r->error, 0, "CONFINEMENT_UNSUPPORTED", "%s: %s", steps[r->step].why,
			strerror(r->error));
	return NULL;
}

struct spaces *spaces_new_mounts(struct fsview *view, struct err *e)
{
	struct space_report r;
	int fd = start_mounts(view, &r);
	struct spaces *s;

	if (fd < 0)
		return spaces_fail(view, &r, e);
	s = new0(struct spaces);
	*s = (struct spaces){ .refs = 1, .pidfd = -1, .mounts = fd };
	list_add_tail(&living, &s->link);
	return s;
}

/* --- all of them --------------------------------------------------------------------------------------------------------- */

struct spaces *spaces_new(struct fsview *view, const char *session, bool switch_user, uid_t uid,
			  gid_t gid, struct err *e)
{
	/* who is not switched stays who he is: whose the directories in there become, too */
	struct space_plan p = { .view = view,
				.switch_user = switch_user,
				.uid = switch_user ? uid : geteuid(),
				.gid = switch_user ? gid : getegid() };
	struct space_report r;
	struct spaces *s = spaces_make(&p, session, &r);

	return s ? s : spaces_fail(view, &r, e);
}

const struct spaces_missing *spaces_missing(void)
{
	static struct spaces_missing missing;
	static struct err why;
	static bool tried;
	struct space_report r;
	struct space_plan p = { .uid = geteuid(), .gid = getegid() };
	struct spaces *s;

	if (tried)
		return missing.what ? &missing : NULL;
	tried = true;
	p.view = fsview_new();
	s = spaces_make(&p, "", &r);
	if (s) {
		pid_t init = s->init;

		spaces_unref(s);
		RETRY(waitpid(init, NULL, 0));
	} else {
		err_set(&why, -r.error, 0, "", "%s: %s", steps[r.step].why, strerror(r.error));
		missing = (struct spaces_missing){ steps[r.step].what, why.msg };
	}
	fsview_free(p.view);
	return missing.what ? &missing : NULL;
}

struct spaces *spaces_ref(struct spaces *s)
{
	if (s)
		s->refs++;
	return s;
}

void spaces_kill(const struct spaces *s)
{
	if (s->pidfd >= 0)
		syscall(SYS_pidfd_send_signal, s->pidfd, SIGKILL, NULL, 0);
}

struct spaces *spaces_unref(struct spaces *s)
{
	if (!s || --s->refs)
		return NULL;
	spaces_kill(s);
	closep(&s->pidfd);
	closep(&s->mounts);
	list_del(&s->link);
	free_each(s->session, s);
	return NULL;
}

bool spaces_live(const struct spaces *s)
{
	struct pollfd p = { .fd = s->pidfd, .events = POLLIN };

	/* Without init nothing can end: the descriptor holds the mount namespace. */
	if (!s->init)
		return true;
	/* A pidfd is readable once its process has ended (pidfd_open(2)). */
	return poll(&p, 1, 0) == 0;
}

int spaces_enter(const struct spaces *s)
{
	int flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS;

	if (!s->init)
		return setns(s->mounts, CLONE_NEWNS) < 0 ? -errno : 0;
	/* By a pidfd all namespaces are entered in one call (Linux 5.8). The pid namespace applies to children
	 * only. */
	return setns(s->pidfd, flags) < 0 ? -errno : 1;
}

void spaces_each(void (*fn)(void *ctx, pid_t init, char *session), void *ctx)
{
	list_each(s, &living, struct spaces, link)
		if (s->init && spaces_live(s))
			fn(ctx, s->init, s->session);
}
