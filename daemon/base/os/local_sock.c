/*
 * local_sock.c - UNIX stream sockets of the daemon and its tools, and checks of the peer's uid
 * (SO_PEERCRED, unix(7)).
 *
 * Access is controlled twice: by mode 0600 of the socket, and by the peer's uid after accept. A
 * socket file survives the process that bound it; only ECONNREFUSED on connect proves that no
 * process listens there. So both listen and sweep connect before they remove a file.
 */
#include "base/os/local_sock.h"

#include "base/os/file.h"
#include "base/util.h"

#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>

/* An address holds 107 bytes. A longer path is named below a descriptor of its directory, which *dir keeps open. */
static int address(const char *path, struct sockaddr_un *ret, int *dir)
{
	_cleanup_(freep) char *parent = NULL;
	const char *slash = strrchr(path, '/');
	size_t n;

	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) < sizeof(ret->sun_path)) {
		memcpy(ret->sun_path, path, strlen(path) + 1);
		return 0;
	}
	if (!slash)
		return -ENAMETOOLONG;
	parent = xstrndup(path, (size_t)(slash - path) + 1);
	*dir = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (*dir < 0)
		return -errno;
	n = (size_t)snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d%s", *dir,
			     slash);
	return n < sizeof(ret->sun_path) ? 0 : -ENAMETOOLONG;
}

static int connect_to(const char *path, int flags)
{
	_cleanup_(closep) int fd = -1, dir = -1;
	struct sockaddr_un a;
	int r = address(path, &a, &dir);

	if (r < 0)
		return r;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		return -errno;
	return TAKE_FD(fd);
}

/* Blocking until connected: a non-blocking connect fails with EAGAIN while the backlog is full (connect(2)). */
int unixsock_connect(const char *path)
{
	int fd = connect_to(path, 0);

	if (fd >= 0)
		fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

/* Returns 0 if no process listens at path, and removes a stale socket. Does not wait for a process with a full backlog:
 * its socket refuses with EAGAIN. */
static int vacate(const char *path)
{
	_cleanup_(closep) int probe = connect_to(path, SOCK_NONBLOCK);

	if (probe == -ECONNREFUSED)
		unlink(path);
	if (probe == -ECONNREFUSED || probe == -ENOENT)
		return 0;
	return probe >= 0 || probe == -EAGAIN ? -EADDRINUSE : probe;
}

int unixsock_listen(const char *path)
{
	_cleanup_(closep) int fd = -1, dir = -1;
	struct sockaddr_un a;
	mode_t mask;
	int r = address(path, &a, &dir);

	if (r == 0)
		r = vacate(path);
	if (r < 0)
		return r;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	/* bind(2) creates the file with the umask's mode; a later chmod would leave a moment in
	 * which others connect. */
	mask = umask(0177);
	r = bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, SOMAXCONN) < 0 ? -errno :
											  0;
	umask(mask);
	return r < 0 ? r : TAKE_FD(fd);
}

static void sweep_dir(const char *dir, bool deeper);

static void sweep_entry(const char *path, bool deeper)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return;
	if (S_ISDIR(st.st_mode) && deeper) {
		sweep_dir(path, false);
		/* Fails if something is left in there, such as a socket that a process listens on. */
		rmdir(path);
	}
	if (S_ISSOCK(st.st_mode))
		(void)vacate(path);
}

static void sweep_dir(const char *dir, bool deeper)
{
	_cleanup_(closedirp) DIR *d = opendir(dir);
	struct dirent *entry;

	while (d && (entry = readdir(d))) {
		_cleanup_(freep) char *path = file_join(dir, entry->d_name);

		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			sweep_entry(path, deeper);
	}
}

void unixsock_sweep(const char *dir)
{
	sweep_dir(dir, true);
}

static bool peer_uid(int fd, uid_t *ret)
{
	struct ucred peer;
	socklen_t n = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0)
		return false;
	*ret = peer.uid;
	return true;
}

bool unixsock_peer_root(int fd)
{
	uid_t peer;

	return peer_uid(fd, &peer) && peer == 0;
}

bool unixsock_peer_is(int fd, uid_t uid)
{
	uid_t peer;

	return peer_uid(fd, &peer) && (peer == 0 || peer == geteuid() || peer == uid);
}

bool unixsock_peer_trusted(int fd)
{
	return unixsock_peer_is(fd, 0);
}

/* --- descriptors ----------------------------------------------------------------------------------------- */

union control {
	struct cmsghdr h;
	char room[CMSG_SPACE(sizeof(int))];
};

bool handed_fd_send(int sock, int r)
{
	union control c = { 0 };
	struct iovec data = { &r, sizeof(r) };
	struct msghdr m = { .msg_iov = &data, .msg_iovlen = 1 };

	/* At least one byte of data must go with a descriptor (unix(7)): it is r, which also reports an error. */
	if (r >= 0) {
		m.msg_control = &c;
		m.msg_controllen = sizeof(c);
		c.h = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
					.cmsg_level = SOL_SOCKET,
					.cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&c.h), &r, sizeof(r));
	}
	return sendmsg(sock, &m, MSG_NOSIGNAL) >= 0;
}

int handed_fd_take(int sock)
{
	union control c = { 0 };
	int r = -EIO, fd;
	struct iovec data = { &r, sizeof(r) };
	struct msghdr m = {
		.msg_iov = &data, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = sizeof(c)
	};
	ssize_t n;

	n = RETRY(recvmsg(sock, &m, MSG_CMSG_CLOEXEC));
	if (n != sizeof(r) || r < 0)
		return n == sizeof(r) ? r : -EIO; /* -EIO: it was killed */
	/* The table of this process was full, so the kernel dropped the descriptor. */
	if (m.msg_controllen < CMSG_LEN(sizeof(int)) || c.h.cmsg_type != SCM_RIGHTS)
		return -EMFILE;
	memcpy(&fd, CMSG_DATA(&c.h), sizeof(fd));
	return fd;
}

/* --- the loopback ---------------------------------------------------------------------------------------- */

/* Not 127.0.0.0/16, where programs and /etc/hosts have addresses of their own; nothing that ends with 0 or 255. */
static void pick_address(struct sockaddr_in *a)
{
	unsigned char r[3] = { 0 };

	while (getrandom(r, sizeof(r), 0) != sizeof(r))
		;
	*a = (struct sockaddr_in){ .sin_family = AF_INET };
	/* 127.16.0.1 to 127.239.255.254. */
	a->sin_addr.s_addr = htonl(127u << 24 | (16u + r[0] % 224u) << 16 | (unsigned)r[1] << 8 |
				   (1u + r[2] % 254u));
}

int loopback_bind(int given, int backlog, struct sockaddr_in *at)
{
	_cleanup_(closep) int fd =
		given >= 0 ? given : socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t n = sizeof(*at);

	pick_address(at);
	if (fd < 0 || bind(fd, (struct sockaddr *)at, sizeof(*at)) < 0 ||
	    (backlog > 0 && listen(fd, backlog) < 0) ||
	    getsockname(fd, (struct sockaddr *)at, &n) < 0)
		return -errno;
	return TAKE_FD(fd);
}
