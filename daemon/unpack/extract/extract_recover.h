/*
 * extract_recover.h - what jobs leave behind: the own job's stage when it ends, and stages of jobs that were killed.
 *
 * A stage is looked at by a confined process of the tree's user, because that user could write in it: its log is
 * finished or taken back (commit.h), and everything in it removed. Its directory is then removed by the keeper. A
 * stage that nobody has locked belongs to no living process. In the target every such stage is that target's; beside
 * it only those whose name says so (extract_target.h) tell anything about it, others are removed if they never were
 * committed.
 */
#pragma once

#include "unpack/extract/extract_target.h"

enum recovered { RECOVERED_OLD, RECOVERED_NEW, RECOVERED_KEEP /* it cannot be finished now */ };

/* Finishes or takes back what the stage's log says and empties the stage. target: -1 if there is none. */
enum recovered recover_stage(const struct user *user, int stage, int target);
/* All stages that killed jobs left for this target. manifest: NULL if none is kept; its ".new" becomes it or goes.
 * Negative with v filled: a stage can be neither finished nor taken back, and nothing may be done to the target until
 * it is. */
int recover_target(const char *target, const struct user *user, const char *manifest,
		   struct verdict *v);
