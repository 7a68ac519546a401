/*
 * acceptor.h - a listening socket on our loop: hands over each new connection, non-blocking and closed on exec.
 *
 * Level-triggered like everything here, so a connection that cannot be accepted would wake the loop again at once:
 * where descriptors or memory are gone it looks away for ACCEPT_AGAIN_MS. At most ACCEPTS_PER_TURN are taken in a
 * turn, so that a flood of them does not keep others waiting. Whether a connection may stay is for fn to say; the
 * descriptor is its own.
 */
#pragma once

#include "loop/loop.h"

struct acceptor {
	struct loop *loop;
	struct loop_io io;
	struct loop_timer again;
	void (*fn)(void *ctx, int fd);
	void *ctx;
};

/* Takes fd over in any case. 0 or -errno. */
int acceptor_open(struct acceptor *a, struct loop *loop, int fd, void (*fn)(void *ctx, int fd),
		  void *ctx);
/* Closes it; all zeros, and closed already, will do. */
void acceptor_close(struct acceptor *a);
