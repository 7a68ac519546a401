/*
 * diff_lines.h - which lines of two texts differ.
 */
#pragma once

#include "base/slice.h"

#include <stdint.h>

/* Lines [old_at, old_at + old_n) became [new_at, new_at + new_n); counted from 0. One of the two may be empty. */
struct line_range {
	uint32_t old_at, old_n, new_at, new_n;
};

/* In order, with at least one unchanged line between two of them. */
struct line_diff {
	struct line_range *ranges;
	size_t n;
};

/* 0, -EFBIG if a text has more than DIFF_SIDE_MAX bytes, -ENOMEM. line_diff_done in any case. */
int line_diff_make(struct slice from, struct slice to, struct line_diff *ret);
void line_diff_done(struct line_diff *d);
