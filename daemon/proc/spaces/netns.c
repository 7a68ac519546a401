/*
 * netns.c - creates network namespaces, and sockets in them, through short-lived children.
 *
 * unshare(2) and setns(2) move the caller, and the daemon must stay in its namespace: a child makes
 * the call and passes a descriptor back. The child uses system calls only. Without privileges this
 * needs a user namespace. A process can write its maps only while it is dumpable, so it is created
 * once at the start.
 */
#include "proc/spaces/netns.h"

#include "base/os/local_sock.h"
#include "base/util.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

struct netns {
	unsigned refs;
	int fd;
};

/* The user namespace that they belong to; -1: we need none. */
static int users = -1;
static int users_error; /* why there is none */

/* --- a descriptor from a child --------------------------------------------------------------------------- */

struct errand {
	int (*make)(const struct errand *x); /* plain system calls only */
	const struct netns *n;
	int family, type;
};

static int take_from_child(const struct errand *x)
{
	_cleanup_(closep) int ours = -1, theirs = -1;
	int ends[2], r;
	pid_t pid;

	/* Of this type a number and its descriptor are one message: both arrive, or neither does. */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	ours = ends[0];
	theirs = ends[1];
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		_exit(handed_fd_send(theirs, x->make(x)) ? 0 : 1);
	closep(&theirs);
	r = handed_fd_take(ours);
	RETRY(waitpid(pid, NULL, 0));
	return r;
}

/* --- what it makes --------------------------------------------------------------------------------------- */

static int open_own(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int write_own(const char *path, const char *text)
{
	_cleanup_(closep) int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -errno;
}

/* One line is all that somebody without privileges may write: himself. */
static int map_self(const char *path, unsigned id)
{
	return write_own(path, SHORT_TEXT(32, "%u %u 1", id, id));
}

static int make_users(const struct errand *x _unused_)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int r;

	if (unshare(CLONE_NEWUSER) < 0)
		return -errno;
	r = map_self("/proc/self/uid_map", uid);
	/* Required before gid_map is written without privileges (user_namespaces(7)). */
	if (r == 0)
		r = write_own("/proc/self/setgroups", "deny");
	if (r == 0)
		r = map_self("/proc/self/gid_map", gid);
	return r < 0 ? r : open_own("/proc/self/ns/user");
}

/* The loopback of a new namespace is down, and by it the session reaches the daemon. */
static int raise_loopback(void)
{
	_cleanup_(closep) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };

	return fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo) < 0 ? -errno : 0;
}

static int make_net(const struct errand *x _unused_)
{
	int r = netns_enter_users();

	if (r == 0 && unshare(CLONE_NEWNET) < 0)
		r = -errno;
	if (r == 0)
		r = raise_loopback();
	return r < 0 ? r : open_own("/proc/self/ns/net");
}

static int netns_make_socket(const struct errand *x)
{
	int r = netns_enter(x->n), fd;

	if (r < 0)
		return r;
	fd = socket(x->family, x->type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}

/* --- interface ------------------------------------------------------------------------------------------- */

void netns_prepare(void)
{
	int r;

	if (geteuid() == 0 || users >= 0)
		return;
	r = take_from_child(&(struct errand){ .make = make_users });
	users = r < 0 ? -1 : r;
	users_error = r < 0 ? r : 0;
}

static int netns_make(void)
{
	return take_from_child(&(struct errand){ .make = make_net });
}

static int netns_refuse(int error, struct err *e)
{
	return err_set(e, error, 0, "NETWORK_NAMESPACE",
		       geteuid() == 0 ?
			       "no network namespace can be made (it needs CAP_SYS_ADMIN): %s" :
			       "no user and network namespace can be made: %s",
		       strerror(-error));
}

int netns_try(struct err *e)
{
	static bool worked;
	_cleanup_(closep) int fd = worked ? -1 : netns_make();

	worked = worked || fd >= 0;
	return worked ? 0 : netns_refuse(fd, e);
}

const char *netns_missing(void)
{
	static struct err why;
	static bool tried;

	if (!tried)
		netns_try(&why);
	tried = true;
	return why.msg[0] ? why.msg : NULL;
}

struct netns *netns_new(struct err *e)
{
	int fd = netns_make();
	struct netns *n;

	if (fd < 0) {
		netns_refuse(fd, e);
		return NULL;
	}
	n = new0(struct netns);
	*n = (struct netns){ .refs = 1, .fd = fd };
	return n;
}

struct netns *netns_ref(struct netns *n)
{
	if (n)
		n->refs++;
	return n;
}

struct netns *netns_unref(struct netns *n)
{
	if (n && !--n->refs) {
		close(n->fd);
		free(n);
	}
	return NULL;
}

int netns_socket(const struct netns *n, int family, int type)
{
	return take_from_child(&(struct errand){
		.make = netns_make_socket, .n = n, .family = family, .type = type });
}

int netns_enter_users(void)
{
	if (users < 0)
		return users_error;
	return setns(users, CLONE_NEWUSER) < 0 ? -errno : 0;
}

int netns_enter(const struct netns *n)
{
	int r;

	if (!n)
		return 0;
	r = netns_enter_users();
	if (r == 0 && setns(n->fd, CLONE_NEWNET) < 0)
		r = -errno;
	return r;
}
