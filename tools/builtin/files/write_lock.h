/*
 * write_lock.h - one writer at a time: what a tool reads, checks and puts in place is one step beside everything else
 * that writes through the built-in tools.
 *
 * Without it eight edits of one file all read the same old text, all say that they have succeeded, and seven are
 * lost. What is guarded is the directory that holds the name, by device and inode: a file's own inode is a new one
 * after each write, and where there is no file yet there is none at all. Files of one directory thus wait for each
 * other, for as long as a write takes.
 *
 * Two locks, taken in this order. Between the threads of this process: a table here. Between processes (each session
 * has its tools, /mcp has others, and they may serve one tree): flock on the directory itself. That needs no file of
 * ours anywhere, works between different users, and goes with its process however that ends. Where a directory cannot
 * be opened or locked (no right to read it, some network file systems), and beyond GUARD_FLOCKS_MAX directories, only
 * the first holds. Programs that are none of ours do not know these locks: for them, what was read is compared again
 * directly before the rename.
 *
 * Several directories are locked in the order of their numbers, so nobody waits in a circle. Whoever waits ends when
 * its call is ended, and with BUSY after GUARD_WAIT_MS: somebody else holds such a lock, and going on without it
 * could lose his work or ours.
 */
#pragma once

#include "base/err.h"

#include <stddef.h>

struct builtin_call;
struct write_lock; /* NULL: nothing is held */

/* dirs: descriptors (O_PATH will do); those below 0 are passed over. 0 and *ret, or an error: BUSY, CANCELLED. */
int write_lock_take(const struct builtin_call *c, const int *dirs, size_t n,
		    struct write_lock **ret, struct err *e);
/* NULL is fine. */
struct write_lock *write_lock_release(struct write_lock *g);

static inline void write_lock_releasep(struct write_lock **g)
{
	write_lock_release(*g);
}
