/*
 * command_run.h - one command: raw bytes of both its streams, a stdin that is closed at once or written to, a
 * time limit, and an end that leaves no process.
 *
 * Each command has a keeper (command_keeper.h) above it. Life: going -> (command_run_stop: SIGTERM to its process
 * group, after a grace SIGKILL to everything below the keeper) -> the command has ended -> what it left running is
 * killed -> its pipes are read to their end -> on_exit, exactly once; the owner then frees it. on_output and on_exit
 * come from the loop, never from inside a run_* call. The newest bytes of both streams are kept in the run
 * (struct command_output); on_output sees all of them as they come.
 *
 * A program that cannot be started is an error of command_run_start: EXECUTION_FAILED, CWD_NOT_ACCESSIBLE,
 * COMMAND_NOT_FOUND (command_run_which).
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "loop/loop.h"

/*
 * The output of a process: the newest bytes of a stream, and how many were dropped.
 *
 * A command may write gigabytes. Kept are the newest keep bytes, in a ring that grows up to that size only when needed,
 * and the first OUTPUT_HEAD_BYTES, because builds print important lines at their beginning. The functions return text:
 * it starts at a character, and so does every piece of a stream that is passed on while it is written
 * (command_output_whole returns how much of it is whole). The JSON writer replaces bytes that are not UTF-8 by U+FFFD.
 *
 * Neither locks nor allocates beyond keep; if memory is gone, output is dropped, never as a failure of
 * the command.
 */
struct command_output {
	char *data, *head;
	size_t head_len;
	size_t keep;	/* most bytes kept */
	size_t cap;	/* bytes that data has room for */
	size_t at, len; /* the oldest byte, and how many there are */
	uint64_t total; /* bytes ever written */
};

void command_output_init(struct command_output *o, size_t keep);
void command_output_done(struct command_output *o);
void command_output_add(struct command_output *o, struct slice bytes);
/* Bytes that were written and are not kept. */
uint64_t command_output_dropped(const struct command_output *o);
/* Appends what is kept, from the first whole character on; of it the last lines only, if lines is not 0. */
void command_output_text(const struct command_output *o, size_t lines, struct buf *ret);
/* Appends at most n bytes from this place of the stream on, whole characters, as far as they are kept in one piece.
 * Returns where it begins: later than requested, if that part is not kept. */
uint64_t command_output_piece(const struct command_output *o, uint64_t from, size_t n,
			      struct buf *ret);
/* How many bytes of a piece of a stream end with a whole character; the rest (at most 3) may be completed by what
 * follows. */
size_t command_output_whole(struct slice piece);

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
