/*
 * removal.h - what a session leaves on disk is put away at once and removed later, by acpd-unpack: a home may hold
 * hundreds of thousands of files, or be thirty thousand directories deep, and the loop waits for none of it.
 *
 * To put away is to rename: journal, artifacts, snapshots and home go to <state>/removed/<sessionId>/ together, or
 * nothing does and the caller hears why. From then on the session is gone, whatever happens: what is there when a
 * daemon starts is removed then. Trees that are only in the way (a home's tmp) go the same way under a name of their
 * own. What could not be removed stays there until the next start, and is counted.
 */
#pragma once

#include "base/err.h"
#include "loop/loop.h"
#include "proc/proc.h"

struct removal_queue;

struct removal_counts {
	unsigned pending;	  /* put away, not yet removed */
	uint64_t removed, failed; /* over the life of this daemon */
};

/* idle: a job has ended. foreign: takes a directory that lies on another file system, and removes it in its own
 * time. gone: nothing is left of what was put away under that name, but what foreign has taken. */
struct removal_spec {
	struct loop *loop;
	struct proc_host *procs;
	const char *state_dir;
	void (*idle)(void *ctx);
	void (*foreign)(void *ctx, const char *path);
	void (*gone)(void *ctx, const char *name);
	void *ctx;
};

/* Finishes what an earlier daemon began. NULL with e. */
struct removal_queue *removal_open(const struct removal_spec *spec, struct err *e);
/* No job may be running. */
struct removal_queue *removal_close(struct removal_queue *r);
/* A running job is killed, none is begun: the next daemon goes on. */
void removal_stop(struct removal_queue *r);
/* Everything of that session. An id that is no name of a file is nobody's. */
int removal_session(struct removal_queue *r, const char *id, struct err *e);
/* One directory; missing is success. */
int removal_tree(struct removal_queue *r, const char *path);
void removal_count(const struct removal_queue *r, struct removal_counts *ret);
