/* deflated.h - one deflate stream of a feed, as a whole, into a ring: what a gzip member and an entry of a zip have. */
#pragma once

#include "unpack/bytes/feed.h"
#include "unpack/bytes/inflater.h"
#include "unpack/bytes/ring.h"

enum deflated_end {
	DEFLATED_WHOLE,
	DEFLATED_LEFT,	  /* the consumer needs no more */
	DEFLATED_REFUSED, /* the feed's verdict says why */
	DEFLATED_CUT,	  /* the part of the feed ends before the stream does */
	DEFLATED_LONG,	  /* it makes more than was allowed */
	DEFLATED_DAMAGED,
};

struct deflated {
	struct inflater i;
	uint32_t crc; /* of what it made */
	uint64_t made;
};

/* 0, or -ENOMEM. By the library that this machine is best at. */
int deflated_open(struct deflated *d);
void deflated_close(struct deflated *d);
/* Passes on whatever is right: up to a fault, and up to `most` bytes. So what a consumer sees of a bad stream depends on
 * the stream alone. */
enum deflated_end deflated_read(struct deflated *d, struct feed *f, struct ring *r, uint64_t most);
