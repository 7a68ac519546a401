/*
 * delivered.h - what the client delivers into a tree that has a record of changes already is no change of the agent's.
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
