/*
 * confine_fetch.c - the tables of the confinement of acpd-fetch, and the order of its steps.
 *
 * libcurl and the resolver of the C library determine the list of calls: threads for getaddrinfo,
 * netlink, a socket pair. RLIMIT_MEMLOCK is raised while the process is still root, because keys
 * lie in locked memory. Then follow the change of user, the tie to the parent, Landlock, and
 * seccomp, which takes away calls that the steps before it need.
 */
#include "fetch/confine_fetch.h"

#include "base/util.h"
#include "confine/confine_list.h"
#include "confine/confine_self.h"
#include "confine/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

static void raise_limit(__rlimit_resource_t what)
{
	struct rlimit r;

	if (getrlimit(what, &r) < 0)
		return;
	r.rlim_cur = r.rlim_max;
	setrlimit(what, &r);
}

void confine_fetch_harden(void)
{
	struct rlimit locked = { RLIM_INFINITY, RLIM_INFINITY };

	prctl(PR_SET_DUMPABLE, 0);
	confine_self_limit(RLIMIT_CORE, 0);
	if (setrlimit(RLIMIT_MEMLOCK, &locked) < 0) /* only root may */
		raise_limit(RLIMIT_MEMLOCK);
	raise_limit(RLIMIT_NOFILE);
	signal(SIGPIPE, SIG_IGN);
}

/* What looking up a name, and libraries, may read. Files there are replaced by others of their name while we live
 * (resolv.conf), so not the files are named, but for the last: it may be a link to anywhere. */
static const char *const readable[] = {
	"/etc",	  "/usr/lib",	     "/usr/lib64",	     "/lib",
	"/lib64", "/run/resolvconf", "/run/systemd/resolve", "/etc/resolv.conf",
	NULL
};
static const struct landlock_grant grants[] = {
	{ .rights = LL_FS_READ_FILE, .paths = readable },
};
static const struct landlock_spec reach = {
	.fs = LL_FS_ALL,
	.net = LL_NET_BIND_TCP,
	.scoped = LL_SCOPED_ALL,
	.grants = grants,
	.n_grants = ARRAY_SIZE(grants),
};

/* clang-format off */
static const struct confine_row rows[] = {
	{ "socket", { CONFINE_INT(0, AF_INET) } },
	{ "socket", { CONFINE_INT(0, AF_INET6) } },
	{ "socket", { CONFINE_INT(0, AF_NETLINK) } },
	{ "socketpair", { CONFINE_INT(0, AF_UNIX) } }, /* libcurl wakes itself through one */
	{ "ioctl", { CONFINE_INT(1, FIONREAD) } },
	{ "ioctl", { CONFINE_INT(1, FIONBIO) } },
	{ "openat", { CONFINE_BITS(2, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY) } },
	/* what it may use, not what others may */
	{ "prlimit64", { CONFINE_INT(0, 0), CONFINE_WHOLE(2, 0) } },
	{ "prctl", { CONFINE_INT(0, PR_SET_NAME) } },
};
static const struct confine_list allowed = {
	.calls =
		/* sockets, but no listening ones */
		"connect bind getsockname getpeername getsockopt setsockopt sendto sendmsg sendmmsg recvfrom "
		"recvmsg recvmmsg shutdown read readv pread64 write writev lseek close close_range dup fcntl "
		"pipe2 eventfd2 epoll_create1 epoll_ctl epoll_wait epoll_pwait poll ppoll select pselect6 "
		"timerfd_create timerfd_settime "
		/* what is there may be looked at */
		"fstat stat lstat newfstatat statx fstatfs statfs access faccessat faccessat2 readlink readlinkat "
		"getdents64 getcwd uname sysinfo brk mmap munmap mremap mprotect madvise mlock mlock2 munlock "
		"futex set_robust_list rseq sched_yield sched_getaffinity rt_sigaction rt_sigprocmask "
		"rt_sigreturn sigaltstack clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time "
		"getrandom getrlimit getpid gettid getppid getuid geteuid getgid getegid exit exit_group "
		"restart_syscall",
	.rows = rows,
	.n_rows = ARRAY_SIZE(rows),
	.threads = true, /* names are looked up in them */
};
/* clang-format on */

const char *confine_fetch(const struct confine_fetch *c)
{
	pid_t parent = getppid();
	int r = c->become ? confine_self_become(c->uid, c->gid) : 0;
	const char *step = "becoming its user";

	if (r == 0)
		r = confine_self_bind(parent);
	if (r == 0) {
		step = "Landlock";
		r = landlock_enter(&reach);
	}
	if (r >= 0) {
		step = "seccomp";
		r = confine_list_enter(&allowed);
	}
	errno = -r;
	return r < 0 ? step : NULL;
}
