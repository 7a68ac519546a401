/*
 * retention.h - how long and how much of something is kept: "AGE", "AGE,SIZE" or ",SIZE".
 *
 * AGE is a number with s, m, h, d or w (seconds if it has none), SIZE a number with k, m, g or t (powers of 1024;
 * bytes if it has none). Both are at least 1; an absent part has no bound. The empty text bounds nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct retention {
	int64_t age_secs, bytes; /* 0: no bound */
};

#define RETENTION_TEXT_MAX 48

/* Takes decimal digits and at most one unit for each part. -EINVAL: not of that form, or beyond 10 000 years or 2^62
 * bytes; then *ret is unchanged. */
int retention_parse(const char *text, struct retention *ret);
/* Writes it in the largest units without a remainder, as retention_parse reads it. */
const char *retention_text(const struct retention *k, char out[RETENTION_TEXT_MAX]);
static inline bool retention_bounded(const struct retention *k)
{
	return k->age_secs || k->bytes;
}
