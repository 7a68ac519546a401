/*
 * changes.h - the list, for the answer, of what a diff has found changed: each path with a mark of what is there now,
 * the first CHANGES_MAX of them (or 1 MiB) as the elements of a JSON array, the others only counted; and one state over
 * all of them. Two diffs from the same beginning have found the same tree if they have the same state; where they differ
 * is where a path has another mark.
 *
 * Something of which the contents are not known (too large, unreadable) is marked by its size and times.
 */
#pragma once

#include "unpack/snapshot/index.h"

struct changes {
	bool wanted; /* else nothing is added */
	struct buf json;
	uint64_t total;
	struct sha256_stream state;
};

void changes_init(struct changes *c, bool wanted);
void changes_add(struct changes *c, const char *path, const struct index_entry *now);
/* Hex of the state; afterwards nothing can be added. */
void changes_state(struct changes *c, char out[SHA256_HEX]);
void changes_done(struct changes *c);
