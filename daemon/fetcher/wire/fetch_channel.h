/*
 * fetch_channel.h - the socket between the daemon and acpd-fetch, on the loop: frames in, frames out, and descriptors
 * from the daemon. Both sides use it.
 *
 * Sending never blocks: what the socket does not take waits, and fetch_channel_waiting says how much that is. What goes
 * to acpd-fetch may hold secrets (keys, headers, the password of a proxy): neither end leaves anything of it behind.
 *
 * Embedded in its owner. closed is called once, from the loop, when the other side is gone or said what is no frame, or
 * when a call of frame returned less than 0; then nothing else is called any more.
 */
#pragma once

#include "fetcher/wire/fetch_frame.h"
#include "loop/loop.h"

struct fetch_channel_ops {
	/* fd: the oldest descriptor that came and was not taken, or -1; who takes it sets it to -1. <0: a breach. */
	int (*frame)(void *ctx, const struct fetch_frame *f, int *fd);
	/* why: NULL if the other side has ended it. */
	void (*closed)(void *ctx, const char *why);
};

#define FETCH_CHANNEL_FDS 32 /* that came and were not taken */

struct fetch_channel {
	struct loop *loop;
	struct loop_io io;
	const struct fetch_channel_ops *ops;
	void *ctx;
	char *in;
	size_t len;
	bool takes_fds, broken, over;
	int fds[FETCH_CHANNEL_FDS];
	unsigned nfds;
	struct list out; /* struct piece */
	size_t waiting;
};

/* Owns fd, which does not block. */
void fetch_channel_open(struct fetch_channel *c, struct loop *loop, int fd, bool takes_fds,
			const struct fetch_channel_ops *ops, void *ctx);
/* Nothing is called after it. Legal again, and within a call of frame. */
void fetch_channel_close(struct fetch_channel *c);
/* fd: goes along and is closed; -1: none. */
void fetch_channel_send(struct fetch_channel *c, enum fetch_frame_type type, uint32_t number,
			struct slice payload, int fd);
/* Bytes that the socket has not taken yet. */
size_t fetch_channel_waiting(const struct fetch_channel *c);
