/* command_text.h - what a model is shown of a command: the head and the tail of what it wrote, and how it ended. */
#pragma once

#include "base/buf.h"
#include "tools/builtin/run/command_run.h"

struct show_run {
	const char *pid;   /* by which getProcessOutput reads what is left out; NULL: it cannot */
	size_t lines;	   /* only the last so many of each stream; 0: head and tail */
	bool capture;	   /* false: nothing of what it wrote */
	size_t room;	   /* bytes, in all */
	const char *unrun; /* why it was not run; st and r are not looked at then */
};

/* More was written than is shown. */
bool show_run_cut(const struct run *r, size_t room);
/* st NULL: it still runs. */
void show_run(struct buf *out, const struct run *r, const struct run_status *st,
	      const struct show_run *how);
/* A piece of one stream, as it is asked for by offset; at: where it really begins, end: where it ends. */
void show_run_piece(struct buf *out, const struct output *o, struct slice piece, uint64_t at,
		    bool running);
