/*
 * write_lock.h - one writer at a time: a tool reads, checks and replaces in one step, compared with all other writers
 * among the built-in tools.
 *
 * Without it, eight edits of one file all read the same old text and all report success, but seven are lost. The lock
 * is on the directory that holds the name, by device and inode: a file gets a new inode at each write, and a file that
 * is not there yet has none. So files of one directory wait for each other, for as long as a write takes.
 *
 * Two locks are taken in this order. Between the threads of this process: a table. Between processes (each session has
 * its tools, /mcp has others, and they may serve one tree): flock on the directory itself. That needs no file of ours,
 * works between different users, and ends with its process. If a directory cannot be opened or locked (no right to read
 * it, some network file systems), and beyond GUARD_FLOCKS_MAX directories, only the first lock holds. Other programs do
 * not know these locks: for them, what was read is compared again directly before the rename.
 *
 * Several directories are locked in the order of their numbers, so there is no deadlock. A waiting call ends when it is
 * cancelled, and with BUSY after GUARD_WAIT_MS: another process holds such a lock, and going on without it could lose
 * its work or ours.
 */
#pragma once

#include "base/err.h"

#include <stddef.h>

struct builtin_call;
struct write_lock; /* NULL: nothing is held */

/* dirs: descriptors (O_PATH is enough); those below 0 are skipped. 0 and *ret, or an error: BUSY, CANCELLED. */
int write_lock_take(const struct builtin_call *c, const int *dirs, size_t n,
		    struct write_lock **ret, struct err *e);
/* g may be NULL. */
struct write_lock *write_lock_release(struct write_lock *g);

static inline void write_lock_releasep(struct write_lock **g)
{
	write_lock_release(*g);
}
