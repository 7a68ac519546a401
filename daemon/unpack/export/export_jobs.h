/*
 * export_jobs.h - the jobs that carry a tree outwards: pack (an archive of it), snapshot and diff.
 *
 * A job is done in steps, because no process should have both the rights of the daemon and the session's tree before it:
 *
 *	outward_open	with the rights of the daemon: reads the job, opens the files of the snapshot directory
 *	outward_enter	with those of the session: opens the tree
 *	outward_run	needs nothing but descriptors; writes the answer to a pack job to out
 *	outward_commit	with the rights of the daemon, after outward_run was good: renames
 *
 * All four may be called in one process, or outward_open and outward_commit in one that forks another for the two between: they share no
 * memory that changes. What the worker did not live to do is undone by outward_free of the one that opened.
 *
 * Functions return 0 or a negative errno with v filled in (a malformed job: VERDICT_BAD_JOB).
 */
#pragma once

#include "base/buf.h"
#include "unpack/job/verdict.h"

struct outward;

/* verb: "pack", "snapshot" or "diff". NULL on error. */
struct outward *outward_open(const char *verb, struct slice job, struct verdict *v);
struct outward *outward_free(struct outward *o);
/* Who the job is for; -1: stay. */
int64_t outward_uid(const struct outward *o);
int64_t outward_gid(const struct outward *o);
/* How long the job may take in all; 0: no limit. outward_run keeps to it by itself unless the file system holds it. */
uint64_t outward_seconds(const struct outward *o);
int outward_enter(struct outward *o, struct verdict *v);
/* The tree, for who confines the worker to it; -1 before outward_enter. */
int outward_root(const struct outward *o);
/* The largest file that outward_run may have to write. */
uint64_t outward_file_max(const struct outward *o);
/* out: the archive of a pack job; others ignore it. */
int outward_run(struct outward *o, int out, struct verdict *v);
int outward_commit(struct outward *o, struct verdict *v);
/* Appends {"done":{...}} and a newline, after outward_run. */
void outward_done_line(const struct outward *o, struct buf *line);
