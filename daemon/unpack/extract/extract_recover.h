/*
 * extract_recover.h - what jobs leave behind: the own job's stage when it ends, and stages of jobs that were killed.
 *
 * A confined process of the tree's user handles a stage, because that user could write in it: it finishes or undoes the
 * log (commit.h), and removes everything in the stage. The keeper then removes the directory of the stage. An unlocked
 * stage belongs to no living process. In the target every such stage belongs to that target. Beside it only those whose
 * name says so (extract_target.h) do; others are removed if they were never committed.
 */
#pragma once

#include "unpack/extract/extract_target.h"

enum recovered { RECOVERED_OLD, RECOVERED_NEW, RECOVERED_KEEP /* it cannot be finished now */ };

/* Finishes or undoes the stage's log, and empties the stage. target: -1 if there is none. */
enum recovered recover_stage(const struct user *user, int stage, int target);
/* Handles all stages that killed jobs left for this target. manifest: NULL if none is kept; its ".new" replaces it or
 * is removed. Negative with v filled: a stage can be neither finished nor undone, and the target must not be changed
 * until it is. */
int recover_target(const char *target, const struct user *user, const char *manifest,
		   struct verdict *v);
