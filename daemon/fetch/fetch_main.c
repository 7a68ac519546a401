/*
 * fetch_main.c - acpd-fetch, which makes the daemon's requests to other machines: what it gives up, and what it loads before.
 *
 * libcurl and the resolver of the C library determine the list of calls: threads for getaddrinfo, netlink, a socket pair. All
 * else is EPERM: no exec, no process, no listening, no file opened for writing, no ptrace, no signals to others. service.h has
 * the arguments; the last one is the file of trusted certificates.
 */
#include "fetch/fetch.h"

#include "base/os/file.h"
#include "base/util.h"

#include <malloc.h>
#include <netdb.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

/* --- confinement ---------------------------------------------------------------------------------------------- */

/* What looking up a name, and libraries, may read. Files there are replaced by others of their name while we live
 * (resolv.conf), so not the files are named, but for the last: it may be a link to anywhere. */
static const char *const readable[] = {
	"/etc",	  "/usr/lib",	     "/usr/lib64",	     "/lib",
	"/lib64", "/run/resolvconf", "/run/systemd/resolve", "/etc/resolv.conf",
	NULL
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

/* --- memory of libcurl, which has held keys: what it frees is wiped -------------------------------------------- */

static void wiping_free(void *p)
{
	if (p)
		explicit_bzero(p, malloc_usable_size(p));
	free(p);
}

static void *wiping_realloc(void *p, size_t n)
{
	size_t had = p ? malloc_usable_size(p) : 0;
	void *grown;

	if (n && n <= had && had - n < n)
		return p; /* it fits, and would not shrink by much */
	grown = malloc(n ? n : 1);
	if (!grown)
		return NULL;
	if (p)
		memcpy(grown, p, had < n ? had : n);
	wiping_free(p);
	return grown;
}

/* --- what it loads before -------------------------------------------------------------------------------------- */

static const char *ca_file;

/* Its certificates, in a file of our own: whoever we become need not be able to read that one. NULL: there are none. */
static const char *take_certificates(const char *path)
{
	static char own[32];
	_cleanup_(buf_done) struct buf pem = { 0 };
	int fd = memfd_create("certificates", MFD_CLOEXEC);

	if (file_read(path, FETCH_CA_MAX, &pem) < 0 || fd < 0 ||
	    file_write_all(fd, pem.data, pem.len) < 0)
		return NULL;
	snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
	return own;
}

static const char *fetch_prepare(const char *certificates)
{
	struct addrinfo *found = NULL;

	if (curl_global_init_mem(CURL_GLOBAL_DEFAULT, malloc, wiping_free, wiping_realloc, strdup,
				 calloc) != CURLE_OK)
		return "libcurl";
	if (certificates && !(ca_file = take_certificates(certificates)))
		return "the file of trusted certificates";
	/* What is loaded at its first use is loaded now: libraries that look up names, and those that threads need to end. */
	if (getaddrinfo("localhost", NULL, NULL, &found) == 0)
		freeaddrinfo(found);
	return NULL;
}

static const char *fetch_library(void)
{
	return curl_version();
}

static void *fetch_open_server(struct service_run *run)
{
	return fetch_server_new(run, ca_file);
}

static const struct service fetch_service = {
	.name = "acpd-fetch",
	.arguments = "UID GID [CA-FILE]",
	.arguments_max = 3,
	.locks_memory = true,
	.library = fetch_library,
	.prepare = fetch_prepare,
	.readable = readable,
	.calls = &allowed,
	.types = FRAME_MAX,
	.config = FRAME_CONFIG,
	.ready = FRAME_READY,
	.takes = fetch_server_takes,
	.open = fetch_open_server,
	.close = fetch_server_free,
};

int main(int argc, char **argv)
{
	service_main(&fetch_service, argc, argv);
}
