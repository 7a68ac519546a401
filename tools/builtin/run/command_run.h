/*
 * command_run.h - one command: raw bytes of both its streams, a stdin that is at its end at once or written to, a time limit, and an end that
 * leaves nothing behind.
 *
 * Each command has a keeper (command_keeper.h) above it. Life: going -> (run_stop: SIGTERM to its process group, after a grace
 * SIGKILL to everything below the keeper) -> the command has ended -> what it left running is killed -> its pipes are read to their
 * end -> on_exit, exactly once; the owner then frees it. on_output and on_exit come from the loop, never from inside a run_* call. The
 * newest bytes of both streams are kept here (command_output.h); on_output sees all of them as they come.
 *
 * A program that cannot be started is an error of run_start: EXECUTION_FAILED, CWD_NOT_ACCESSIBLE, COMMAND_NOT_FOUND (run_which).
 */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "loop/loop.h"
#include "tools/builtin/run/command_output.h"

#include <sys/types.h>

struct run;
struct run_host; /* what all commands share: the loop, and the end of them all */

enum run_stream { RUN_STDOUT, RUN_STDERR, RUN_STREAMS };

struct run_spec {
	char *const *argv; /* argv[0] is an absolute path */
	char *const *env;
	const char *cwd;
	bool input;	     /* stdin stays open for run_write; else it is at its end */
	uint64_t timeout_ms; /* 0: none */
	size_t keep;	     /* newest bytes kept of each stream */
	const char *remove; /* a file that goes with the command if we are killed before; or NULL */
};

struct run_status {
	bool exited;	/* else killed by signal, or lost */
	int code;	/* exit status or signal number */
	bool timed_out; /* its time was over */
	bool killed;	/* ended by us, for that or another reason */
	unsigned left;	/* processes it had left running, which were killed */
	uint64_t ms;	/* from start to end */
	uint64_t cpu_us;
};

struct run_events {
	void (*on_output)(void *ctx, enum run_stream s, struct slice bytes); /* or NULL */
	void (*on_exit)(void *ctx, const struct run_status *st);
};

struct run_host *run_host_new(struct loop *loop);
/* Kills what still runs and waits until it is gone; no callback is called any more. */
struct run_host *run_host_free(struct run_host *h);

/* Absolute path of a program as execvp would find it, by the PATH of env and from cwd; NULL and COMMAND_NOT_FOUND. Caller frees. */
char *run_which(const char *program, char *const *env, const char *cwd, struct err *e);

struct run *run_start(struct run_host *h, const struct run_spec *spec, const struct run_events *ev,
		      void *ctx, struct err *e);
/* After on_exit only. */
struct run *run_free(struct run *r);
pid_t run_pid(const struct run *r);
const struct output *run_output(const struct run *r, enum run_stream s);
uint64_t run_elapsed(const struct run *r);
/* Queued; -EPIPE: stdin is closed; -E2BIG: the command does not read. */
int run_write(struct run *r, struct slice bytes);
/* Once what is queued has been written. */
void run_close_input(struct run *r);
/* To its process group. */
void run_signal(struct run *r, int signo);
/* SIGTERM, and SIGKILL to everything if that does not end it in time; called again, the sooner end counts. */
void run_stop(struct run *r, uint64_t grace_ms);
/* SIGKILL to everything now. */
void run_kill(struct run *r);
