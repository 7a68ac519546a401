/* buf_io.h - a buf and a stream socket: what came is appended, what is in it goes out. Never raises SIGPIPE. */
#pragma once

#include "base/buf.h"

#include <sys/types.h>

/* Appends what has come, at most n bytes. Returns how many; 0: the other side has ended; -EAGAIN: nothing is there now; or another
 * -errno, -E2BIG and -ENOMEM too. */
ssize_t buf_receive(struct buf *b, int fd, size_t n);
/* Sends from the front of b until nothing is left. Returns 0; -EAGAIN: the socket takes no more now; or another -errno. */
int buf_send(struct buf *b, int fd);
