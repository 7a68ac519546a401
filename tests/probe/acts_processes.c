/* SPDX-License-Identifier: Apache-2.0 */
/* acts_processes.c - other processes, the daemon first, and what a process may make of itself. */
#include "probe.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- of another process: a->key says which --------------------------------------------------------------------- */

static long trace(const struct act *a)
{
	pid_t pid = given_pid(a->key);
	long r = ptrace(PTRACE_SEIZE, pid, NULL, NULL);

	if (r == 0)
		ptrace(PTRACE_DETACH, pid, NULL, NULL);
	return r;
}

static long signal_zero(const struct act *a)
{
	return kill(given_pid(a->key), 0);
}

static long signal_by_pidfd(const struct act *a)
{
	long fd = syscall(SYS_pidfd_open, given_pid(a->key), 0);

	return fd < 0 ? fd : syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0);
}

static long take_descriptor(const struct act *a)
{
	long fd = syscall(SYS_pidfd_open, given_pid(a->key), 0);

	return fd < 0 ? fd : syscall(SYS_pidfd_getfd, fd, 0, 0);
}

static long read_memory(const struct act *a)
{
	char byte;
	struct iovec here = { &byte, 1 }, there = { (void *)0x10000, 1 };

	return process_vm_readv(given_pid(a->key), &here, 1, &there, 1, 0);
}

static long write_memory(const struct act *a)
{
	char byte = 0;
	struct iovec here = { &byte, 1 }, there = { (void *)0x10000, 1 };

	return process_vm_writev(given_pid(a->key), &here, 1, &there, 1, 0);
}

static long advise(const struct act *a)
{
	long fd = syscall(SYS_pidfd_open, given_pid(a->key), 0);
	struct iovec there = { (void *)0x10000, 4096 };

	return fd < 0 ? fd : syscall(SYS_process_madvise, fd, &there, 1, 20 /* COLD */, 0);
}

static long limit(const struct act *a)
{
	struct rlimit same;

	return prlimit(given_pid(a->key), RLIMIT_CORE, NULL, &same) < 0 ?
		       -1 :
		       prlimit(given_pid(a->key), RLIMIT_CORE, &same, NULL);
}

static long move_pages_of(const struct act *a)
{
	return syscall(SYS_move_pages, given_pid(a->key), 0, NULL, NULL, NULL, 0);
}

static long compare_with(const struct act *a)
{
	return syscall(SYS_kcmp, getpid(), given_pid(a->key), 1, 0, 0);
}

/* a->text: below /proc/PID; a->call: how to open it. */
static long open_of(const struct act *a)
{
	char path[80];

	snprintf(path, sizeof(path), "/proc/%s/%s", given(a->key), a->text);
	return open(path, (int)a->call | O_CLOEXEC);
}

/* Its memory map and the like say so only when they are read. */
static long read_of(const struct act *a)
{
	int fd = (int)open_of(a);
	char byte;

	return fd < 0 ? fd : read(fd, &byte, 1);
}

static long list_of(const struct act *a)
{
	int fd = (int)open_of(a);
	char room[512];

	return fd < 0 ? fd : syscall(SYS_getdents64, fd, room, sizeof(room));
}

static long link_of(const struct act *a)
{
	char path[80], target[512];

	snprintf(path, sizeof(path), "/proc/%s/%s", given(a->key), a->text);
	return readlink(path, target, sizeof(target));
}

/* --- of itself ------------------------------------------------------------------------------------------------- */

static long all_capabilities(const struct act *a)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct all[2] = { { ~0u, ~0u, 0 }, { 0x1ff, 0x1ff, 0 } };

	(void)a;
	return syscall(SYS_capset, &head, all);
}

/* Any of them that exec could still give. */
static long bounding_set(const struct act *a)
{
	(void)a;
	for (unsigned long cap = 0; cap < 41; cap++)
		if (prctl(PR_CAPBSET_READ, cap) == 1)
			return 0;
	return fail(EPERM);
}

static long gain_by_exec(const struct act *a)
{
	(void)a;
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0 ? 0 : fail(EPERM);
}

static long join_root_group(const struct act *a)
{
	gid_t root = 0;

	(void)a;
	return setgroups(1, &root);
}

