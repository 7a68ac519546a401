/*
 * draft_apply.h - a change set becomes that of the real tree, all of it or nothing.
 *
 * What is new is copied into the stage's tree/, and while it is copied, held against the digests of the change set. Then
 * every step is written into the stage's log (commit/intent_log.h, an exact one), and taken. Whoever is killed leaves the
 * stage: with a log that counts, the next job for the tree takes the steps again (extract/extract_recover.h).
 *
 * All of it is work of the tree's user, confined.
 */
#pragma once

#include "unpack/draft/draft_compare.h"

struct draft_target {
	int target, stage; /* held open */
	int base; /* where the record of the tree afterwards is written; it must be whole before the log counts */
};

/* PATCH_DIGEST_MISMATCH: the draft has changed since; DRAFT_CONFLICT with a path: the real tree has; and failures. */
int draft_apply(struct draft_trees *t, const struct draft_changes *c, const struct draft_target *to,
		struct verdict *v);
