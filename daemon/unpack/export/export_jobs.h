/*
 * export_jobs.h - the jobs that read a tree: pack (an archive of it), bundle, bundle-check, snapshot, fold and diff.
 *
 * A job is done in steps, because no process should have both the rights of the daemon and access to the session's
 * tree:
 *
 *	export_job_open		with the rights of the daemon: reads the job, opens the files of the snapshot directory
 *	export_job_enter	with those of the session: opens the tree
 *	verb->run		needs nothing but descriptors; writes the answer to a pack job to out
 *	snapshot_dir_commit	with the rights of the daemon, after run was good: renames
 *
 * The keeper (export_keeper.c) calls the first and the last, and forks a worker for the two between: they share no memory
 * that changes. export_job_free in the process that opened undoes what a dead worker left.
 *
 * Functions return 0 or a negative errno with v filled in (a malformed job: VERDICT_BAD_JOB).
 */
#pragma once

#include "json/jenc.h"
#include "unpack/export/bundle.h"
#include "unpack/export/tree_pack.h"
#include "unpack/job/unpack_report.h"
#include "unpack/snapshot/snapshot_dir.h"

/* The job, as it comes. */
struct export_params {
	char *root, *below, *dir, *patch, *format, *ignore;
	struct slice paths, limits, allow, deny, about;
	int64_t turn, since, uid, gid;
	bool list, nearest;
};

/* The job, at work. */
struct export_job {
	const struct export_verb *verb;
	struct export_params job; /* uid and gid -1: our own */
	uint64_t seconds; /* 0: no limit. run keeps to it unless the file system blocks it */
	struct snapshot_job
		tree; /* of all jobs: root, -1 before export_job_enter; gitignore; limits */
	struct snapshot_dir state;
	struct snapshot_report snapshot;
	struct offending offending;
	struct tree_pack_job export;
	struct tree_pack_report exported;
	struct bundle_manifest manifest;
};

struct export_verb {
	const char *word;
	const struct jfield *fields;
	uint64_t bytes, seconds;			     /* limits if the job has none */
	int (*open)(struct export_job *, struct verdict *);  /* or NULL */
	int (*enter)(struct export_job *, struct verdict *); /* or NULL */
	int (*run)(struct export_job *, int out, struct verdict *);
	void (*report)(struct export_job *, struct jw *);
};

/* NULL on error. */
struct export_job *export_job_open(const char *verb, struct slice job, struct verdict *v);
struct export_job *export_job_free(struct export_job *o);
int export_job_enter(struct export_job *o, struct verdict *v);
/* The largest file that run may have to write. */
uint64_t export_job_file_max(const struct export_job *o);

/* Runs a job as keeper and worker. Answers on standard output. The archive of a pack job goes to descriptor 3. */
enum unpack_exit export_keeper_run(const char *verb, struct slice line);
