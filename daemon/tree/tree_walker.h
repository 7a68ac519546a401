/*
 * tree_walker.h - everything below a directory that is held open, in a fixed order, even while the tree is changing.
 *
 * The walker bounds depth (PATH_DEPTH_MAX) and length of paths (PATH_BYTES_MAX). Its user's functions decide about
 * mount points, .gitignore, and what cannot be read.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>

struct tree_entry {
	const char *path;  /* relative to the start of the walk; "" for the start itself */
	const char *whole; /* the same after the text above */
	int dir;	   /* where leaf is */
	const char *leaf;
	unsigned depth; /* 1: in the start directory; 0: the start itself, whose dir, leaf and sb are not set */
	struct stat sb; /* of a link itself */
};

enum walk_trouble {
	WALK_CANNOT_LOOK,   /* lstat; sb is not set */
	WALK_PATH_TOO_LONG, /* whole */
	WALK_TOO_DEEP,	    /* a directory that was visited */
	WALK_CANNOT_OPEN,
	WALK_CANNOT_READ, /* also what want returned */
};

/* Negative answers end the walk, which returns them. */
struct walk_calls {
	/* As for dir_names_read, for the directory entered last. NULL: every name. */
	int (*want)(void *ctx, const char *name);
	/* Positive: if it is a directory, do not enter it. */
	int (*visit)(void *ctx, const struct tree_entry *e);
	/* A directory has been opened, also the start; its names are not read yet. Positive: do not read them.
	 * NULL: all are entered. */
	int (*enter)(void *ctx, const struct tree_entry *e, int fd);
	/* The directory entered last has been read to its end, or the walk ends. May be NULL. */
	void (*leave)(void *ctx);
	/* error: a negative errno. After WALK_CANNOT_READ 0 goes on with the names that were read, if any; positive
	 * leaves them out. */
	int (*trouble)(void *ctx, const struct tree_entry *e, enum walk_trouble what, int error);
};

/* above: what stands before every path in whole, joined by a slash; may be "". 0, or what ended the walk. */
int tree_walker_run(int root, const char *above, const struct walk_calls *calls, void *ctx);

/* In trouble: the entry was there when its directory was read, but is gone, or no directory, now. */
static inline bool walk_gone(enum walk_trouble what, int error)
{
	return error == -ENOENT ||
	       (what == WALK_CANNOT_OPEN && (error == -ENOTDIR || error == -ELOOP));
}
