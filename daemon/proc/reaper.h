/*
 * reaper.h - collects children that have died: our own, and orphans of agents (the kernel makes us their parent, since
 * we are a subreaper). It collects a few at a time, because an agent may leave many and the loop has other work.
 */
#pragma once

#include "loop/loop.h"

#include <sys/resource.h>
#include <sys/types.h>

typedef void (*reaped_fn)(void *ctx, pid_t pid, int status, const struct rusage *used);

struct reaper {
	struct loop *loop;
	reaped_fn fn;
	void *ctx;
	struct loop_timer timer;
};

/* Call it on SIGCHLD. It runs again by itself until no dead child is left. */
void reaper_run(struct reaper *r, struct loop *loop, reaped_fn fn, void *ctx);
void reaper_done(struct reaper *r);
