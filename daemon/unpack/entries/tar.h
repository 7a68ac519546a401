/*
 * tar.h - reads a tar: v7, ustar, pax, GNU long names, sparse files in GNU's four forms.
 *
 * It is a reader of our own because a reader that mends faults cannot be made to refuse them: libarchive's ends a pax
 * path at a NUL, reads a size of "3x" as 3, guesses whether a hard link has data, and ends at one block of zeros
 * whatever follows. This one requires that every header has a correct checksum, that numbers are numbers, and that only
 * zeros follow the blocks of zeros at the end; an archive without such an end is truncated. What two readers might
 * understand differently (both a pax path and a GNU long name, data after a link or a directory) is refused.
 *
 * Skipped: pax global headers, volume labels, owners, all attributes. Any other type that is no file, directory or link
 * is refused with its reason.
 */
#pragma once

#include "unpack/stage/stage_plan.h"
#include "unpack/bytes/source.h"

/* All entries into plan (not plan_finish). 0, or negative with the plan's verdict filled. */
int tar_read(struct source *src, struct plan *plan);
