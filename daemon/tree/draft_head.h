/*
 * draft_head.h - the first line of the record of a draft's base (unpack/draft/draft_base.c). acpd-unpack writes it, and the
 * daemon reads it to learn what has become of an apply, also of one whose program was killed.
 *
 *	acpd-draft 1 <generation> <changes of the apply that began it>
 *
 * Where it was written without the last number, that is 0.
 */
#pragma once

#include "base/buf.h"

#define DRAFT_HEAD_BYTES 64 /* more than the longest */

struct draft_head {
	uint64_t generation; /* from 1 */
	uint64_t applied;
};

void draft_head_put(struct buf *b, const struct draft_head *h);
/* Takes it off the front of text, with its newline. False: there is none. */
bool draft_head_take(struct slice *text, struct draft_head *ret);
