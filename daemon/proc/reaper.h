/*
 * reaper.h - takes note of children that have died: ours, and what agents left, which the kernel gives to us (we are
 * a subreaper). A few at a time: agents leave as many as they like, and others are served in between.
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

/* On SIGCHLD; comes back by itself for what is left. */
void reaper_run(struct reaper *r, struct loop *loop, reaped_fn fn, void *ctx);
void reaper_done(struct reaper *r);
