/* proc_internal.h - a child and what all children share, for proc.c and proc_host.c. */
#pragma once

#include "proc/lines.h"
#include "proc/prescan.h"
#include "proc/proc.h"
#include "proc/reaper.h"
#include "proc/table/process_tree.h"
#include "proc/table/sweep.h"
#include "proc/text_tail.h"

struct proc_host {
	struct loop *loop;
	struct own_groups groups;
	struct sweeper *sweeper; /* where a session has no cgroup */
	struct list procs;
	unsigned count;
	struct noise_counts noise[NOISE_FROM_MAX];
	struct prescan_queue prescans;
	struct loop_task idle_task;
	struct reaper reaper;
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
