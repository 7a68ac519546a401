/*
 * snapshot.h - the changes of a living tree since the last snapshot, or since an earlier one; and the next snapshot.
 *
 * All files are open descriptors of the caller, who opened them with the rights of the daemon; this code needs no
 * right but to read the tree. New files are complete when snapshot_take returns 0, and then the caller renames them:
 * first the turn, then the index. Until then the old index, its turns and everything that they refer
 * to in the pack stay as they were.
 */
#pragma once

#include "tree/tree_manifest.h"
#include "unpack/snapshot/index.h"
#include "unpack/snapshot/lists.h"
#include "unpack/job/verdict.h"

struct snapshot_files {
	int pack;      /* read; for a snapshot also written */
	int index_old; /* -1: there is none */
	int index_new; /* -1: a diff, which records nothing */
	int turn;      /* -1: a baseline, or a diff */
	int patch;     /* -1: none is wanted */
	/* delivered.c; -1 elsewhere */
	int delivered; /* the list; of a baseline: the one that it makes void */
	int pins_old;  /* -1: nothing was folded after this turn before */
	int pins_new;  /* -1: there is no turn yet */
};

struct snapshot_limits {
	uint64_t file_bytes, bytes, entries, patch_bytes;
	uint64_t deadline_ms; /* of clock_mono_ms; 0: none */
};

struct snapshot_job {
	int root;
	bool gitignore;
	uint32_t turn;		       /* of a snapshot; 0: a baseline */
	const struct history *history; /* of a diff; NULL: since the index */
	bool list;		       /* what has changed, in the report */
	struct offending *offending;   /* gets the paths that have changed; NULL: nobody asks */
	struct snapshot_limits limits;
};

struct snapshot_report {
	uint64_t files, bytes, changed;
	uint64_t read; /* files that had to be read */
	struct omitted omitted;
	struct omitted ignored; /* by .gitignore files, and in no state; each time */
	struct changes changes;
	struct patch_stat patch;
	uint64_t patch_bytes;
};

/* 0, or a negative errno with v filled in. Refusals besides those of the walk: NO_BASELINE, TURN_ORDER. Failures:
 * STATE_DAMAGED and those of fail_with. report is the caller's to give to snapshot_report_done in any case. */
int snapshot_take(const struct snapshot_job *job, const struct snapshot_files *files,
		  struct snapshot_report *report, struct verdict *v);
void snapshot_report_done(struct snapshot_report *report);

/* --- delivered.c: what the client delivers into a tree that has a record of changes already is no change of the agent's --- */

/* The list as one file, into fd, which is empty: of staged what is fresh (whole: everything), of old (or NULL) what is
 * fresh there, and what before (-1: nothing; a damaged one counts as none) lists beside these. 0 or a negative errno. */
int delivered_write(int fd, int before, const struct manifest *staged, const struct manifest *old,
		    bool whole);
/* Reads from job->root what files->delivered lists. report->changed: how many paths were folded. 0, or a negative errno
 * with v filled in: NO_BASELINE, STATE_DAMAGED (the index, or a list of a turn), DELIVERY_UNKNOWN (the list is damaged),
 * TIME_LIMIT and those of fail_with. */
int delivered_fold(const struct snapshot_job *job, const struct snapshot_files *files,
		   struct snapshot_report *report, struct verdict *v);
