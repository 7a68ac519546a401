/*
 * commit.h - how a staged tree becomes the target: at once by one rename, or path by path under an intent log.
 *
 * Three parties are compared: what the generation before wrote (old), what the new one brings (staged), and what is in
 * the target now. What others made, changed or deleted there stays as it is, and is reported:
 *
 *	                      not in old                        in old
 *	tree: nothing         written                           DELETED (stays deleted, and stays ours, so that the
 *	                                                        next generation leaves it deleted too)
 *	tree: as old          -                                 written, or unchanged if new is as old; EXISTS with
 *	                                                        MARK_KEEP_EXISTING (and stays ours)
 *	tree: as new          unchanged (and not ours)          unchanged
 *	tree: anything else   CONFLICT_FOREIGN, or EXISTS with  CONFLICT_MODIFIED, unless new is as old: unchanged
 *	                      MARK_KEEP_EXISTING
 *	                      or MARK_KEEP_FOREIGN
 *	in old, not in new    -                                 as old: removed; changed: CONFLICT_MODIFIED; kept in
 *	                                                        mode merge
 *
 * "As" means: the same type, the same permission bits, the same bytes (size, then SHA-256, of files; text of links).
 * Times are never trusted: every user of the tree can set them. But where new is as old nothing has to be read, so a
 * generation costs one stat for each path and the reading of what it changes. A directory is shared with others as long
 * as both sides have one. It is ours, and removed when empty, only if we made it. If something else is in a directory's
 * place, everything below is NOT_DIRECTORY. MARK_OVERWRITE replaces what would be a conflict, but never a directory.
 *
 * Order: commit_plan (nothing in the target changes). The caller then writes the new manifest, which says from then on
 * what is ours, beside the old one. Then commit_apply, which first makes the log count. Then the new manifest replaces
 * the old one, and the stage is removed. The tree may change between plan and apply: every step checks again, and skips
 * what is not as planned, CONFLICT_MODIFIED.
 *
 * The stage holds tree/ (with directories at least u+rwx), old/ and log; this code makes the last two. All in it may
 * belong to the user of the target, and is not trusted.
 *
 * Functions return 0 or a negative errno with reason and path in e: NO_SPACE, ACCESS_DENIED, READ_ONLY,
 * TOO_MANY_ENTRIES, IO_ERROR.
 */
#pragma once

#include "base/err.h"
#include "tree/tree_manifest.h"

#include <stdbool.h>
#include <stdint.h>

/* node.mark of a staged manifest */
enum {
	MARK_KEEP_EXISTING = 1,
	MARK_OVERWRITE = 2,
	MARK_KEEP_FOREIGN = 4,
};

struct skipped {
	char *path;
	const char *reason;
};

/* Of entries, directories included. Each entry of the new generation counts as exactly one of written, unchanged and
 * skipped; removed ones were in the old generation only, as were those that are skipped because they should have been
 * removed. STRIPPED ones are of the archive only. */
struct outcome {
	uint64_t written, removed, unchanged, skipped_total;
	struct skipped *skipped; /* the first SKIPPED_MAX */
};

void outcome_done(struct outcome *out);

struct commit {
	int parent; /* whole: the directory to rename into; -1: the caller calls commit_rename after commit_apply */
	const char *name; /* whole: the target's name in it */
	int target;	  /* -1: absent */
	int stage;
	bool whole; /* the target is absent or empty; old is not used */
	struct manifest *
		old; /* NULL: none. As manifest_read gives it: a directory that has no line is not ours */
	struct manifest *staged;
	bool keep_missing; /* mode merge: what the new generation does not have stays, and stays ours */
	bool (*keeps)(void *ctx, const char *path); /* unless this says no; NULL: it always does */
	void *ctx;
};

/* Compares, writes the log, and turns c->staged into what is ours from now on. Marks as fresh what is written, in c->staged,
 * and what is removed, in c->old. */
int commit_plan(struct commit *c, struct outcome *out, struct err *e);
/* Takes the steps of the log. 1: done, but c->staged has changed since (paths that others changed meanwhile are removed
 * from it). A negative errno: the target is as it was; but -ENOTRECOVERABLE: not everything could be put back, the
 * stage must be kept, and commit_recover goes on. */
int commit_apply(struct commit *c, struct outcome *out, struct err *e);
/* The one rename of a whole commit; name is absent or an empty directory. */
int commit_rename(int stage, int parent, const char *name);
/* Finishes what a killed job left (*committed: the new manifest, if there is one, is now the manifest) or undoes it.
 * Afterwards the stage can be removed; after a negative errno it must be kept. target is -1 if there is none. May be
 * repeated. */
int commit_recover(int target, int stage, bool *committed, struct err *e);
