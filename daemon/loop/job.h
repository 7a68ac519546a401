/*
 * job.h - a piece of work that may wait for a disk, beside the loop: it runs in a thread of its own, and who gave it
 * is told on the loop.
 */
#pragma once

#include "loop/loop.h"

#include <pthread.h>

/* Embedded in its owner; all zeros is one that does nothing. */
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

/* run is called in the thread and touches nothing that the loop does meanwhile; then done, on the loop, never from
 * within. Not while busy. If no thread can be had it runs at once. */
void loop_job_start(struct loop *loop, struct loop_job *j, void (*run)(void *ctx),
		    void (*done)(void *ctx), void *ctx);
/* Waits for run; done is not called. */
void loop_job_end(struct loop_job *j);
