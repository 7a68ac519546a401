/*
 * inflater.h - raw deflate, piece by piece, by one of two libraries: ISA-L where it was linked and the processor has what
 * its fast paths need, which takes about half of zlib's time, and zlib everywhere else. Both give the same bytes, and the
 * same answer after the same byte; so no archive gets another verdict from another machine.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
	bool (*usable)(void);
	void *(*make)(void); /* NULL: no memory */
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
