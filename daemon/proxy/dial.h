/*
 * dial.h - connects to the first of some addresses that can be reached, one after the other. An address that does not
 * answer has only EGRESS_CONNECT_NEXT_MS if there is another.
 *
 * Embedded. done is called once, from the loop: with a socket that is the owner's, or with -1 and why.
 */
#pragma once

#include "egress/wire/egress_reason.h"
#include "loop/loop.h"
#include "proxy/name_lookup.h"

struct dial {
	struct loop *loop;
	struct loop_io io;
	struct loop_timer timer;
	struct loop_task task;
	const struct name_answer *to;
	unsigned next;
	uint64_t until;
	bool late; /* one did not answer */
	void (*done)(void *ctx, int fd, enum egress_reason why);
	void *ctx;
};

/* to stays as it is until done; its ports are set. */
void dial_start(struct dial *d, struct loop *loop, const struct name_answer *to,
		void (*done)(void *ctx, int fd, enum egress_reason why), void *ctx);
/* Nothing is called any more. Of all zeros, too. */
void dial_stop(struct dial *d);
