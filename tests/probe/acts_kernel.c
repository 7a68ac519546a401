/* SPDX-License-Identifier: Apache-2.0 */
/* acts_kernel.c - system calls that reach the kernel, the machine, the clock, keys and terminals. */
#include "probe.h"

#include <fcntl.h>
#include <linux/keyctl.h>
#include <stdlib.h>
#include <sys/fanotify.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#define UPPER ((uint64_t)1 << 40) /* the kernel does not read it in an int */
#define TEXT(s) (uintptr_t)(s)

static long set_clock(const struct act *a)
{
	struct timespec now;

	(void)a;
	clock_gettime(CLOCK_REALTIME, &now);
	return clock_settime(CLOCK_REALTIME, &now);
}

/* As it is, if it may be read. */
static long adjust_clock(const struct act *a)
{
	struct timex t = { 0 };

	if (syscall(a->call, CLOCK_REALTIME, &t) < 0)
		return -1;
	t.modes = ADJ_FREQUENCY;
	return syscall(a->call, CLOCK_REALTIME, &t);
}

static long read_clock(const struct act *a)
{
	struct timex t = { 0 };

	return syscall(a->call, &t);
}

static long open_by_handle(const struct act *a)
{
	char room[sizeof(struct file_handle) + MAX_HANDLE_SZ] __attribute__((aligned(8)));
	struct file_handle *h = (struct file_handle *)room;
	int root = open("/", O_RDONLY | O_DIRECTORY), mount;

	(void)a;
	h->handle_bytes = MAX_HANDLE_SZ;
	if (name_to_handle_at(AT_FDCWD, "/etc", h, &mount, 0) < 0)
		return -1;
	return open_by_handle_at(root, h, O_RDONLY);
}

static long get_descriptor(const struct act *a)
{
	long fd = syscall(SYS_pidfd_open, getpid(), 0);

	(void)a;
	return fd < 0 ? fd : syscall(SYS_pidfd_getfd, fd, 0, 0);
}

static long compare_self(const struct act *a)
{
	(void)a;
	return syscall(SYS_kcmp, getpid(), getpid(), 1, 0, 0); /* KCMP_VM */
}

/* A terminal of its own, as the shell of a tool has one. */
static int own_terminal(void)
{
	int pair = posix_openpt(O_RDWR | O_NOCTTY);

	if (pair < 0 || grantpt(pair) < 0 || unlockpt(pair) < 0 || setsid() < 0)
		return -1;
	return open(ptsname(pair), O_RDWR); /* it is the controlling one now */
}

static long terminal_call(const struct act *a)
{
	int fd = own_terminal();
	char byte = 'x';

	/* TIOCLINUX 12: which console is in front */
	if (a->args[0] == TIOCLINUX)
		byte = 12;
	return fd < 0 ? -1 : syscall(SYS_ioctl, fd, a->args[0], &byte);
}

static long line_discipline(const struct act *a)
{
	int fd = own_terminal(), number = 3; /* N_PPP */

	(void)a;
	return fd < 0 ? -1 : ioctl(fd, TIOCSETD, &number);
}

static long other_terminal(const struct act *a)
{
	int fd = open(given(a->key), O_RDWR | O_NOCTTY);
	char byte = 'x';

	return fd < 0 ? -1 : ioctl(fd, TIOCSTI, &byte);
}

static long architecture(const struct act *a)
{
	long r = 0;

	(void)a;
#if defined(__x86_64__)
	__asm__ volatile("int $0x80" : "=a"(r) : "0"(20L) : "memory"); /* getpid */
#endif
	return r > 0 ? 0 : fail(ENOSYS);
}

#define CALL(name, call, ...)                                                                      \
	{                                                                                          \
		name, NULL, call, { __VA_ARGS__ }, NULL, NULL                                      \
	}
#define FN(name, fn, call, ...)                                                                    \
	{                                                                                          \
		name, fn, call, { __VA_ARGS__ }, NULL, NULL                                        \
	}

