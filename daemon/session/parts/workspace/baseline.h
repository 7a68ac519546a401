/*
 * baseline.h - what changes in a session's workspace: a snapshot when it has been written first (the baseline), another
 * at the end of each turn, and patches between them. What is delivered later becomes a part of the baseline. acpd-unpack takes them, as the user who owns the tree; this file
 * decides when, and what becomes of the patch.
 *
 * A session has a baseline when its workspace came from an archive, or when it was asked for. The first archive's
 * extraction begins it (unpack/snapshot/seed.h). Snapshots live in <state>/snapshots/<session>/. The harness may start
 * while the first is taken, but no turn begins while any is. A turn is announced as over once its patch is an artifact
 * (name "turn-<n>.diff"), or after SNAPSHOT_WAIT_MS.
 */
#pragma once

#include "session/parts/workspace/workspace_internal.h"

/* The workspace has been written: its first baseline is taken, or what was delivered becomes a part of the record that
 * is there (unpack/snapshot/delivered.c). */
void baseline_take(struct session *s);
/* Folds what was delivered before a daemon or a helper was killed, or takes a baseline that waits for the end of a delivery. */
void baseline_resume(struct session *s);
/* The snapshot directory, if there is a record in it that a delivery has to be folded into, or one is being made; the
 * caller frees. */
char *baseline_record(const struct session *s);
/* Where its snapshots are. */
char *baseline_dir(const struct session *s);
/* A snapshot is being taken. */
bool baseline_is_running(const struct session *s);
/* Those who wait for the workspace wait for its baseline too, so that their changes are not in it. */
bool baseline_is_due(const struct session *s);
/* The turn has ended; true: done(t) will be called, once, unless baseline_forget_turn comes first. */
bool baseline_await_turn(struct session *s, struct session_turn *t,
			 void (*done)(struct session_turn *t));
/* What is asked of acpd-unpack. */
struct change_query {
	uint64_t since; /* the end of that turn, or of the last before it that is known; 0: the baseline */
	bool list, lines;	  /* each path with its mark, and a state; how many lines */
	struct slice allow, deny; /* raw arrays of patterns: which paths break them */
	uint64_t ms;		  /* that it may take; 0: as long as any */
};

/* done gets acpd-unpack's raw report {changed, omittedTotal, changes?, changesTotal?, state?, offending?, offendingTotal?,
 * patch? {files, insertions, deletions}}. NO_BASELINE. done is called once, from inside too where acpd-unpack cannot be
 * started. */
int baseline_changes(struct session *s, const struct change_query *q, session_set_fn done,
		     void *ctx, struct err *e);
/* What has changed since the baseline, as a patch at path, without secrets. result: acpd-unpack's raw report. NO_BASELINE.
 * done is called once, from inside too. */
int baseline_diff_file(struct session *s, const char *path, session_set_fn done, void *ctx,
		       struct err *e);
/* It ends soon, if it goes on: done follows, with an error. */
void baseline_changes_stop(struct session *s, const void *ctx);
void baseline_forget_turn(struct session *s, const struct session_turn *t);
/* No job may be left. */
void baseline_done(struct session *s);
