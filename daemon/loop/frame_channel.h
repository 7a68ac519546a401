/*
 * frame_channel.h - the socket between the daemon and a program of ours, on the loop: frames in, frames out, and
 * descriptors from the daemon. Both sides use it.
 *
 * Sending never blocks: what the socket does not take waits, and frame_channel_waiting says how much that is. What goes
 * to the program may hold secrets (keys, headers, the password of a proxy): neither end leaves anything of it behind.
 *
 * Embedded in its owner. closed is called once, from the loop, when the other side is gone or said what is no frame, or
 * when a call of frame returned less than 0; then nothing else is called any more.
 */
#pragma once

#include "base/limits.h"
#include "base/slice.h"
#include "loop/loop.h"

/*
 * A frame is a head of FRAME_HEAD_SIZE bytes (length of the payload, number, type; in the byte order of the machine) and
 * the payload. Types begin with 1; the two programs define them, and what the number counts. Each treats the bytes of the
 * other as untrusted.
 */
#define FRAME_HEAD_SIZE 12
#define FRAME_PAYLOAD_MAX (256 * KIB)

struct frame {
	unsigned type;
	uint32_t number;
	struct slice payload; /* a part of the text */
};

/* types: the first that does not exist. Length of the frame at the front of in; 0: more has to come; -EPROTO: it is
 * none. */
ssize_t frame_parse(struct slice in, unsigned types, struct frame *ret);

struct frame_channel_ops {
	unsigned types; /* of the frames that may come: the first that does not exist */
	/* fd: the oldest descriptor that came and was not taken, or -1; who takes it sets it to -1. <0: a breach. */
	int (*frame)(void *ctx, const struct frame *f, int *fd);
	/* why: NULL if the other side has ended it. */
	void (*closed)(void *ctx, const char *why);
};

#define FRAME_CHANNEL_FDS 32 /* that came and were not taken */

struct frame_channel {
	struct loop *loop;
	struct loop_io io;
	const struct frame_channel_ops *ops;
	void *ctx;
	char *in;
	size_t len;
	bool takes_fds, broken, over;
	int fds[FRAME_CHANNEL_FDS];
	unsigned nfds;
	struct list out; /* struct piece */
	size_t waiting;
};

/* Owns fd, which does not block. */
void frame_channel_open(struct frame_channel *c, struct loop *loop, int fd, bool takes_fds,
			const struct frame_channel_ops *ops, void *ctx);
/* Nothing is called after it. Legal again, and within a call of frame. */
void frame_channel_close(struct frame_channel *c);
/* fd: goes along and is closed; -1: none. */
void frame_channel_send(struct frame_channel *c, unsigned type, uint32_t number,
			struct slice payload, int fd);
/* Bytes that the socket has not taken yet. */
size_t frame_channel_waiting(const struct frame_channel *c);
