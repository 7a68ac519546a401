/*
 * dial.h - connects to the first of some addresses that can be reached, one after the other.
 *
 * Embedded. done is called once, from the loop: with a socket that is the owner's, or with -1 and the errno of the last
 * address that was tried.
 */
#pragma once

#include "loop/loop.h"

#include <sys/socket.h>

struct dial_terms {
	uint64_t each_ms; /* for one address */
	uint64_t all_ms; /* for all of them, and then the last has all that is left; 0: each has its own time */
	/* The socket: closed on exec, and not blocking. -1 and errno. NULL: one of ours. */
	int (*open)(void *ctx, int family);
};

struct dial {
	struct loop *loop;
	struct loop_io io;
	struct loop_timer timer;
	struct loop_task task;
	const struct dial_terms *terms;
	const struct sockaddr_storage *to;
	size_t n, next;
	uint64_t until, tried_ms; /* tried_ms: since when the last one is tried */
	bool late;		  /* one did not answer */
	int error;
	void (*done)(void *ctx, int fd, int error);
	void *ctx;
};

/* to stays as it is until done; its ports are set. */
void dial_start(struct dial *d, struct loop *loop, const struct sockaddr_storage *to, size_t n,
		const struct dial_terms *terms, void (*done)(void *ctx, int fd, int error),
		void *ctx);
/* Nothing is called any more. Of all zeros, too. */
void dial_stop(struct dial *d);
