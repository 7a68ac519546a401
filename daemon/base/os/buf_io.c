#include "base/os/buf_io.h"

#include "base/util.h"

#include <sys/socket.h>

ssize_t buf_receive(struct buf *b, int fd, size_t n)
{
	int r = buf_reserve(b, n);
	ssize_t got;

	if (r < 0)
		return r;
	got = RETRY(recv(fd, b->data + b->len, n, 0));
	if (got < 0)
		return -errno;
	b->len += (size_t)got;
	return got;
}

int buf_send(struct buf *b, int fd)
{
	while (buf_len(b)) {
		ssize_t n = RETRY(send(fd, b->data + b->pos, buf_len(b), MSG_NOSIGNAL));

		if (n < 0)
			return -errno;
		buf_consume(b, (size_t)n);
	}
	return 0;
}
