/*
 * confine_proxy.c - the tables of the confinement of acpd-proxy, and the order of its steps.
 *
 * The process accepts on sockets that it was given, and connects. Therefore the list has no bind,
 * listen, thread or process. The netlink socket that finds the owner of a connection was opened
 * before (proxy_main.c). The steps are in the order of confine_self.h: seccomp is last, because the
 * others need calls that it takes away.
 */
#include "proxy/confine_proxy.h"

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

void confine_proxy_harden(void)
{
	struct rlimit files;

	prctl(PR_SET_DUMPABLE, 0);
	confine_self_limit(RLIMIT_CORE, 0);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	signal(SIGPIPE, SIG_IGN);
}

/* What c-ares reads at each look-up. Files there are replaced by others of their name while we live (resolv.conf), so
 * not the files are named, but for the last: it may be a link to anywhere. Random numbers are read by older ones. */
static const char *const readable[] = { "/etc",		"/run/resolvconf",  "/run/systemd/resolve",
					"/dev/urandom", "/etc/resolv.conf", NULL };
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
	{ "ioctl", { CONFINE_INT(1, FIONREAD) } },
	{ "ioctl", { CONFINE_INT(1, FIONBIO) } },
	{ "openat", { CONFINE_BITS(2, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY) } },
	/* what it may use, not what others may */
	{ "prlimit64", { CONFINE_INT(0, 0), CONFINE_WHOLE(2, 0) } },
};
static const struct confine_list allowed = {
	.calls =
		/* sockets that others made, and ours to connect; netlink was opened before */
		"accept4 connect getsockname getpeername getsockopt setsockopt sendto sendmsg recvfrom recvmsg "
		"shutdown read readv pread64 write writev lseek close fcntl "
		"epoll_create1 epoll_ctl epoll_wait epoll_pwait timerfd_create timerfd_settime "
		/* what is there may be looked at */
		"fstat stat newfstatat statx access faccessat readlink uname brk mmap munmap mremap mprotect "
		"madvise futex rseq sched_yield rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack "
		"clock_gettime clock_getres gettimeofday time getrandom getrlimit "
		"getpid gettid getppid getuid geteuid getgid getegid exit exit_group restart_syscall",
	.rows = rows,
	.n_rows = ARRAY_SIZE(rows),
};
/* clang-format on */

const char *confine_proxy(const struct confine_proxy *c)
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
