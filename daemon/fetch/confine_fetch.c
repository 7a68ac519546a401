#include "fetch/confine_fetch.h"

#include "base/util.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <limits.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* --- who ------------------------------------------------------------------------------------------------------ */

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
	struct rlimit none = { 0, 0 }, locked = { RLIM_INFINITY, RLIM_INFINITY };

	prctl(PR_SET_DUMPABLE, 0);
	setrlimit(RLIMIT_CORE, &none);
	if (setrlimit(RLIMIT_MEMLOCK, &locked) < 0) /* only root may */
		raise_limit(RLIMIT_MEMLOCK);
	raise_limit(RLIMIT_NOFILE);
	signal(SIGPIPE, SIG_IGN);
}

static bool become(const struct confine_fetch *c)
{
	pid_t parent = getppid();

	if (c->become && (setgroups(0, NULL) < 0 || setresgid(c->gid, c->gid, c->gid) < 0 ||
			  setresuid(c->uid, c->uid, c->uid) < 0 || setuid(0) == 0))
		return false;
	/* the change of user takes both away */
	prctl(PR_SET_DUMPABLE, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	return getppid() == parent && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

/* --- Landlock ------------------------------------------------------------------------------------------------- */

/* Rights by the version of the interface that brought them; those of older headers are given by number. */
#define FS_ABI_1 (((uint64_t)1 << 13) - 1)
#define FS_REFER ((uint64_t)1 << 13)	 /* ABI 2 */
#define FS_TRUNCATE ((uint64_t)1 << 14)	 /* ABI 3 */
#define FS_IOCTL_DEV ((uint64_t)1 << 15) /* ABI 5 */
#define NET_BIND_TCP ((uint64_t)1)	 /* ABI 4 */
#define SCOPED ((uint64_t)3)		 /* ABI 6: abstract sockets, signals */

struct landlock_net_rules {
	uint64_t fs, net, scoped;
};

/* What looking up a name, and libraries, may read. Files there are replaced by others of their name while we live
 * (resolv.conf), so not the files are named. */
static const char *const readable[] = { "/etc",	  "/usr/lib",	     "/usr/lib64",	    "/lib",
					"/lib64", "/run/resolvconf", "/run/systemd/resolve" };

static void allow_read(int ruleset, const char *path)
{
	_cleanup_(closep) int fd = open(path, O_PATH | O_CLOEXEC);
	struct landlock_path_beneath_attr below = { LANDLOCK_ACCESS_FS_READ_FILE, fd };

	if (fd >= 0)
		syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &below, 0);
}

static bool landlock(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	struct landlock_net_rules rules = { .fs = FS_ABI_1 };
	_cleanup_(closep) int fd = -1;

	if (abi < 1)
		return true; /* the kernel has none */
	rules.fs |= (abi >= 2 ? FS_REFER : 0) | (abi >= 3 ? FS_TRUNCATE : 0) |
		    (abi >= 5 ? FS_IOCTL_DEV : 0);
	rules.net = abi >= 4 ? NET_BIND_TCP : 0;
	rules.scoped = abi >= 6 ? SCOPED : 0;
	fd = (int)syscall(SYS_landlock_create_ruleset, &rules,
			  abi >= 6 ? sizeof(rules) :
			  abi >= 4 ? 16 :
				     8,
			  0);
	if (fd < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(readable); i++)
		allow_read(fd, readable[i]);
	allow_read(fd, "/etc/resolv.conf"); /* wherever the link leads */
	return syscall(SYS_landlock_restrict_self, fd, 0) == 0;
}

/* --- seccomp -------------------------------------------------------------------------------------------------- */

/* clang-format off */
static const int allowed[] = {
	/* sockets, but no listening ones */
	SCMP_SYS(connect), SCMP_SYS(bind), SCMP_SYS(getsockname), SCMP_SYS(getpeername), SCMP_SYS(getsockopt),
	SCMP_SYS(setsockopt), SCMP_SYS(sendto), SCMP_SYS(sendmsg), SCMP_SYS(sendmmsg), SCMP_SYS(recvfrom),
	SCMP_SYS(recvmsg), SCMP_SYS(recvmmsg), SCMP_SYS(shutdown),
	SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(pread64), SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(lseek),
	SCMP_SYS(close), SCMP_SYS(close_range), SCMP_SYS(dup), SCMP_SYS(fcntl), SCMP_SYS(pipe2), SCMP_SYS(eventfd2),
	SCMP_SYS(epoll_create1), SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_wait), SCMP_SYS(epoll_pwait), SCMP_SYS(poll),
	SCMP_SYS(ppoll), SCMP_SYS(select), SCMP_SYS(pselect6), SCMP_SYS(timerfd_create), SCMP_SYS(timerfd_settime),
	/* what is there may be looked at */
	SCMP_SYS(fstat), SCMP_SYS(stat), SCMP_SYS(lstat), SCMP_SYS(newfstatat), SCMP_SYS(statx), SCMP_SYS(fstatfs), SCMP_SYS(statfs),
	SCMP_SYS(access), SCMP_SYS(faccessat), SCMP_SYS(faccessat2), SCMP_SYS(readlink), SCMP_SYS(readlinkat),
	SCMP_SYS(getdents64), SCMP_SYS(getcwd), SCMP_SYS(uname), SCMP_SYS(sysinfo),
	SCMP_SYS(brk), SCMP_SYS(mmap), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(mprotect), SCMP_SYS(madvise),
	SCMP_SYS(mlock), SCMP_SYS(mlock2), SCMP_SYS(munlock),
	SCMP_SYS(futex), SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity),
	SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack),
	SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres), SCMP_SYS(clock_nanosleep), SCMP_SYS(nanosleep), SCMP_SYS(gettimeofday), SCMP_SYS(time),
	SCMP_SYS(getrandom), SCMP_SYS(getrlimit), SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(getppid), SCMP_SYS(getuid), SCMP_SYS(geteuid),
	SCMP_SYS(getgid), SCMP_SYS(getegid), SCMP_SYS(exit), SCMP_SYS(exit_group), SCMP_SYS(restart_syscall),
};
/* clang-format on */

