/*
 * tar.h - reads a tar: v7, ustar, pax, GNU long names, sparse files in GNU's four forms.
 *
 * It is a reader of our own because a reader that mends what it finds cannot be made to refuse it: libarchive's ends a
 * pax path at a NUL, takes a size of "3x" for 3, guesses whether a hard link has data, and ends at one block of zeros
 * whatever follows. Here every header has a checksum that holds, numbers are numbers, and after the blocks of zeros at
 * the end come zeros only; an archive without such an end is truncated. What two readers might understand differently
 * (both a pax path and a GNU long name, data after a link or a directory) is refused.
 *
 * Passed over: pax global headers, volume labels, owners, all attributes. Anything else that is no file, directory or
 * link has its reason.
 */
#pragma once

#include "unpack/stage/stage_plan.h"
#include "unpack/bytes/source.h"

/* All entries into plan (not plan_finish). 0, or negative with the plan's verdict filled. */
int tar_read(struct source *src, struct plan *plan);
