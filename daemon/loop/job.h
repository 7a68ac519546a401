/*
 * job.h - a piece of work that may wait for a disk, beside the loop: it runs in a thread of its own, and its end is
 * reported on the loop.
 */
#pragma once

#include "loop/loop.h"

#include <pthread.h>

/* Embedded in its owner. All zeros is an idle one. */
struct loop_job {
	struct loop *loop;
	struct loop_io io; /* eventfd: it has ended */
	struct loop_task task;
	pthread_t thread;
	void (*run)(void *ctx);
	void (*done)(void *ctx);
	void *ctx;
	bool busy, threaded;
};

/* Calls run in the thread, where it must touch nothing that the loop uses meanwhile; then done on the loop, never from
 * within this call. Not while busy. If no thread can be started, run is called at once. */
void loop_job_start(struct loop *loop, struct loop_job *j, void (*run)(void *ctx),
		    void (*done)(void *ctx), void *ctx);
/* Waits for the end of run; done is not called. */
void loop_job_end(struct loop_job *j);
