/*
 * sweep.h - rounds of killing where a session has no cgroup: the process table is read in a thread of its own.
 *
 * What that costs is up to agents (thousands of processes, environments of megabytes), so the loop only asks and is
 * told. One thread works at a time, for all sessions that have asked when it begins. One that has not ended after
 * SWEEP_SCAN_MS (a process can make a read of its environment wait) is left to itself, and its sessions count as
 * swept.
 */
#pragma once

#include "base/list.h"
#include "loop/loop.h"
#include "proc/table/process_tree.h"

struct sweeper;

/* Embedded in its owner; all zeros: nothing is asked. */
struct sweep {
	struct list link;
	bool asked;
	struct tree_target target;	    /* its session is the owner's */
	void (*done)(void *ctx, bool gone); /* from the loop; gone: no process of it was found */
	void *ctx;
};

/* own: fills ret with the children that live, at most max; returns their number. Their names are copied at once. */
struct sweeper *sweeper_new(struct loop *loop,
			    size_t (*own)(void *ctx, struct tree_own *ret, size_t max), void *ctx);
struct sweeper *sweeper_free(struct sweeper *s);
/* Whose processes are meant. */
void sweep_set(struct sweep *sweep, char *session, pid_t leader, void (*done)(void *ctx, bool gone),
	       void *ctx);
/* Kills once; done follows. All but link and asked is set. */
void sweep_ask(struct sweeper *s, struct sweep *sweep);
/* done will not be called. */
void sweep_forget(struct sweep *sweep);
