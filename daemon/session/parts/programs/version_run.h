/*
 * version_run.h - a program that is asked for its version: it is run with --version, within bounds and a time
 * (bounded_run.h), in a home that is made for this and goes with it (base/os/passing_home.h). Its answer is the first
 * line that says something, cut and flattened.
 *
 * done is called exactly once, from the loop, with the version or with why there is none (reason VERSION_TIMEOUT,
 * VERSION_TOO_LONG, VERSION_FAILED). The owner then calls version_run_free, not before. Blocks nobody.
 */
#pragma once

#include "session/parts/programs/bounded_run.h"

#define VERSION_TEXT_MAX 120 /* bytes of it */

struct version_run;

struct version_spec {
	char *path;	    /* of the program, absolute; borrowed until done */
	const char *search; /* the PATH, for it and for what it starts */
	struct proc_bounds bounds;
	uint64_t timeout_ms;
};

/* NULL: it was not started, and e says why. version: NULL if there is none; both are valid during the call. */
struct version_run *
version_run_start(struct loop *loop, struct proc_host *procs, const struct version_spec *spec,
		  void (*done)(void *ctx, const char *version, const struct err *why), void *ctx,
		  struct err *e);
/* Kills it; done follows. */
void version_run_kill(struct version_run *v);
struct version_run *version_run_free(struct version_run *v);
