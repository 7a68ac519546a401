/* range.h - the headers Content-Range (of a request) and Range, unit bytes. Pure. */
#pragma once

#include "base/slice.h"

#include <stdint.h>

/* Of "bytes N-M/T": these bytes of so many. Of "bytes * /T" (written without the blank): none, count is 0 and
 * first is T. */
struct content_range {
	uint64_t first, count, total;
};

/* 0, or -EINVAL unless it is one of the two and N <= M < T. */
int content_range_parse(struct slice text, struct content_range *ret);
/* Range of a resource of size bytes. 0: the whole (no such header, several ranges, another unit, or "bytes=-N");
 * 1: these bytes; -ERANGE: it begins after the end. */
int range_parse(struct slice text, uint64_t size, uint64_t *first, uint64_t *count);
