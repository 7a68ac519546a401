/*
 * small_job.h - the jobs of one step: each decodes its line, works, and prints one line. Their protocols stand at the top
 * of their files: tree_jobs.c, inflate_job.c, discard.c, leftovers_job.c, reown_job.c.
 */
#pragma once

#include "json/jenc.h"
#include "unpack/job/unpack_job.h"
#include "unpack/job/unpack_report.h"
#include "unpack/job/worker_process.h"

/* The frame of such a job. Decodes line into job (as job_decode does), then work adds the members of {"done":{...}} to w
 * and returns 0, or a negative errno with v filled; 1: w was emptied and has a whole line of a failed job. Prints that
 * line or the verdict, frees the texts of job, and returns the exit code. */
enum unpack_exit small_job_run(struct slice line, const struct jfield *fields, bool absolute,
			       void *job, struct verdict *v, int (*work)(void *job, struct jw *w));

enum unpack_exit tree_job_recover(struct slice line);
enum unpack_exit tree_job_remove(struct slice line);
enum unpack_exit tree_job_skills(struct slice line);
enum unpack_exit discard_run(struct slice line);
enum unpack_exit leftovers_run(struct slice line);
enum unpack_exit reown_run(struct slice line);
/* Never returns. */
enum unpack_exit inflate_job(struct slice line);

/* Of discard.c: removes an entry of dir in a confined process of that user; name NULL: all that is in dir, not itself. 0;
 * positive: not all of it could be removed; a negative errno: there was no process. */
int discard_as(const struct user *user, int dir, const char *name);
