#include "base/os/loopback.h"

#include "base/util.h"

#include <errno.h>
#include <sys/random.h>
#include <sys/socket.h>

/* Not 127.0.0.0/16, where programs and /etc/hosts have addresses of their own; nothing that ends with 0 or 255. */
static void pick_address(struct sockaddr_in *a)
{
	unsigned char r[3] = { 0 };

	while (getrandom(r, sizeof(r), 0) != sizeof(r))
		;
	*a = (struct sockaddr_in){ .sin_family = AF_INET };
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
