/*
 * worker_process.h - the processes that do the work of a job, as seen by the keeper that forks them: it starts them,
 * reads their answer, and waits for their end.
 *
 * A worker_process owns its pipe and what was heard; worker_process_end gives up all of it and kills what still runs,
 * after any error and at any time. Errors are negative, with the verdict filled where one is taken.
 */
#pragma once

#include "base/buf.h"
#include "unpack/job/confine.h"

/* Instead of an exit code: a signal ended it. */
#define WORKER_KILLED 256

struct worker_process {
	pid_t pid; /* 0: none, or reaped */
	int from;  /* its answers; -1 */
	struct buf heard;
};

#define WORKER_PROCESS_NONE ((struct worker_process){ .from = -1 })

/* SIGTERM, SIGINT and SIGHUP end the job of a keeper in worker_process_hear; SIGPIPE is ignored. */
void keeper_signals(void);

/* Forks; the child ends with what work returns. The exit code, WORKER_KILLED, or a negative errno: it could not be
 * forked. */
int worker_process_run(int (*work)(void *ctx), void *ctx);

/* Forks; the child calls work, which writes its answer into the descriptor and must not return. from stays -1 only if
 * there is no pipe. */
int worker_process_start(struct worker_process *w, void (*work)(void *ctx, int answer), void *ctx,
			 struct verdict *v);
/* Waits a little and adds new bytes to heard: 1, perhaps with nothing new; 0: the worker has closed its end.
 * INTERRUPTED; TIME_LIMIT, of so many seconds, once it is later than until (of clock_mono_ms; 0: no limit); heard.max
 * is the most it may say. */
int worker_process_hear(struct worker_process *w, uint64_t until, uint64_t seconds,
			struct verdict *v);
/* Reads no more and waits for its end: the exit code, or WORKER_KILLED. */
int worker_process_wait(struct worker_process *w);
/* Both, to the end: heard then has a whole answer of at most max bytes. The exit code; negative: v says why there is none. */
int worker_process_answer(struct worker_process *w, size_t max, uint64_t until, uint64_t seconds,
			  struct verdict *v);
void worker_process_end(struct worker_process *w);
