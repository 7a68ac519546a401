/*
 * syncer.h - makes one file durable, and others with it, without holding up the loop: a worker thread makes durable what
 * was written, many waiters to one flush: in place in usage.ahead, or by fdatasync (usage/ledger/sync_job.h).
 *
 * A sync answers all waiters that are there when it starts; the next sync answers later ones. The first sync that needs
 * the thread starts it. None is needed on file systems in memory (nothing to do) or when nothing was written since the
 * last sync; a deferred task answers such waiters. The thread runs with all signals blocked, a small stack and no
 * allocation, and touches only the job it was given and the state under the mutex; everything else belongs to the loop's
 * thread. If no thread can be started, the loop's thread syncs.
 *
 * An error is sticky: after a failed fdatasync the kernel may have dropped the pages, so a later success would prove
 * nothing.
 */
#pragma once

#include "base/list.h"
#include "loop/loop.h"
#include "usage/ledger/sync_job.h"

struct syncer;

struct syncer_wait {
	struct list link;
	void (*done)(void *ctx, int error);
	void *ctx;
};

struct syncer_spec {
	int fd;	    /* the caller's, which outlives the syncer */
	off_t size; /* of it */
	int dirfd;  /* taken, and synced once, with the first sync: a new file's name; -1: none */
	const char *name;  /* that a restore finds the file by (usage/ledger/usage_ahead.h) */
	const char *ahead; /* path of usage.ahead */
};
struct syncer *syncer_new(struct loop *loop, const struct syncer_spec *spec);
/* Waits for a running sync, syncs what is not yet durable; waiters are called with -ECANCELED. */
struct syncer *syncer_free(struct syncer *s);
/* From now on another file is written to. The syncer owns the one before: it is closed once it is durable, with the
 * name of the new one (dirfd, owned; -1: none). No waiter is answered earlier. */
void syncer_switch(struct syncer *s, int fd, int dirfd, const char *name);
/* False: the file before the last switch is not yet durable, or syncing has failed for good. */
bool syncer_may_switch(const struct syncer *s);
/* The file was written to, and is so long now. */
void syncer_dirty(struct syncer *s, off_t size);
/* False: the file system is in memory, and no sync does anything. */
bool syncer_works(const struct syncer *s);
/* What was written to this file is made durable too by the sync that answers the next waiter. 0, or -errno: it is not.
 * Where syncing has failed for good it is 0: the waiter is told. */
int syncer_also(struct syncer *s, const struct sync_also *f);
/* w is the caller's and must live until done or syncer_cancel. done is never called from within. */
void syncer_wait(struct syncer *s, struct syncer_wait *w, void (*done)(void *ctx, int error),
		 void *ctx);
void syncer_cancel(struct syncer_wait *w);
int syncer_error(const struct syncer *s);
