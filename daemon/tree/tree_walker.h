/*
 * tree_walker.h - everything below a directory that is held open, in a fixed order, while somebody may be changing it.
 *
 * A directory comes before what is in it, names in the order of their bytes. A name is looked at (lstat) and told to
 * the visitor. If it is a directory, it is opened as that single name, never following a link. All names of a
 * directory are read before the first of them is visited; what is removed or replaced after that is trouble, or is
 * visited as what it is by then. Open at a time: one descriptor for each directory above each other, and one to read.
 *
 * The walker bounds depth (PATH_DEPTH_MAX) and length of paths (PATH_BYTES_MAX). It has no opinion about mount points,
 * about .gitignore, or about what cannot be read: the functions of its user decide that.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>

struct tree_entry {
	const char *path;  /* from where the walk began; "" for the beginning itself */
	const char *whole; /* the same behind what was given as above */
	int dir;	   /* where leaf is */
	const char *leaf;
	unsigned depth; /* 1: in the beginning itself; 0: the beginning, whose dir, leaf and sb are not set */
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
	/* As of dir_names_read, of the directory entered last. NULL: every name. */
	int (*want)(void *ctx, const char *name);
	/* Positive: if it is a directory, do not enter it. */
	int (*visit)(void *ctx, const struct tree_entry *e);
	/* A directory has been opened, the beginning, too; its names are not read yet. Positive: leave it at that.
	 * NULL: all are entered. */
	int (*enter)(void *ctx, const struct tree_entry *e, int fd);
	/* The directory entered last has been read to its end, or the walk ends. NULL: of no interest. */
	void (*leave)(void *ctx);
	/* error: a negative errno. After WALK_CANNOT_READ 0 goes on with the names that were read, if any; positive
	 * leaves them out. */
	int (*trouble)(void *ctx, const struct tree_entry *e, enum walk_trouble what, int error);
};

/* above: what stands before every path in whole, joined by a slash; may be "". 0, or what ended the walk. */
int tree_walker_run(int root, const char *above, const struct walk_calls *calls, void *ctx);

/* Of trouble: it was there when its directory was read, and is gone, or no directory, since. */
static inline bool walk_gone(enum walk_trouble what, int error)
{
	return error == -ENOENT ||
	       (what == WALK_CANNOT_OPEN && (error == -ENOTDIR || error == -ELOOP));
}
