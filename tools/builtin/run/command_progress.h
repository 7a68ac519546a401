/*
 * command_progress.h - reports the output of a command to the caller while it runs: notifications/progress with the
 * text as message.
 *
 * The first piece is sent at once, later ones every RUN_PROGRESS_MS, each with the new output of both streams; of
 * a flood the newest RUN_PROGRESS_BYTES, with a line that says how much was left out. A message never ends within a
 * character. progress counts bytes.
 */
#pragma once

#include "loop/loop.h"
#include "tools/builtin/run/command_output.h"
#include "tools/builtin/run/command_run.h"
#include "tools/builtin/core/tool.h"

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
