/*
 * draft_copy.h - how a draft begins: the record of the real tree (draft_base.h), and, where no overlay can be had, a copy
 * of it.
 *
 * The copy has all files, directories and links that the tree's user can read; hard links become files of their own.
 * What cannot be read is neither in the copy nor in the record, so nobody has deleted it. It is measured before the first
 * byte is copied: DRAFT_TOO_LARGE.
 */
#pragma once

#include "unpack/draft/draft_tree.h"

struct draft_begun {
	uint64_t entries, bytes, left_out;
};

/* real: held open; copy: the same, empty; -1: none, the draft will be an overlay. base: the record goes there. */
int draft_begin(int real, int copy, int base, uint64_t max, uint64_t until, struct draft_begun *ret,
		struct verdict *v);
/* What is below a directory on its disk. */
int draft_measure(int dir, uint64_t until, struct draft_begun *ret, struct verdict *v);