/* Whatever it prints is a number, and 0 is root. */
static long as_whom(const char *const argv[])
{
	char answer[32] = "";
	int ends[2], status;
	ssize_t n;
	pid_t pid;

	if (pipe(ends) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		dup2(ends[1], 1);
		execvp(argv[0], (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	close(ends[1]);
	n = read(ends[0], answer, sizeof(answer) - 1);
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return fail(ENOENT);
	return n > 0 && strcmp(answer, "0\n") == 0 ? 0 : fail(EPERM);
}

static long run_setuid(const struct act *a)
{
	return as_whom((const char *const[]){ given(a->key), "uid", NULL });
}

static long by_su(const struct act *a)
{
	(void)a;
	return as_whom((const char *const[]){ "su", "root", "-c", "id -u", NULL });
}

static long by_sudo(const struct act *a)
{
	(void)a;
	return as_whom((const char *const[]){ "sudo", "-n", "id", "-u", NULL });
}

/* A daemon of root's that is no child of ours makes the shell, so nothing that holds this process holds that. */
static long by_ssh(const struct act *a)
{
	return as_whom((const char *const[]){ "ssh", "-F", "none", "-o", "BatchMode=yes", "-o",
					      "StrictHostKeyChecking=no", "-o",
					      "UserKnownHostsFile=/dev/null", "-p", given(a->key),
					      "root@localhost", "id -u", NULL });
}

static long nicer(const struct act *a)
{
	(void)a;
	return setpriority(PRIO_PROCESS, 0, -5);
}

static long real_time(const struct act *a)
{
	struct sched_param p = { .sched_priority = 1 };

	(void)a;
	return sched_setscheduler(0, SCHED_FIFO, &p);
}

static long raise_limit(const struct act *a)
{
	struct rlimit r;

	if (getrlimit((__rlimit_resource_t)a->call, &r) < 0)
		return -1;
	if (r.rlim_max == RLIM_INFINITY)
		return 0;
	r.rlim_max++;
	return setrlimit((__rlimit_resource_t)a->call, &r);
}

static long less_killable(const struct act *a)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY);

	(void)a;
	return fd < 0 ? fd : write(fd, "-1", 2);
}

#define CALL(name, call, ...)                                                                      \
	{                                                                                          \
		name, NULL, call, { __VA_ARGS__ }, NULL, NULL                                      \
	}
#define FN(name, fn)                                                                               \
	{                                                                                          \
		name, fn, 0, { 0 }, NULL, NULL                                                     \
	}
#define DAEMON(name, fn)                                                                           \
	{                                                                                          \
		"daemon/" name, fn, 0, { 0 }, "daemon", NULL                                       \
	}
#define DAEMON_FILE(path, fn, flags)                                                               \
	{                                                                                          \
		"daemon/proc-" path, fn, flags, { 0 }, "daemon", path                              \
	}
#define OTHER(name, fn)                                                                            \
	{                                                                                          \
		"other/" name, fn, 0, { 0 }, "other", NULL                                         \
	}
#define OTHER_FILE(path, fn, flags)                                                                \
	{                                                                                          \
		"other/proc-" path, fn, flags, { 0 }, "other", path                                \
	}

const struct act acts_processes[] = {
	DAEMON("ptrace", trace),
	DAEMON("kill", signal_zero),
	DAEMON("pidfd_send_signal", signal_by_pidfd),
	DAEMON("pidfd_getfd", take_descriptor),
	DAEMON("process_vm_readv", read_memory),
	DAEMON("process_vm_writev", write_memory),
	DAEMON("process_madvise", advise),
	DAEMON("prlimit", limit),
	DAEMON("move_pages", move_pages_of),
	DAEMON("kcmp", compare_with),
	DAEMON_FILE("environ", read_of, O_RDONLY),
	DAEMON_FILE("mem", open_of, O_RDWR),
	DAEMON_FILE("maps", read_of, O_RDONLY),
	DAEMON_FILE("smaps", read_of, O_RDONLY),
	DAEMON_FILE("auxv", read_of, O_RDONLY),
	DAEMON_FILE("stack", read_of, O_RDONLY),
	DAEMON_FILE("syscall", read_of, O_RDONLY),
	DAEMON_FILE("io", read_of, O_RDONLY),
	DAEMON_FILE("fd", list_of, O_RDONLY | O_DIRECTORY),
	DAEMON_FILE("map_files", list_of, O_RDONLY | O_DIRECTORY),
	DAEMON_FILE("cwd", link_of, 0),
	DAEMON_FILE("root", link_of, 0),
	DAEMON_FILE("exe", link_of, 0),
	DAEMON_FILE("oom_score_adj", open_of, O_WRONLY),
	DAEMON_FILE("clear_refs", open_of, O_WRONLY),
	OTHER("ptrace", trace),
	OTHER("kill", signal_zero),
	OTHER("pidfd_getfd", take_descriptor),
	OTHER("process_vm_readv", read_memory),
	OTHER_FILE("environ", read_of, O_RDONLY),
	OTHER_FILE("mem", open_of, O_RDWR),
	OTHER_FILE("fd", list_of, O_RDONLY | O_DIRECTORY),
	OTHER_FILE("cwd", link_of, 0),

	CALL("become/setuid", SYS_setuid, 0),
	CALL("become/setresuid", SYS_setresuid, -1, 0, -1),
	CALL("become/setgid", SYS_setgid, 0),
	CALL("become/setresgid", SYS_setresgid, -1, 0, -1),
	FN("become/setgroups", join_root_group),
	FN("become/capset", all_capabilities),
	FN("become/bounding-set", bounding_set),
	FN("become/exec-gains", gain_by_exec),
	CALL("become/ambient", SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0,
	     0),
	CALL("become/securebits", SYS_prctl, PR_SET_SECUREBITS, 1),
	{ "become/setuid-program", run_setuid, 0, { 0 }, "setuid", NULL },
	FN("become/su", by_su),
	FN("become/sudo", by_sudo),
	{ "become/ssh", by_ssh, 0, { 0 }, "sshd", NULL },
	{ "become/ssh-closed-logins", by_ssh, 0, { 0 }, "closed", NULL },
	FN("become/nicer", nicer),
	FN("become/real-time", real_time),
	CALL("become/io-real-time", SYS_ioprio_set, 1, 0, 1 << 13),
	{ "become/more-core", raise_limit, RLIMIT_CORE, { 0 }, NULL, NULL },
	{ "become/more-files", raise_limit, RLIMIT_NOFILE, { 0 }, NULL, NULL },
	FN("become/less-killable", less_killable),
	{ 0 },
};
