/*
 * command_job.h - a call that runs one command and waits for its end: runCommand itself, runCode around it.
 *
 * The job belongs to the call (own) from command_job_new until command_job_run, command_job_fail or command_job_drop:
 * the first ends it later, the others now. Output is reported while it comes (struct command_progress). If the caller is
 * gone, or its time is over, the command is ended with everything that it started.
 */
#pragma once

#include "loop/loop.h"
#include "tools/builtin/core/tool.h"
#include "tools/builtin/run/command_run.h"
#include "tools/builtin/run/command_spec.h"

/*
 * Reports the output of a command to the caller while it runs: notifications/progress with the
 * text as message.
 *
 * The first piece is sent at once, later ones every RUN_PROGRESS_MS, each with the new output of both streams; of
 * a flood the newest RUN_PROGRESS_BYTES, with a line that says how much was left out. A message never ends within a
 * character. progress counts bytes.
 */
struct command_progress {
	struct builtin_call *call;
	struct loop *loop;
	struct command_output waiting[RUN_STREAMS];
	double told; /* bytes */
	uint64_t last;
	struct loop_timer timer;
};

void command_progress_init(struct command_progress *p, struct loop *loop, struct builtin_call *c);
void command_progress_add(struct command_progress *p, enum command_run_stream s,
			  struct slice bytes);
/* Reports what is left, and frees p. */
void command_progress_end(struct command_progress *p);

struct command_job {
	struct builtin_call *call;
	struct command_spec cmd;
	struct command_run *run;
	struct command_progress progress;
	bool capture, gone, timed_out;
	/* Further members of the result; st NULL: it was not run. May be NULL. */
	void (*more)(struct command_job *j, const struct command_run_status *st, struct jw *w);
	/* True, with e: what came is no result but an error. May be NULL. */
	bool (*refuse)(struct command_job *j, const struct command_run_status *st, struct err *e);
	/* True: it was not run yet; cmd is changed, and is run again. May be NULL. */
	bool (*again)(struct command_job *j, const struct command_run_status *st);
	struct buf input; /* for its stdin */
	void *own;
	void (*release)(void *own); /* may be NULL */
};

struct command_job *command_job_new(struct builtin_call *c);
/* Starts it. job->input is written to its stdin, which is then closed. */
void command_job_run(struct command_job *j);
/* After its call has been ended. */
void command_job_drop(struct command_job *j);
void command_job_fail(struct command_job *j, const struct err *e);
void command_job_cancel(struct builtin_call *c, bool timed_out);
