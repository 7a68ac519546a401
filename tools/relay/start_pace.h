/*
 * start_pace.h - when a server that is wanted may start: at once, but one that dies at once is not started anew for every
 * call. All zeros but loop, start and ctx is right. Embedded in its owner, who cancels it before he goes.
 */
#pragma once

#include "loop/loop.h"

struct start_pace {
	struct loop *loop;
	void (*start)(void *ctx);
	void *ctx;
	struct loop_timer timer;
	uint64_t may_start; /* clock_mono_ms */
};

/* start is called once, from the loop. */
void start_pace_want(struct start_pace *p);
void start_pace_cancel(struct start_pace *p);
