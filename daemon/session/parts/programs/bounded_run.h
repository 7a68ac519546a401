/*
 * bounded_run.h - one program that is run for what it says, and believed in nothing: it has a time, a share of output
 * that is kept, and within bounds (proc/proc.h) no more than those. Its standard input is at its end at once.
 *
 * done is called exactly once, from the loop; the owner then calls bounded_run_free, not before. When it is called,
 * nothing of the program is left.
 */
#pragma once

#include "base/limits.h"
#include "proc/proc.h"

#define PROGRAM_OUTPUT_MAX (64 * KIB) /* enough for a version, and for npm */

struct bounded_run;

struct run_spec {
	char *const *argv; /* argv[0] is an absolute path */
	char *const *env;  /* the markers of its processes are added */
	const char *cwd;
	const struct proc_bounds *bounds; /* NULL: none */
	uint64_t timeout_ms;
	size_t output_max; /* of its standard output; more ends it */
};

struct run_result {
	struct slice output; /* whole lines */
	const char *errors;  /* the end of its standard error: one line */
	bool timed_out, too_much;
	bool exited; /* else a signal ended it */
	int code;
};

struct bounded_run *bounded_run_start(struct loop *loop, struct proc_host *procs,
				      const struct run_spec *spec,
				      void (*done)(void *ctx, const struct run_result *result),
				      void *ctx, struct err *e);
/* Kills it; done follows. */
void bounded_run_kill(struct bounded_run *r);
struct bounded_run *bounded_run_free(struct bounded_run *r);
