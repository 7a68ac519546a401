/* retry_after.h - how long a receiver wants to be left alone. */
#pragma once

#include "base/slice.h"

#include <stdint.h>

/* The header retry-after of an answer, in ms and at most max_ms; 0: there is none. Seconds alone: a date is not looked
 * at. */
uint64_t retry_after_of(struct slice headers, uint64_t max_ms);