const struct act acts_kernel[] = {
	CALL("bpf", SYS_bpf, 0, 0, 0),
	CALL("perf_event_open", SYS_perf_event_open, 0, 0, -1, -1, 0),
	CALL("userfaultfd", SYS_userfaultfd, 1), /* of its own pages */
	CALL("kexec_load", SYS_kexec_load, 0, 0, 0, 0),
	CALL("kexec_file_load", SYS_kexec_file_load, -1, -1, 0, 0, 0),
	CALL("init_module", SYS_init_module, 0, 0, TEXT("")),
	CALL("finit_module", SYS_finit_module, -1, TEXT(""), 0),
	CALL("delete_module", SYS_delete_module, TEXT("no-such-module"), 0),
	CALL("create_module", SYS_create_module, 0, 0),
	CALL("query_module", SYS_query_module, 0, 0),
	CALL("get_kernel_syms", SYS_get_kernel_syms, 0),
	CALL("syslog", SYS_syslog, 10, 0, 0), /* its size */
	CALL("lookup_dcookie", SYS_lookup_dcookie, 0, 0, 0),
	CALL("nfsservctl", SYS_nfsservctl, 0, 0, 0),
	CALL("_sysctl", SYS__sysctl, 0),
	CALL("uselib", SYS_uselib, TEXT("/no/such/library")),
	CALL("memfd_secret", SYS_memfd_secret, 0),
	CALL("modify_ldt", SYS_modify_ldt, 0, 0, 0),
	CALL("iopl", SYS_iopl, 3),
	CALL("ioperm", SYS_ioperm, 0x80, 1, 1),
	CALL("io_uring_setup", SYS_io_uring_setup, 1, 0),
	CALL("io_uring_enter", SYS_io_uring_enter, -1, 0, 0, 0, 0, 0),
	CALL("io_uring_register", SYS_io_uring_register, -1, 0, 0, 0),
	CALL("reboot", SYS_reboot, 0, 0, 0, 0), /* without the words it takes */
	CALL("acct", SYS_acct, TEXT("/no/such/file")),
	CALL("quotactl", SYS_quotactl, 0x80000100, 0, 0, 0), /* a sync */
	CALL("quotactl_fd", SYS_quotactl_fd, -1, 0, 0, 0),
	CALL("swapon", SYS_swapon, TEXT("/no/such/file"), 0),
	CALL("swapoff", SYS_swapoff, TEXT("/no/such/file")),
	CALL("settimeofday", SYS_settimeofday, 0, 0),
	FN("clock_settime", set_clock, 0),
	FN("clock_adjtime", adjust_clock, SYS_clock_adjtime),
	FN("adjtimex", read_clock, SYS_adjtimex),
	CALL("fanotify_init", SYS_fanotify_init, FAN_CLASS_NOTIF | 0x200, 0),
	CALL("vhangup", SYS_vhangup),
	FN("open_by_handle_at", open_by_handle, 0),
	CALL("keyctl", SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 1),
	CALL("add_key", SYS_add_key, TEXT("user"), TEXT("acpd-probe"), TEXT("x"), 1,
	     KEY_SPEC_PROCESS_KEYRING),
	CALL("request_key", SYS_request_key, TEXT("user"), TEXT("acpd-no-such-key"), 0, 0),
	FN("pidfd_getfd", get_descriptor, 0),
	FN("kcmp", compare_self, 0),
	CALL("move_pages", SYS_move_pages, 0, 0, 0, 0, 0, 0),
	CALL("migrate_pages", SYS_migrate_pages, 0, 0, 0, 0),
	CALL("personality/no-random", SYS_personality, ADDR_NO_RANDOMIZE),
	CALL("personality/exec", SYS_personality, READ_IMPLIES_EXEC),
	CALL("personality/exec-upper", SYS_personality, READ_IMPLIES_EXEC | UPPER),
	CALL("personality/page-zero", SYS_personality, MMAP_PAGE_ZERO),
	CALL("personality/layout", SYS_personality, ADDR_COMPAT_LAYOUT),
	CALL("personality/32-bit", SYS_personality, PER_LINUX32),
	FN("terminal/TIOCSTI", terminal_call, 0, TIOCSTI),
	FN("terminal/TIOCSTI-upper", terminal_call, 0, TIOCSTI | UPPER),
	FN("terminal/TIOCLINUX", terminal_call, 0, TIOCLINUX),
	FN("terminal/TIOCCONS", terminal_call, 0, TIOCCONS),
	FN("terminal/TIOCSETD", line_discipline, 0),
	{ "terminal/other", other_terminal, 0, { 0 }, "terminal", NULL },
	FN("architecture/i386", architecture, 0),
#if defined(__x86_64__)
	CALL("architecture/x32", 0x40000000 | SYS_getpid),
#endif
	{ 0 },
};
