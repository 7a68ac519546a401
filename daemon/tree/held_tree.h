/*
 * held_tree.h - a tree of files below a directory that is held open, for trees in which an adversary may rename at the
 * same time.
 *
 * Every path is relative to that directory, its components separated by single slashes, checked before by
 * path_rules.h: no "..", no ".", no empty component. Nothing is ever opened, made or removed by a path that leads
 * through a symbolic link, out of the directory, over a mount point or through /proc: directories are opened by
 * openat2 (BENEATH, NO_SYMLINKS, NO_MAGICLINKS, NO_XDEV), or component by component where the kernel or a container's
 * filter has no openat2; files only as a single name in an open directory, never following.
 *
 * Functions return 0 or a descriptor, or a negative errno: -ELOOP and -ENOTDIR where something other than a directory
 * is in the way, -EXDEV over a mount point.
 */
#pragma once

#include "base/slice.h"

#include <dirent.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#define HELD_DIRS 64

struct held_dir {
	char *path; /* NULL: free slot */
	size_t n;
	int fd;
	uint64_t used;
};

struct held {
	int root; /* borrowed */
	uint64_t clock;
	struct held_dir dirs[HELD_DIRS];
};

void held_init(struct held *h, int root);
void held_done(struct held *h);
/* The directory path ("" is the root). The descriptor is borrowed and valid until the next call. */
int held_dir(struct held *h, struct slice path);
/* The directory that holds path; leaf begins at its last component. */
int held_parent(struct held *h, const char *path, const char **leaf);
/* The same; the directories above path that are missing are made with this mode. -EEXIST never. */
int held_parent_made(struct held *h, const char *path, mode_t mode, const char **leaf);
/* A new regular file for writing, which must not exist. Its directory must. */
int held_create(struct held *h, const char *path, mode_t mode);
/* An existing regular file for reading; -EINVAL if it is anything else. sb may be NULL. */
int held_open(struct held *h, const char *path, struct stat *sb);
/* lstat. */
int held_stat(struct held *h, const char *path, struct stat *sb);
/* mkdir, unlink (or, with AT_REMOVEDIR, rmdir), symlink, and chmod of a directory. */
int held_mkdir(struct held *h, const char *path, mode_t mode);
int held_unlink(struct held *h, const char *path, int flags);
int held_symlink(struct held *h, const char *path, const char *target);
int held_chmod(struct held *h, const char *path, mode_t mode);
/* The target of a link, without a NUL, cut off at size bytes; its length. */
ssize_t held_readlink(struct held *h, const char *path, char *target, size_t size);
/* Forgets the directories at and below path: it was moved or removed. */
void held_forget(struct held *h, const char *path);

/* A single name in dir, as a directory for reading (O_RDONLY); never follows. */
int held_open_dir_at(int dir, const char *name);
/* The names in dir, read by a descriptor of its own, so that the offset of dir stays; NULL with errno. */
DIR *held_list(int dir);
static inline void held_list_closep(DIR **d)
{
	if (*d)
		closedir(*d);
}
/* An exclusive flock(2), tried again for some ms: the process that had it may have been killed a moment ago, and not be
 * dead yet. */
int held_lock(int fd, unsigned ms);
/* rm -r of name in dir, at any depth, with any modes of the directories in it. Missing is success; what is mounted
 * below stays, -EXDEV. Goes on after a failure, and returns the first. What stays deeper than CLEAR_LEVELS may then
 * stand higher than before. */
int held_remove_at(int dir, const char *name);
/* The same for everything in dir. */
int held_empty(int dir);

/* Called for everything below a directory, a directory before what is in it. path: relative to the start of the walk;
 * dir and leaf: to open it by. A positive answer for a directory leaves out what is below it; a negative one ends the
 * walk and is returned. */
typedef int (*held_visit_fn)(void *ctx, const char *path, int dir, const char *leaf,
			     const struct stat *sb);
/* In the order of tree_walker.h. A directory on another file system is visited, but not entered. Depth is bounded by
 * PATH_DEPTH_MAX (-ELOOP), path length by PATH_BYTES_MAX (-ENAMETOOLONG). */
int held_walk(int dir, held_visit_fn visit, void *ctx);
