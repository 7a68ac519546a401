/*
 * acceptor.h - a listening socket on our loop: hands over each new connection, non-blocking and closed on exec.
 *
 * Level-triggered like the whole loop, so a connection that cannot be accepted would wake the loop again at once.
 * Without descriptors or memory it therefore pauses for ACCEPT_AGAIN_MS. It accepts at most ACCEPTS_PER_TURN in one
 * turn of the loop, so that a flood of connections does not keep others waiting. fn owns the descriptor, and decides
 * whether the connection may stay.
 */
#pragma once

#include "loop/loop.h"

struct acceptor {
	struct loop *loop;
	struct loop_io io;
	struct loop_timer again;
	bool held;
	void (*fn)(void *ctx, int fd);
	void *ctx;
};

/* Owns fd from now on, even if it fails. 0 or -errno. */
int acceptor_open(struct acceptor *a, struct loop *loop, int fd, void (*fn)(void *ctx, int fd),
		  void *ctx);
/* Nobody is accepted meanwhile: they wait. */
void acceptor_hold(struct acceptor *a, bool hold);
/* Closes it. All zeros, or closed already, is allowed. */
void acceptor_close(struct acceptor *a);
