/*
 * commit.h - how a staged tree becomes the target: at once by one rename, or path by path under an intent log.
 *
 * Order: commit_plan (nothing in the target changes). The caller then writes the new manifest, which says from then on
 * what is ours, beside the old one. Then commit_apply, which first makes the log count. Then the new manifest replaces
 * the old one, and the stage is removed. The tree may change between plan and apply: every step checks again, and skips
 * what is not as planned, CONFLICT_MODIFIED.
 *
 * Functions return 0 or a negative errno with reason and path in e: NO_SPACE, ACCESS_DENIED, READ_ONLY,
 * TOO_MANY_ENTRIES, IO_ERROR.
 */
#pragma once

#include "base/err.h"
#include "tree/tree_manifest.h"

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
	const char *name; /* whole: the target's, for errors */
	int target;	  /* -1: absent */
	int stage;
	bool whole; /* the target is absent or empty: old is not used, and the caller renames after commit_apply */
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
/* Finishes what a killed job left (*committed: the new manifest, if there is one, is now the manifest) or undoes it.
 * Afterwards the stage can be removed; after a negative errno it must be kept. target is -1 if there is none. May be
 * repeated. */
int commit_recover(int target, int stage, bool *committed, struct err *e);
