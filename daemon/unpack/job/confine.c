#include "unpack/job/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/landlock.h>
#include <malloc.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define NICE_LEVEL 10
#define WORKER_NOFILE 256

/* Address space that the sanitizers reserve is no memory. */
#if defined(__SANITIZE_ADDRESS__)
#define BOUND_MEMORY false
#else
#define BOUND_MEMORY true
#endif

/* --- who -------------------------------------------------------------------------------------------------- */

int user_of(struct user *i, int64_t uid, int64_t gid, struct verdict *v)
{
	uid_t self = geteuid();

	*i = (struct user){ .uid = uid < 0 ? self : (uid_t)uid,
			    .gid = gid < 0 ? getegid() : (gid_t)gid };
	i->other = self == 0 && i->uid != 0;
	if (!i->other && i->uid != self)
		return fail_as(v, "ACCESS_DENIED", NULL, "only root can unpack for another user");
	return 0;
}

/* None of these can fail for root; if one does, the process must not go on. */
void user_enter(const struct user *i)
{
	if (i->other && (setgroups(0, NULL) < 0 || setegid(i->gid) < 0 || seteuid(i->uid) < 0))
		abort();
}

void user_leave(const struct user *i)
{
	if (i->other && (seteuid(0) < 0 || setegid(0) < 0))
		abort();
}

static int become(const struct user *i)
{
	if (!i->other)
		return 0;
	if (setgroups(0, NULL) < 0 || setresgid(i->gid, i->gid, i->gid) < 0 ||
	    setresuid(i->uid, i->uid, i->uid) < 0)
		return -errno;
	return setuid(0) == 0 ? -EPERM : 0;
}

/* --- limits ------------------------------------------------------------------------------------------------- */

static void limit(int what, uint64_t n)
{
	struct rlimit r;

	if (getrlimit((__rlimit_resource_t)what, &r) < 0)
		return;
	r.rlim_cur = MIN(r.rlim_max, n);
	r.rlim_max = r.rlim_cur;
	setrlimit((__rlimit_resource_t)what, &r);
}

static void set_limits(uint64_t file_max)
{
	struct sched_param param = { 0 };

	if (BOUND_MEMORY)
		limit(RLIMIT_AS, UNPACK_MEMORY_MAX);
	limit(RLIMIT_FSIZE, file_max);
	limit(RLIMIT_NOFILE, WORKER_NOFILE);
	limit(RLIMIT_CORE, 0);
	signal(SIGXFSZ, SIG_IGN); /* EFBIG instead */
	mallopt(M_ARENA_MAX, 1);  /* one more for each thread would take 64 MiB of addresses */
	sched_setscheduler(0, SCHED_BATCH, &param);
	setpriority(PRIO_PROCESS, 0, NICE_LEVEL);
}

/* --- Landlock ------------------------------------------------------------------------------------------------ */

/* Rights by the version of the interface that brought them; those of older headers are given by number. */
#define FS_ABI_2 (((uint64_t)1 << 14) - 1) /* all up to REFER */
#define FS_TRUNCATE ((uint64_t)1 << 14)	   /* ABI 3 */
#define FS_IOCTL_DEV ((uint64_t)1 << 15)   /* ABI 5 */
#define NET_TCP ((uint64_t)3)		   /* ABI 4: bind, connect */
#define SCOPED ((uint64_t)3)		   /* ABI 6: abstract sockets, signals */

struct landlock_rules {
	uint64_t fs, net, scoped;
};

static int allow_below(int ruleset, const int *dirs, uint64_t rights)
{
	for (; dirs && *dirs >= 0; dirs++) {
		struct landlock_path_beneath_attr below = { rights, *dirs };

		if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &below, 0) <
		    0)
			return -errno;
	}
	return 0;
}

