/*
 * extract_keeper.h - the keeper of an extract job: opens what the worker needs, makes the stage, waits for it,
 * commits, and cleans up.
 *
 * The keeper has the program's privileges and reads nothing foreign: it only opens archives. If the worker ends for any
 * reason (a rule, the kernel, the time limit, a signal to us), a second confined process removes the stage, and the
 * target is as it was. If the keeper itself is killed, the worker dies with it, and the next job for the same target
 * finds the stage unlocked (extract_recover.c).
 *
 * The last line of standard output is the answer; the exit code goes with it (unpack_report.h).
 */
#pragma once

#include "unpack/job/unpack_job.h"
#include "unpack/job/unpack_report.h"

enum unpack_exit extract_run(const struct unpack_job *job, struct job_input *in);
