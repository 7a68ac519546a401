/*
 * extract_worker.h - the work of the confined process of an extract job. It reads the archives into the staging tree,
 * checks the whole, writes the new manifest and reports to the keeper (extract_keeper.c) with a line "staged". When the
 * keeper answers, it commits path by path, if one rename is not enough, and reports the outcome with a line "done". A
 * refusal or failure may be its last line at any time (unpack_report.h).
 *
 * Everything it needs was opened by the keeper before; the descriptors are borrowed.
 */
#pragma once

#include "unpack/job/unpack_job.h"
#include "unpack/extract/extract_target.h"
#include "unpack/extract/skill_install.h"
#include "unpack/snapshot/snapshot_dir.h"

struct extract {
	const struct unpack_job *job;
	struct extract_target where;
	int archives[UNPACK_SOURCES_MAX]; /* or directories; -1 for single files */
	int old_manifest, new_manifest;	  /* -1: none */
	struct snapshot_dir seed;	  /* gets the start of a baseline */
	int list_before, list;		  /* of what is delivered, snapshot/delivered.h; -1: none */
	int to_keeper, go;		  /* to the keeper, and its one byte */
	struct checked_path
		into; /* where the source that is read goes; the plan points into these two */
	char aside[SKILL_ASIDE_SIZE];
};

/* Never returns. */
_noreturn_ void extract_worker_run(struct extract *x);