static int landlock(const struct reach *reach)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	struct landlock_rules rules = { .fs = FS_ABI_2 };
	_cleanup_(closep) int fd = -1;
	int r;

	if (abi < 2) /* no Landlock, or one that forbids every move between directories */
		return 0;
	rules.fs |= (abi >= 3 ? FS_TRUNCATE : 0) | (abi >= 5 ? FS_IOCTL_DEV : 0);
	rules.net = abi >= 4 ? NET_TCP : 0;
	rules.scoped = abi >= 6 ? SCOPED : 0;
	fd = (int)syscall(SYS_landlock_create_ruleset, &rules,
			  abi >= 6 ? sizeof(rules) :
			  abi >= 4 ? 16 :
				     8,
			  0);
	if (fd < 0)
		return -errno;
	r = allow_below(fd, reach->write, rules.fs & ~FS_IOCTL_DEV);
	if (r == 0)
		r = allow_below(fd, reach->read,
				LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR);
	if (r < 0)
		return r;
	return syscall(SYS_landlock_restrict_self, fd, 0) < 0 ? -errno : 0;
}

/* --- seccomp ------------------------------------------------------------------------------------------------- */

/* clang-format off */
static const int allowed[] = {
	SCMP_SYS(read), SCMP_SYS(pread64), SCMP_SYS(readv), SCMP_SYS(write), SCMP_SYS(pwrite64), SCMP_SYS(writev),
	SCMP_SYS(lseek), SCMP_SYS(close), SCMP_SYS(close_range), SCMP_SYS(dup), SCMP_SYS(fcntl), SCMP_SYS(flock),
	SCMP_SYS(openat), SCMP_SYS(openat2), SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(statx), SCMP_SYS(fstatfs),
	SCMP_SYS(getdents64), SCMP_SYS(readlinkat), SCMP_SYS(faccessat), SCMP_SYS(faccessat2), SCMP_SYS(mkdirat),
	SCMP_SYS(unlinkat), SCMP_SYS(linkat), SCMP_SYS(symlinkat), SCMP_SYS(renameat), SCMP_SYS(renameat2),
	SCMP_SYS(fchmod), SCMP_SYS(fchmodat), SCMP_SYS(ftruncate), SCMP_SYS(fallocate), SCMP_SYS(fadvise64),
	SCMP_SYS(utimensat), SCMP_SYS(fsync), SCMP_SYS(fdatasync), SCMP_SYS(copy_file_range), SCMP_SYS(umask),
	SCMP_SYS(brk), SCMP_SYS(mmap), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(mprotect), SCMP_SYS(madvise),
	SCMP_SYS(futex), SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity),
	SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack),
	SCMP_SYS(clock_gettime), SCMP_SYS(clock_nanosleep), SCMP_SYS(gettimeofday), SCMP_SYS(getrandom),
	SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getgid), SCMP_SYS(getegid),
	SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(exit), SCMP_SYS(exit_group), SCMP_SYS(restart_syscall),
};
/* clang-format on */

static int filter(void)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int r = ctx ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(allowed); i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, allowed[i], 0);
	/* the C library then takes clone, whose flags can be checked */
	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
				     SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
	/* only to ourselves: abort() */
	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
				     SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()));
	if (r == 0)
		r = seccomp_load(ctx);
	if (ctx)
		seccomp_release(ctx);
	return r;
}

int confine_worker(const struct user *i, const struct reach *reach, uint64_t file_max,
		   struct verdict *v)
{
	pid_t parent = getppid();
	int r = become(i);

	if (r < 0)
		return fail_with(v, r, NULL, "becoming the user of the tree");
	/* after the change of user, which takes it away; the keeper may have died before */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return fail_with(v, -ESRCH, NULL, "confining the worker");
	set_limits(file_max);
	prctl(PR_SET_DUMPABLE, 0); /* it holds descriptors that its user must not get */
	r = landlock(reach);
	if (r == 0)
		r = filter();
	return r < 0 ? fail_with(v, r, NULL, "confining the worker") : 0;
}
