/*
 * proxy_main.c - acpd-proxy, the proxy through which sessions reach what their network allows: what it gives up, and what it
 * opens before.
 *
 * The process accepts on sockets that it was given, and connects. Therefore the list has no bind, listen, thread or process.
 * All else is EPERM: no exec, no file opened for writing, no ptrace, no signals to others. service.h has the arguments.
 */
#include "proxy/proxy.h"

#include "base/net/sock_owner.h"
#include "base/util.h"

#include <ares.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* --- confinement ---------------------------------------------------------------------------------------------- */

/* What c-ares reads at each look-up. Files there are replaced by others of their name while we live (resolv.conf), so
 * not the files are named, but for the last: it may be a link to anywhere. Random numbers are read by older ones. */
static const char *const readable[] = { "/etc",		"/run/resolvconf",  "/run/systemd/resolve",
					"/dev/urandom", "/etc/resolv.conf", NULL };

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

/* --- what it opens before ------------------------------------------------------------------------------------- */

/* The netlink socket that finds the user of a connection: confined, none can be opened. */
static int owners = -1;

static const char *proxy_prepare(const char *argument _unused_)
{
	if (ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS)
		return "c-ares";
	owners = sock_owner_open();
	return NULL;
}

static const char *proxy_library(void)
{
	static char text[32];

	snprintf(text, sizeof(text), "c-ares %s", ares_version(NULL));
	return text;
}

static void *proxy_open_server(struct service_run *run)
{
	return proxy_server_new(run, owners);
}

static const struct service proxy_service = {
	.name = "acpd-proxy",
	.arguments = "UID GID",
	.arguments_max = 2,
	.library = proxy_library,
	.prepare = proxy_prepare,
	.readable = readable,
	.calls = &allowed,
	.types = EGRESS_FRAME_MAX,
	.config = EGRESS_CONFIG,
	.ready = EGRESS_READY,
	.takes = proxy_server_takes,
	.open = proxy_open_server,
	.close = proxy_server_free,
};

int main(int argc, char **argv)
{
	service_main(&proxy_service, argc, argv);
}
