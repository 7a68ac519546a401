/*
 * confine.c - changes the user of a process and restricts it: limits, Landlock, seccomp.
 *
 * The keeper has the privileges the program was started with and reads nothing foreign. If the user of the tree has
 * to decide whether something is allowed, it becomes that user for the few calls concerned (user_enter,
 * user_leave). A worker gives everything up (confine_worker): user and groups, no_new_privs, limits, priority,
 * Landlock (nothing can be opened or changed but below the given directories; where the kernel has it, ABI 2 at
 * least), and a seccomp list of the calls that reading, writing and inflating need. All else is EPERM: no sockets, no
 * exec, no ptrace, no mounts, no signals to others. Threads may be made, processes may not.
 *
 * The order in confine_worker is fixed. Identity first, because changing it needs rights and resets
 * the dumpable flag and the parent-death signal (prctl(2)). Limits next, then Landlock, then
 * seccomp, whose list permits none of the earlier calls. user_enter and user_leave change the
 * effective ids only, so that the supervisor can return to root.
 */
#include "unpack/job/confine.h"

#include "confine/confine_list.h"
#include "confine/confine_self.h"
#include "confine/landlock.h"

#include <fcntl.h>
#include <grp.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>

#define NICE_LEVEL 10
#define WORKER_NOFILE (UNPACK_SOURCES_MAX + 256) /* each source is open from the start */

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
	/* The uid last: without root's uid the groups cannot be changed. */
	if (i->other && (setgroups(0, NULL) < 0 || setegid(i->gid) < 0 || seteuid(i->uid) < 0))
		abort();
}

void user_leave(const struct user *i)
{
	if (i->other && (seteuid(0) < 0 || setegid(0) < 0))
		abort();
}

int user_open_dir(const struct user *i, const char *path)
{
	int fd;

	user_enter(i);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	user_leave(i);
	return fd;
}

/* --- limits ------------------------------------------------------------------------------------------------- */

static void worker_set_limits(uint64_t file_max)
{
	struct sched_param param = { 0 };

	if (BOUND_MEMORY)
		confine_self_limit(RLIMIT_AS, UNPACK_MEMORY_MAX);
	confine_self_limit(RLIMIT_FSIZE, file_max);
	confine_self_limit(RLIMIT_NOFILE, WORKER_NOFILE);
	confine_self_limit(RLIMIT_CORE, 0);
	signal(SIGXFSZ, SIG_IGN); /* EFBIG instead */
	mallopt(M_ARENA_MAX, 1);  /* one more for each thread would take 64 MiB of addresses */
	sched_setscheduler(0, SCHED_BATCH, &param);
	setpriority(PRIO_PROCESS, 0, NICE_LEVEL);
}

/* --- what it may still do -------------------------------------------------------------------------------------- */

static int keep_reach(const struct reach *reach)
{
	const struct landlock_grant grants[] = {
		{ .rights = LL_FS_ALL & ~LL_FS_IOCTL_DEV, .dirs = reach->write },
		{ .rights = LL_FS_READ_FILE | LL_FS_READ_DIR, .dirs = reach->read },
	};
	const struct landlock_spec spec = {
		.fs = LL_FS_ALL,
		.net = LL_NET_ALL,
		.scoped = LL_SCOPED_ALL,
		.grants = grants,
		.n_grants = ARRAY_SIZE(grants),
		.abi_min = 2, /* the first forbids every move between directories */
	};

	return landlock_enter(&spec);
}

/* clang-format off */
static const struct confine_list allowed = {
	.calls =
		"read pread64 readv write pwrite64 writev lseek close close_range dup fcntl flock openat openat2 "
		"fstat newfstatat statx fstatfs getdents64 readlinkat faccessat faccessat2 mkdirat unlinkat "
		"linkat symlinkat renameat renameat2 fchmod fchmodat ftruncate fallocate fadvise64 utimensat "
		"fsync fdatasync copy_file_range umask brk mmap munmap mremap mprotect madvise futex "
		"set_robust_list rseq sched_yield sched_getaffinity rt_sigaction rt_sigprocmask rt_sigreturn "
		"sigaltstack clock_gettime clock_nanosleep gettimeofday getrandom getpid gettid getuid geteuid "
		"getgid getegid poll ppoll exit exit_group restart_syscall",
	.threads = true,
};
/* clang-format on */

int confine_worker(const struct user *i, const struct reach *reach, uint64_t file_max,
		   struct verdict *v)
{
	pid_t parent = getppid();
	int r = i->other ? confine_self_become(i->uid, i->gid) : 0;

	if (r < 0)
		return fail_with(v, r, NULL, "becoming the user of the tree");
	/* not dumpable: it holds descriptors that its user must not get */
	r = confine_self_bind(parent);
	if (r == 0) {
		worker_set_limits(file_max);
		r = keep_reach(reach);
	}
	if (r >= 0)
		r = confine_list_enter(&allowed);
	return r < 0 ? fail_with(v, r, NULL, "confining the worker") : 0;
}
