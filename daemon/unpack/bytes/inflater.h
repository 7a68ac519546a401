/*
 * inflater.h - raw deflate, piece by piece, by one of two libraries: ISA-L where it was linked and the processor has what
 * its fast paths need, which takes about half of zlib's time, and zlib everywhere else. Both give the same bytes, and the
 * same answer after the same byte; so no archive gets another verdict from another machine.
 */
#pragma once

#include "unpack/bytes/feed.h"
#include "unpack/bytes/ring.h"

#include <zlib.h>

struct inflater_io {
	const uint8_t *in;
	size_t in_n;
	uint8_t *out;
	size_t out_n;
};

enum inflated {
	INFLATED_MORE,	 /* out is full, or in holds nothing more that can be decided */
	INFLATED_END,	 /* the stream has ended; in begins behind it */
	INFLATED_DAMAGED /* what was made before the fault is in out */
};

struct inflater_ops {
	const char *name;
	bool (*usable)(void); /* NULL: always */
	void *(*make)(void);  /* NULL: no memory */
	void (*reset)(void *state);
	enum inflated (*step)(void *state, struct inflater_io *io);
	void (*free)(void *state);
	uint32_t (*crc)(uint32_t crc, const void *p, size_t n); /* CRC-32, begins with 0 */
};

struct inflater {
	const struct inflater_ops *ops;
	void *state;
};

extern const struct inflater_ops inflater_zlib;
/* Its address is NULL where it was not linked. */
extern const struct inflater_ops inflater_isal __attribute__((weak));

/* ACPD_INFLATE=zlib in the environment: never the other. */
const struct inflater_ops *inflater_choose(void);
/* 0, or -ENOMEM. */
int inflater_open(struct inflater *i, const struct inflater_ops *ops);
void inflater_close(struct inflater *i);
/* A new stream begins. */
static inline void inflater_reset(struct inflater *i)
{
	i->ops->reset(i->state);
}
/* Takes from in and adds to out, which has room for at least one byte. */
static inline enum inflated inflater_step(struct inflater *i, struct inflater_io *io)
{
	return i->ops->step(i->state, io);
}

/* What inflater_isal.c uses of zlib's side: inflate() on io with this flush, its return code; and one step. */
int inflater_zlib_call(z_stream *z, struct inflater_io *io, int flush);
enum inflated inflater_zlib_step(void *z, struct inflater_io *io);

/* One deflate stream of a feed, as a whole, into a ring: what a gzip member and an entry of a zip have. */
enum deflated_end {
	DEFLATED_WHOLE,
	DEFLATED_LEFT,	  /* the consumer needs no more */
	DEFLATED_REFUSED, /* the feed's verdict says why */
	DEFLATED_CUT,	  /* the part of the feed ends before the stream does */
	DEFLATED_LONG,	  /* it makes more than was allowed */
	DEFLATED_DAMAGED,
};

struct deflated {
	struct inflater i; /* opened and closed by the owner */
	uint32_t crc;	   /* of what it made */
	uint64_t made;
};

/* Passes on whatever is right: up to a fault, and up to `most` bytes. So what a consumer sees of a bad stream depends on
 * the stream alone. */
enum deflated_end deflated_read(struct deflated *d, struct feed *f, struct ring *r, uint64_t most);
