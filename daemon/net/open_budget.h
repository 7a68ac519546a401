/*
 * open_budget.h - limits what clients without a token are sent: all of them together, and each address. No address gets
 * more than half, so that a flood from one leaves others their answers. Addresses share one of OPEN_PEERS buckets by a
 * hash, so that the table needs no memory for new ones and none can reset its own. All zeros is a full budget.
 */
#pragma once

#include "base/bucket.h"
#include "base/limits.h"

#include <stdint.h>
#include <sys/socket.h>

#define OPEN_PEERS 64 /* buckets of addresses */

struct open_budget {
	struct bucket all, peers[OPEN_PEERS];
};

/* Takes so many bytes for that address, or none. now: monotonic milliseconds. */
bool open_budget_take(struct open_budget *b, const struct sockaddr_storage *peer, uint64_t now,
		      uint64_t bytes);
