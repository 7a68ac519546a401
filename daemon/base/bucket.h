/*
 * bucket.h - limits how often something may be said: a burst at once, then one in each interval. The bucket counts what
 * was left out in between, so that the next time can say so. All zeros is a full bucket. The caller passes the time in
 * monotonic milliseconds.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct bucket {
	uint64_t since; /* what was used has come back up to this time */
	unsigned used;
	unsigned left_out;
};

/* Takes n at once, or none. */
static inline bool bucket_take_n(struct bucket *b, uint64_t now, unsigned burst, unsigned each_ms,
				 unsigned n)
{
	uint64_t back = (now - b->since) / each_ms;

	b->used = back >= b->used ? 0 : b->used - (unsigned)back;
	b->since = b->used ? b->since + back * each_ms : now;
	if (n > burst || b->used > burst - n) {
		b->left_out++;
		return false;
	}
	b->used += n;
	return true;
}

static inline bool bucket_take(struct bucket *b, uint64_t now, unsigned burst, unsigned each_ms)
{
	return bucket_take_n(b, now, burst, each_ms, 1);
}

/* A bucket_take would be refused. */
static inline bool bucket_is_used_up(const struct bucket *b, uint64_t now, unsigned burst,
				     unsigned each_ms)
{
	struct bucket copy = *b;

	return !bucket_take(&copy, now, burst, each_ms);
}

/* How many were left out since the last call. */
static inline unsigned bucket_left_out(struct bucket *b)
{
	unsigned n = b->left_out;

	b->left_out = 0;
	return n;
}
