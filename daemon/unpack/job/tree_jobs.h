/*
 * tree_jobs.h - small jobs on one directory, each in a confined process of the tree's user:
 *
 *	recover	{target, manifest?, uid?, gid?}
 *		finishes or undoes what a killed extract job left there: {"done":{}}
 *	remove	{target, uid?, gid?}
 *		removes the directory with everything in it; missing is success: {"done":{}}
 *	skills	{directory, single?, uid?, gid?}
 *		checks the skills in a directory, or the one that it is (single):
 *		{"done":{"skills":[{"directory", "valid", "usable", "findings", ...}]}}
 *
 * Answers and exit codes as in unpack_report.h.
 */
#pragma once

#include "unpack/job/unpack_report.h"

enum unpack_exit tree_job_recover(struct slice line);
enum unpack_exit tree_job_remove(struct slice line);
enum unpack_exit tree_job_skills(struct slice line);
