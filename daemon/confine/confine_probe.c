/*
 * confine_probe.c - attempts forbidden actions inside a confined helper and prints the errno of
 * each as JSON.
 *
 * `acpd-fetch probe` and `acpd-proxy probe` call it after they have confined themselves, so the
 * output describes the real confinement. Each attempt is one system call, made as the filter sees
 * it. The last two must succeed. An attempt that succeeds takes effect (chmod of /tmp, execve):
 * call this only in such a process.
 */
#include "confine/confine_probe.h"

#include "base/buf.h"
#include "base/os/file.h"
#include "base/util.h"

#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

struct probe_call {
	const char *name;
	long call, args[4];
};

static void probe_call_put(const struct probe_call *a, struct buf *b)
{
	long r = syscall(a->call, a->args[0], a->args[1], a->args[2], a->args[3], 0L);

	if (r == 0 && a->call == SYS_clone) /* the child that must not exist */
		syscall(SYS_exit_group, 0);
	buf_printf(b, ",\"%s\":\"%s\"", a->name, r < 0 ? strerrorname_np(errno) : "done");
}

int confine_probe(void)
{
	char program[] = "/bin/true", file[] = "/tmp/acpd-probe";
	const char *const argv[] = { program, NULL };
	const struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	const struct probe_call attempts[] = {
		{ "execve", SYS_execve, { (long)program, (long)argv } },
		{ "fork", SYS_clone, { SIGCHLD } },
		{ "openWrite", SYS_openat, { AT_FDCWD, (long)"/dev/null", O_WRONLY } },
		{ "openCreate", SYS_openat, { AT_FDCWD, (long)file, O_RDONLY | O_CREAT, 0600 } },
		{ "openEnviron", SYS_openat, { AT_FDCWD, (long)"/proc/self/environ", O_RDONLY } },
		{ "unlink", SYS_unlinkat, { AT_FDCWD, (long)file } },
		{ "chmod", SYS_fchmodat, { AT_FDCWD, (long)"/tmp" } },
		{ "unixSocket", SYS_socket, { AF_UNIX, SOCK_STREAM } },
		{ "listen", SYS_listen, { STDIN_FILENO, 1 } },
		{ "ptrace", SYS_ptrace, { PTRACE_TRACEME } },
		{ "kill", SYS_kill, { getppid() } },
		{ "dumpable", SYS_prctl, { PR_SET_DUMPABLE, 1 } },
		{ "setuid", SYS_setuid, { 0 } },
		{ "core", SYS_prlimit64, { 0, RLIMIT_CORE, (long)&unlimited } },
		{ "tcpSocket", SYS_socket, { AF_INET, SOCK_STREAM } },
		{ "resolver", SYS_openat, { AT_FDCWD, (long)"/etc/nsswitch.conf", O_RDONLY } },
	};
	_cleanup_(buf_done) struct buf b = { 0 };

	buf_printf(&b, "{\"uid\":%u", getuid());
	for (size_t i = 0; i < ARRAY_SIZE(attempts); i++)
		probe_call_put(&attempts[i], &b);
	buf_puts(&b, "}\n");
	return file_write_all(STDOUT_FILENO, b.data, b.len) == 0 ? 0 : 1;
}
