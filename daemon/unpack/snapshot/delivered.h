/*
 * delivered.h - what the client delivers into a tree that has a record of changes already is no change of the agent's.
 *
 * Two steps. The extraction writes the list of all files and links that it writes and removes (delivered_write), before
 * the first of them changes: "delivered" in the snapshot directory. Then a job of its own (delivered_fold) reads them
 * from the tree, and folds them into every recorded state: the index holds them as they were delivered, and so does
 * "turn-N.delivered", where N is the last turn of the index, for all states before the end of that turn (index.h). No
 * turn is lost, and no state has to be written again. What was not written or removed, because others had changed it,
 * stays the agent's.
 *
 * A delivery during the walk of the first baseline writes its list, too: the walk may have left a directory before. So a
 * baseline removes only the list that was there when it began.
 *
 * A path that is not as the list says any more has been changed by somebody since (or the extraction was undone): it is
 * left as the record has it. So a list may be folded at any later time, and twice. An extraction that finds a list takes
 * it over into its own.
 */
#pragma once

#include "tree/tree_manifest.h"
#include "unpack/snapshot/snapshot.h"

/* The list as one file, into fd, which is empty: of staged what is fresh (whole: everything), of old (or NULL) what is
 * fresh there, and what before (-1: nothing; a damaged one counts as none) lists beside these. 0 or a negative errno. */
int delivered_write(int fd, int before, const struct manifest *staged, const struct manifest *old,
		    bool whole);
/* Reads from job->root what files->delivered lists. report->changed: how many paths were folded. 0, or a negative errno
 * with v filled in: NO_BASELINE, STATE_DAMAGED (the index, or a list of a turn), DELIVERY_UNKNOWN (the list is damaged),
 * TIME_LIMIT and those of fail_with. */
int delivered_fold(const struct snapshot_job *job, const struct snapshot_files *files,
		   struct snapshot_report *report, struct verdict *v);