/* Calls that are allowed with some arguments only. */
static int add_narrow(scmp_filter_ctx ctx)
{
	static const int families[] = { AF_INET, AF_INET6, AF_NETLINK };
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(families); i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1,
				     SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)families[i]));
	if (r == 0) /* libcurl wakes itself through one */
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socketpair), 1,
				     SCMP_A0(SCMP_CMP_EQ, AF_UNIX));
	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
				     SCMP_A1(SCMP_CMP_EQ, FIONREAD));
	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
				     SCMP_A1(SCMP_CMP_EQ, FIONBIO));
	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
				     SCMP_A2(SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT | O_TRUNC,
					     O_RDONLY));
	if (r == 0) /* what it may use, not what others may */
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 2,
				     SCMP_A0(SCMP_CMP_EQ, 0), SCMP_A2(SCMP_CMP_EQ, 0));
	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1,
				     SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME));
	return r;
}

static int add_threads(scmp_filter_ctx ctx)
{
	/* the C library then takes clone, whose flags can be checked */
	int r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);

	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
				     SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
	/* only to ourselves: abort() */
	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
				     SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()));
	return r;
}

static int filter(void)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int r = ctx ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(allowed); i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, allowed[i], 0);
	if (r == 0)
		r = add_narrow(ctx);
	if (r == 0)
		r = add_threads(ctx);
	if (r == 0)
		r = seccomp_load(ctx);
	if (ctx)
		seccomp_release(ctx);
	return r;
}

const char *confine_fetch(const struct confine_fetch *c)
{
	int r;

	if (!become(c))
		return "becoming its user";
	if (!landlock())
		return "Landlock";
	r = filter();
	errno = -r;
	return r < 0 ? "seccomp" : NULL;
}
