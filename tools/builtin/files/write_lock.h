/*
 * write_lock.h - one writer at a time: what a tool reads, checks and puts in place is one step beside everything else that writes through the
 * built-in tools.
 *
 * Without it eight edits of one file all read the same old text, all say that they have succeeded, and seven are lost. What is guarded is
 * the directory that holds the name, by device and inode: a file's own inode is a new one after each write, and where there is no file
 * yet there is none at all. Files of one directory thus wait for each other, for as long as a write takes.
 *
 * Two locks, taken in this order. Between the threads of this process: a table here. Between processes (each session has its tools, /mcp
 * has others, and they may serve one tree): flock on the directory itself. That needs no file of ours anywhere, works between different
 * users, and goes with its process however that ends. Where a directory cannot be opened or locked (no right to read it, some network
 * file systems), and beyond GUARD_FLOCKS_MAX directories, only the first holds. Programs that are none of ours do not know these locks:
 * for them, what was read is compared again directly before the rename.
 *
 * Several directories are locked in the order of their numbers, so nobody waits in a circle. Whoever waits ends when its call is ended,
 * and with BUSY after GUARD_WAIT_MS: somebody else holds such a lock, and going on without it could lose his work or ours.
 */
#pragma once

#include "base/err.h"

#include <stddef.h>

struct tool_call;
struct guard; /* NULL: nothing is held */

/* dirs: descriptors (O_PATH will do); those below 0 are passed over. 0 and *ret, or an error: BUSY, CANCELLED. */
int guard_enter(const struct tool_call *c, const int *dirs, size_t n, struct guard **ret,
		struct err *e);
/* NULL is fine. */
struct guard *guard_leave(struct guard *g);

static inline void guard_leavep(struct guard **g)
{
	guard_leave(*g);
}
