/*
 * diff_lines.h - which lines of two texts differ.
 *
 * A line ends after its newline. The last one may have none, and then differs from the same line with one. The common
 * beginning and end of both texts are taken off first. The lines between become numbers: equal lines have equal
 * numbers, by a hash and then memcmp, and the seed of the hash differs in each process so that prepared lines cannot
 * collide. Lines that the other side does not have are changed without further search. The rest goes to myers.h. An
 * insertion or deletion that could stand in several places is moved down as far as possible, as git does.
 *
 * Between their first and last difference the texts may have DIFF_LINES_MAX lines each; with more, that part is one
 * range. Texts are borrowed. Memory is about 60 bytes for each line between.
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
