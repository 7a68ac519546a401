/*
 * export_jobs.h - the jobs that read a tree: pack (an archive of it), snapshot and diff.
 *
 * A job is done in steps, because no process should have both the rights of the daemon and access to the session's
 * tree:
 *
 *	export_job_open	with the rights of the daemon: reads the job, opens the files of the snapshot directory
 *	export_job_enter	with those of the session: opens the tree
 *	export_job_run	needs nothing but descriptors; writes the answer to a pack job to out
 *	export_job_commit	with the rights of the daemon, after export_job_run was good: renames
 *
 * All four may be called in one process. Or one process calls export_job_open and export_job_commit, and forks another
 * for the two between: they share no memory that changes. export_job_free in the process that opened undoes what a dead
 * worker left.
 *
 * Functions return 0 or a negative errno with v filled in (a malformed job: VERDICT_BAD_JOB).
 */
#pragma once

#include "base/buf.h"
#include "unpack/job/verdict.h"

struct export_job;

/* verb: "pack", "snapshot" or "diff". NULL on error. */
struct export_job *export_job_open(const char *verb, struct slice job, struct verdict *v);
struct export_job *export_job_free(struct export_job *o);
/* The user of the job; -1: our own. */
int64_t export_job_uid(const struct export_job *o);
int64_t export_job_gid(const struct export_job *o);
/* How long the job may take in all; 0: no limit. export_job_run keeps to it by itself unless the file system blocks
 * it. */
uint64_t export_job_seconds(const struct export_job *o);
int export_job_enter(struct export_job *o, struct verdict *v);
/* The tree, for the confinement of the worker; -1 before export_job_enter. */
int export_job_root(const struct export_job *o);
/* The largest file that export_job_run may have to write. */
uint64_t export_job_file_max(const struct export_job *o);
/* out: the archive of a pack job; others ignore it. */
int export_job_run(struct export_job *o, int out, struct verdict *v);
int export_job_commit(struct export_job *o, struct verdict *v);
/* Appends {"done":{...}} and a newline, after export_job_run. */
void export_job_done_line(struct export_job *o, struct buf *line);
