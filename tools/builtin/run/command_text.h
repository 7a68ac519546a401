/* command_text.h - what a model is shown of a command: the head and the tail of what it wrote, and how it ended. */
#pragma once

#include "base/buf.h"
#include "tools/builtin/run/command_run.h"

struct command_text {
	const char *pid;   /* by which getProcessOutput reads what is left out; NULL: it cannot */
	size_t lines;	   /* only the last so many of each stream; 0: head and tail */
	bool capture;	   /* false: nothing of what it wrote */
	size_t room;	   /* bytes, in all */
	const char *unrun; /* why it was not run; st and r are not used then */
};

/* True if the output is longer than what is shown. */
bool command_text_cut(const struct command_run *r, size_t room);
/* st NULL: it still runs. */
void command_text(struct buf *out, const struct command_run *r, const struct command_run_status *st,
		  const struct command_text *how);
/* A piece of one stream, as it is asked for by offset; at: where it really begins, end: where it ends. */
void command_text_piece(struct buf *out, const struct command_output *o, struct slice piece,
			uint64_t at, bool running);
