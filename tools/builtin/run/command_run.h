/*
 * command_run.h - one command: raw bytes of both its streams, a stdin that is closed at once or written to, a
 * time limit, and an end that leaves no process.
 *
 * Each command has a keeper (command_keeper.h) above it. Life: going -> (command_run_stop: SIGTERM to its process
 * group, after a grace SIGKILL to everything below the keeper) -> the command has ended -> what it left running is
 * killed -> its pipes are read to their end -> on_exit, exactly once; the owner then frees it. on_output and on_exit
 * come from the loop, never from inside a run_* call. The newest bytes of both streams are kept in the run
 * (command_output.h); on_output sees all of them as they come.
 *
 * A program that cannot be started is an error of command_run_start: EXECUTION_FAILED, CWD_NOT_ACCESSIBLE,
 * COMMAND_NOT_FOUND (command_run_which).
 */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "loop/loop.h"
#include "tools/builtin/run/command_output.h"

#include <sys/types.h>

struct command_run;
struct command_run_host; /* what all commands share: the loop, and the end of them all */

enum command_run_stream { RUN_STDOUT, RUN_STDERR, RUN_STREAMS };

struct command_run_spec {
	char *const *argv; /* argv[0] is an absolute path */
	char *const *env;
	const char *cwd;
	bool input;	     /* stdin stays open for command_run_write; else it is at its end */
	uint64_t timeout_ms; /* 0: none */
	size_t keep;	     /* newest bytes kept of each stream */
	const char *remove;  /* a file removed with the command if we are killed; or NULL */
};

struct command_run_status {
	bool exited;	/* else killed by signal, or lost */
	int code;	/* exit status or signal number */
	bool timed_out; /* its time was over */
	bool killed;	/* ended by us, for that or another reason */
	unsigned left;	/* processes it had left running, which were killed */
	uint64_t ms;	/* from start to end */
	uint64_t cpu_us;
};

struct command_run_events {
	void (*on_output)(void *ctx, enum command_run_stream s, struct slice bytes); /* or NULL */
	void (*on_exit)(void *ctx, const struct command_run_status *st);
};

struct command_run_host *command_run_host_new(struct loop *loop);
/* Kills what still runs and waits until it is gone; no callback is called any more. */
struct command_run_host *command_run_host_free(struct command_run_host *h);

/* Absolute path of a program as execvp would find it, by the PATH of env and from cwd; NULL and COMMAND_NOT_FOUND.
 * Caller frees. */
char *command_run_which(const char *program, char *const *env, const char *cwd, struct err *e);

struct command_run *command_run_start(struct command_run_host *h,
				      const struct command_run_spec *spec,
				      const struct command_run_events *ev, void *ctx,
				      struct err *e);
/* After on_exit only. */
struct command_run *command_run_free(struct command_run *r);
pid_t command_run_pid(const struct command_run *r);
const struct command_output *command_run_output(const struct command_run *r,
						enum command_run_stream s);
uint64_t command_run_elapsed(const struct command_run *r);
/* Queued; -EPIPE: stdin is closed; -E2BIG: the command does not read. */
int command_run_write(struct command_run *r, struct slice bytes);
/* Closes stdin once the queue has been written. */
void command_run_close_input(struct command_run *r);
/* Sends a signal to its process group. */
void command_run_signal(struct command_run *r, int signo);
/* SIGTERM, and SIGKILL to everything if that does not end it in time; called again, the sooner end counts. */
void command_run_stop(struct command_run *r, uint64_t grace_ms);
/* SIGKILL to everything now. */
void command_run_kill(struct command_run *r);
