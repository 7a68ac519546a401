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
#include "tools/builtin/core/tool.h"
#include "tools/builtin/core/tool_path.h"

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

/*
 * A file's new content, all of it or none: every reader finds, and a kill at any moment leaves, the
 * old or the new.
 *
 * The bytes go into a file without a name (or, where the file system has none, a temporary one in the same
 * directory), which then takes the place of the old by one rename. So hard links to the old content stay with it; its
 * mode and, for root, its owner are kept.
 */

#define STORE_PREFIX ".acpd-write-" /* then 16 hex digits: what a kill may leave behind */

struct atomic_write_options {
	mode_t mode;	/* 0: that of the old one, or 0666 by the umask */
	bool exclusive; /* EEXIST if there is one */
	bool sync;	/* durable before this returns */
	bool dry;	/* check only */
};

/* What is there, whether it may be replaced: a regular file that we may write, or nothing (then ret->st_nlink is 0). */
int atomic_write_check(const struct tool_path_entry *at, const char *path, struct stat *ret,
		       struct err *e);
/* True if it is still the file that was checked, with the same content. */
bool atomic_write_same(const struct stat *a, const struct stat *b);
/* Gives a file that takes another's place a time of change of its own: the kernel's clock may tick only every 4 ms,
 * an inode that was freed is used again, and the version (file_describe.h) must differ all the same. */
void atomic_write_date(int fd, const struct stat *old);
/* The directory is guarded (write_lock.h). old: from atomic_write_check. ret: what is there now (dry: with the size
 * it would have). */
int atomic_write(const struct builtin_call *c, const struct tool_path_entry *at, const char *path,
		 struct slice bytes, const struct atomic_write_options *s, const struct stat *old,
		 struct stat *ret, struct err *e);
