/*
 * call_rate.h - at most so many of something in any minute: model calls of a session, lines of its log. Pure.
 *
 * It remembers when the last ones were, so the bound is exact and so is the time until the next one may be. Its memory is
 * eight bytes for each that a minute may have, from the first one on. All zeros is right; call_rate_done frees it.
 */
#pragma once

#include <stdint.h>

struct call_rate {
	uint64_t *at; /* monotonic ms of the last ones, the oldest at next; 0: none yet */
	unsigned size, next;
};

/* 0: it may be now, and counts. Else the milliseconds until it may be. max: in a minute; it may differ from the last time's. */
uint64_t call_rate_take(struct call_rate *r, unsigned max, uint64_t now);
void call_rate_done(struct call_rate *r);
