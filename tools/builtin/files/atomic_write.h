/*
 * atomic_write.h - a file's new content, all of it or none: every reader finds, and a kill at any moment leaves, the
 * old or the new.
 *
 * The bytes go into a file without a name (or, where the file system has none, a temporary one in the same
 * directory), which then takes the place of the old by one rename. So hard links to the old content stay with it; its
 * mode and, for root, its owner are kept.
 */
#pragma once

#include "tools/builtin/core/tool_path.h"
#include "tools/builtin/core/tool.h"

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
