/*
 * prescan.h - long lines of children, read in a thread before the loop works on them.
 *
 * A line of PRESCAN_MIN bytes or more takes the loop many milliseconds for each pass over it. What is pure of that work
 * runs in one thread of the daemon, a line at a time, in the order in which the lines came. Meanwhile the child is not
 * read, so its lines stay in order and it has at most one line in work; its end waits, as for any unread output.
 */
#pragma once

#include "loop/job.h"
#include "proc/proc.h"

/* In struct proc_host. */
struct prescan_queue {
	struct list waiting; /* struct prescan */
	struct prescan *now; /* NULL: the thread is idle */
	struct loop_job job;
	struct prescan_counts counts;
};

/* In struct proc. */
struct prescan {
	struct list link;
	struct proc *proc;
	struct slice line;
	void *work;	/* NULL: no line is in work */
	bool kept;	/* its owner has not done with it: proc_line_done follows */
	bool drain_due; /* the time for its last output is over */
};

/* Takes a line, valid until the child is read again, and stops reading the child. False: the line is not long, or its owner
 * does not want that. */
bool prescan_take(struct proc *p, struct slice line);
/* The child goes: waits for the thread if it works for it. */
void prescan_forget(struct proc *p);
