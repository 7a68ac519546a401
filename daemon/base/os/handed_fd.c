#include "base/os/handed_fd.h"

#include "base/util.h"

#include <errno.h>
#include <sys/socket.h>

union control {
	struct cmsghdr h;
	char room[CMSG_SPACE(sizeof(int))];
};

bool handed_fd_send(int sock, int r)
{
	union control c = { 0 };
	struct iovec data = { &r, sizeof(r) };
	struct msghdr m = { .msg_iov = &data, .msg_iovlen = 1 };

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

	do
		n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n != sizeof(r) || r < 0)
		return n == sizeof(r) ? r : -EIO; /* -EIO: it was killed */
	if (m.msg_controllen < CMSG_LEN(sizeof(int)) || c.h.cmsg_type != SCM_RIGHTS)
		return -EMFILE;
	memcpy(&fd, CMSG_DATA(&c.h), sizeof(fd));
	return fd;
}
