/*
 * extract.h - the job extract: a keeper with the program's privileges (extract_keeper.c), and the confined worker that it
 * forks (extract_worker.c).
 */
#pragma once

#include "unpack/extract/extract_target.h"
#include "unpack/extract/skill_install.h"
#include "unpack/job/unpack_job.h"
#include "unpack/job/unpack_report.h"
#include "unpack/snapshot/snapshot_dir.h"

struct extract {
	const struct unpack_job *job;
	struct extract_target where;
	int archives[UNPACK_SOURCES_MAX]; /* or directories; -1 for single files */
	int old_manifest, new_manifest;	  /* -1: none */
	struct snapshot_dir seed;	  /* gets the start of a baseline */
	int list_before, list;		  /* of what is delivered, snapshot/delivered.c; -1: none */
	int to_keeper, go;		  /* to the keeper, and its one byte */
	struct checked_path
		into; /* where the source that is read goes; the plan points into these two */
	char aside[SKILL_ASIDE_SIZE];
};

/* Never returns. */
_noreturn_ void extract_worker_run(struct extract *x);

enum unpack_exit extract_run(const struct unpack_job *job, struct job_input *in);
