/*
 * restore_watch.h - notices that the machine was restored from a snapshot, or resumed, without polling.
 *
 * Two things tell of it. CLOCK_REALTIME jumps: a timerfd that is cancelled when the clock is set wakes the loop, and
 * the offset to CLOCK_MONOTONIC, which stands still while a machine is paused, says by how much. Where the kernel has
 * no such timerfd the offset is compared at each wake-up of the loop. And the file with the sandbox's id
 * (base/os/sandbox.h) is written: E2B does that after each restore, also with the same id (file_watch.h). Where there is no directory
 * for it at the start, that one is looked for a moment later: the first answers do not wait for it.
 *
 * A step of less than RESTORE_STEP_MS without anything else is a clock that is kept right (chrony): one line of the
 * log. Anything else is a jump. hold() is called at once. resumed() follows when the id has been read again: at once where
 * the file has been written, or where there is none to wait for; else when it is written, RESTORE_WAIT_MS later at the
 * latest. The loop stands still in between: whatever came in that time, from clients, harnesses or timers, would be
 * taken by the one that was before, and may be the copy's. Both are called from the loop.
 *
 * A file whose id is another than before: this is a copy of the machine. A file that is new says nothing (a machine
 * that boots gets it late).
 */
#pragma once

#include "loop/loop.h"

/* chronyd slews what is below 1 s, as Debian and E2B have it set up. */
#define RESTORE_STEP_MS 2000
#define RESTORE_WAIT_MS 2000

struct restored {
	uint64_t gap_ms; /* by which the clock was ahead; 0: it was not set, or back */
	bool other;	 /* the sandbox has another id than before */
};

struct restore_ops {
	void (*hold)(void *ctx);
	void (*resumed)(void *ctx, const struct restored *r);
};

struct restore_watch;

/* Reads the id. Never fails: what cannot be watched is left out, with a line in the log. */
struct restore_watch *restore_watch_new(struct loop *l, const struct restore_ops *ops, void *ctx);
struct restore_watch *restore_watch_free(struct restore_watch *w);
