/* proc_internal.h - a child and what all children share, for proc.c, proc_host.c and prescan.c. */
#pragma once

#include "loop/loop.h"
#include "proc/output/lines.h"
#include "proc/owner.h"
#include "proc/proc.h"
#include "proc/table/process_tree.h"
#include "proc/table/sweep.h"

#include <sys/resource.h>

/*
 * Long lines are read in a thread before the loop works on them (prescan.c). A line of PRESCAN_MIN bytes or more takes
 * the loop many milliseconds for each pass over it. The pure part of that work runs in one thread of the daemon, a line
 * at a time, in order of arrival. The child is not read meanwhile, so its lines stay in order and it has at most one line
 * in work; its end waits, as for any unread output.
 */
struct prescan_queue {
	struct list waiting; /* struct prescan */
	struct prescan *now; /* NULL: the thread is idle */
	struct loop_job job;
	struct prescan_counts counts;
};

struct prescan {
	struct list link;
	struct proc *proc;
	struct slice line;
	void *work;	/* NULL: no line is in work */
	bool kept;	/* its owner has not done with it: proc_line_done follows */
	bool drain_due; /* the time for its last output is over */
};

struct proc_host {
	struct loop *loop;
	struct cgroups *groups;	  /* NULL: nobody has asked for them (proc_host_cgroups) */
	struct owner_lock *owner; /* whose file names them; NULL */
	struct sweeper *sweeper;  /* where a session has no cgroup */
	struct list procs;
	unsigned count;
	struct noise_counts noise[NOISE_FROM_MAX];
	struct prescan_queue prescans;
	struct loop_task idle_task;
	struct loop_timer reap_timer;
	void (*idle)(void *ctx);
	void *idle_ctx;
};

enum proc_state { PROC_RUNNING, PROC_STOPPING, PROC_TERMINATED, PROC_KILLED };

struct proc {
	struct list link;
	struct proc_host *host;
	const struct proc_events *ev;
	void *ctx;
	char *session;
	struct cgroup_seat seat;
	struct measure measure;
	pid_t pid;
	int pidfd;
	enum proc_state state;
	bool reaped, swept, faulted, done, signalled, trusted, standing;
	uid_t own_uid; /* 0: others may run as it */
	int wait_status;
	struct rusage used; /* once reaped */
	struct loop_io in, out, errout;
	struct buf in_buf;
	struct lines lines;
	struct prescan prescan;
	struct text_tail tail;
	unsigned rounds;
	struct loop_timer stop_timer, sweep_timer;
	struct sweep sweep, turn_sweep;
	struct loop_task exit_task;
};

/* Goes on with a child whose long line has been worked. */
void proc_go_on(struct proc *p);
/* Takes a line, valid until the child is read again, and stops reading the child. False: the line is not long, or its owner
 * does not want that. */
bool prescan_take(struct proc *p, struct slice line);
/* The child goes: waits for the thread if it works for it. */
void prescan_forget(struct proc *p);
