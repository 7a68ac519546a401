/*
 * snapshot_dir.h - the files of a snapshot directory: opened before the tree is read, put in place when all of them are
 * whole.
 *
 *	pack		contents, append only
 *	index		the state at the last snapshot
 *	turn-N		what turn N changed
 *	delivered	what was delivered and is not folded into the record yet (delivered.c)
 *	turn-N.delivered  what was delivered after turn N, before the next
 *	*.new		what a job is writing, or what a killed one left
 *
 * Functions return 0 or a negative errno with v filled in. snapshot_dir_close removes what was not committed.
 */
#pragma once

#include "unpack/snapshot/snapshot.h"

struct snapshot_dir {
	int dir;
	struct snapshot_files files;
	struct history history; /* of a diff */
	uint32_t turn;
	bool fold;
	char *patch; /* where the patch goes, NULL: none */
};

/* Of no files; snapshot_dir_close does nothing then. */
void snapshot_dir_init(struct snapshot_dir *s);
/* The next snapshot; the directory is made if it is missing. Refused: STATE_BUSY. */
int snapshot_dir_open_snapshot(struct snapshot_dir *s, const char *dir, uint32_t turn,
			       const char *patch, struct verdict *v);
/* What changed since the end of turn since; nearest: or of the last one before it that there is a snapshot of. Refused:
 * NO_BASELINE, TURN_UNKNOWN. */
int snapshot_dir_open_diff(struct snapshot_dir *s, const char *dir, uint32_t since, bool nearest,
			   const char *patch, struct verdict *v);
/* What was delivered is folded in. 1: there is no list of it, and nothing to do. */
int snapshot_dir_open_fold(struct snapshot_dir *s, const char *dir, struct verdict *v);
/* Opens the list that is there (*before, or -1) and a new one (*fd) that snapshot_dir_put_list puts in its place. */
int snapshot_dir_new_list(int dir, int *before, int *fd);
int snapshot_dir_put_list(int dir);
/* Removes a new one that was not put in its place. dir -1: nothing. */
void snapshot_dir_drop_list(int dir);
int snapshot_dir_commit(struct snapshot_dir *s, struct verdict *v);
void snapshot_dir_close(struct snapshot_dir *s);
