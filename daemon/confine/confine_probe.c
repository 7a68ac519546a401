/*
 * confine_probe.c - attempts forbidden actions inside a confined helper and prints the errno of
 * each as JSON.
 *
 * `acpd-fetch probe` and `acpd-proxy probe` call it after they have confined themselves, so the
 * output describes the real confinement. The last two attempts must succeed. An attempt that
 * succeeds takes effect (chmod of /tmp, execve): call this only in such a process.
 */
#include "confine/confine_probe.h"

#include "base/buf.h"
#include "base/os/file.h"
#include "base/util.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

static long try_execve(void)
{
	char program[] = "/bin/true";
	char *argv[] = { program, NULL };

	return execve(program, argv, NULL);
}

static long try_fork(void)
{
	long pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		syscall(SYS_exit_group, 0);
	return pid;
}

static long try_open_write(void)
{
	return open("/dev/null", O_WRONLY);
}

static long try_open_create(void)
{
	return open("/tmp/acpd-probe", O_RDONLY | O_CREAT, 0600);
}

static long try_open_environ(void)
{
	return open("/proc/self/environ", O_RDONLY);
}

static long try_unlink(void)
{
	return unlink("/tmp/acpd-probe");
}

static long try_chmod(void)
{
	return chmod("/tmp", 0);
}

static long try_unix_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0);
}

static long try_listen(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return fd < 0 ? fd : listen(fd, 1);
}

static long try_ptrace(void)
{
	return ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static long try_kill(void)
{
	return kill(getppid(), 0);
}

static long try_dumpable(void)
{
	return prctl(PR_SET_DUMPABLE, 1);
}

static long try_setuid(void)
{
	return setuid(0);
}

static long try_core(void)
{
	struct rlimit r = { RLIM_INFINITY, RLIM_INFINITY };

	return setrlimit(RLIMIT_CORE, &r);
}

/* What it has to be able to do. */
static long try_tcp_socket(void)
{
	return socket(AF_INET, SOCK_STREAM, 0);
}

static long try_resolver(void)
{
	return open("/etc/nsswitch.conf", O_RDONLY);
}

static const struct {
	const char *name;
	long (*attempt)(void);
} attempts[] = {
	{ "execve", try_execve },
	{ "fork", try_fork },
	{ "openWrite", try_open_write },
	{ "openCreate", try_open_create },
	{ "openEnviron", try_open_environ },
	{ "unlink", try_unlink },
	{ "chmod", try_chmod },
	{ "unixSocket", try_unix_socket },
	{ "listen", try_listen },
	{ "ptrace", try_ptrace },
	{ "kill", try_kill },
	{ "dumpable", try_dumpable },
	{ "setuid", try_setuid },
	{ "core", try_core },
	{ "tcpSocket", try_tcp_socket },
	{ "resolver", try_resolver },
};

int confine_probe(void)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	buf_printf(&b, "{\"uid\":%u", getuid());
	for (size_t i = 0; i < ARRAY_SIZE(attempts); i++)
		buf_printf(&b, ",\"%s\":\"%s\"", attempts[i].name,
			   attempts[i].attempt() < 0 ? strerrorname_np(errno) : "done");
	buf_puts(&b, "}\n");
	return file_write_all(STDOUT_FILENO, b.data, b.len) == 0 ? 0 : 1;
}
