/*
 * jitter.h - how long to wait before something is tried again: a random time from base to three times the last wait, at most
 * max ("decorrelated jitter"). Those that failed together do not try again together.
 */
#pragma once

#include <stdint.h>

/* last: 0, or what it said the last time. Milliseconds; base is less than max. */
uint64_t jitter_next(uint64_t last, uint64_t base, uint64_t max);
