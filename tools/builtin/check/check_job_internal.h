/* check_job_internal.h - what the files of check/ share: one check that runs. */
#pragma once

#include "base/buf.h"
#include "json/jscan.h"
#include "loop/loop.h"

struct check_job {
	struct loop *loop;
	struct loop_io input;
	struct buf line; /* the answer */
	char *message_file;
	void *own; /* of its kind */
	/* what it was told */
	char *kind, *root, *state_dir, *cwd, *command, *target;
	struct jval message;
	struct slice env, argv, only, tests;
	int64_t timeout_ms;
};

struct check_job_kind {
	/* Answers or refuses, from the loop or at once. */
	void (*start)(struct check_job *j);
	/* Nothing of it is left after. */
	void (*end)(struct check_job *j);
};

extern const struct check_job_kind check_job_command, check_job_tests;

/* Once; then the loop ends. line: without its end. */
void check_job_answer(struct check_job *j, struct slice line);
void check_job_refuse(struct check_job *j, const char *why);
