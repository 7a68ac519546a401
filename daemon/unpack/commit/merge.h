/*
 * merge.h - what the files of commit.h share: reports, errors, and the steps of a log on a target.
 *
 * A step is idempotent in both directions. The staging directory alone shows whether it was taken: what was staged has
 * left it, or what was displaced is in it. The target does not, because others work in it. So the steps can be
 * taken, or taken back, again from the beginning after any interruption.
 */
#pragma once

#include "tree/held_tree.h"
#include "unpack/commit/commit.h"
#include "unpack/commit/intent_log.h"

void outcome_skip(struct outcome *out, const char *path, const char *reason);
/* Fills e from a negative errno, which it returns. */
int commit_error(struct err *e, int code, const char *path);

/* The directories that steps work in. */
struct step_dirs {
	struct held target; /* of the target */
	struct held staged; /* of stage/tree */
	int tree, old;	    /* owned */
	uint64_t since;	    /* of the log */
	bool again;	    /* a killed job has taken some of the steps */
};

int step_dirs_open(struct step_dirs *g, int target, int stage);
void step_dirs_close(struct step_dirs *g);

/* Takes step i. 1: the target is not as it was when the step was planned; nothing was done. */
int step_redo(struct step_dirs *g, size_t i, const struct op *op);
/* Undoes step i if it was taken, and if what it brought is still there as it was. */
int step_undo(struct step_dirs *g, size_t i, const struct op *op);

/* Called for a step that was skipped. */
typedef void (*step_skipped_fn)(void *ctx, const struct op *op);

/* Takes all steps forward; at the first failure undoes all, also those that a killed job had taken. Of an exact log a step that would be
 * skipped fails, -EBUSY. 0; a negative errno: the target is as it was; -ENOTRECOVERABLE. Afterwards the log is LOG_DONE or LOG_UNDO. failed: the path. */
int steps_run(struct step_dirs *g, struct intent_log *log, step_skipped_fn skipped, void *ctx,
	      char failed[PATH_BYTES_MAX + 1]);
/* Undoes the first n steps, last first. */
int steps_back(struct step_dirs *g, struct intent_log *log, size_t n);
