/*
 * file_walk.h - everything below a directory in a fixed order, for tools that read many files.
 *
 * Built on tree/tree_walker.h: the part before a path is the same in every walk of the same tree, and a walk can go on
 * after a path (a cursor), without losing or repeating anything that is there all the time. Renames meanwhile cannot
 * lead a walk out of its start directory. What policy denies is left out; so are, if requested, hidden names, and what
 * .gitignore files exclude: those between the root and the start count too, and ".git" itself is left out then. Other
 * mounts are entered, but not /proc, /sys and the like.
 *
 * Names that JSON cannot hold are passed unchanged; the caller that shows them converts them.
 */
#pragma once

#include "tools/builtin/core/tool_path.h"
#include "tree/tree_walker.h"

struct builtin_call;
struct jw;

struct file_walk_options {
	bool no_hidden, gitignore;
	/* also what policy denies, and what cannot be entered ends the walk: for a caller that judges it all itself */
	bool denied;
	unsigned depth;	   /* 1: the directory's own entries; 0: all */
	const char *after; /* only what comes after this path; NULL: all */
};

/* whole is the absolute path. 0: go on; 1: do not enter it; <0: end the walk, which returns that. */
typedef int (*file_walk_fn)(void *ctx, const struct tree_entry *e);

/* 0, what fn gave, or a negative errno of the beginning (e is filled); -ECANCELED once the call is to end (e is not
 * filled). What below cannot be read is left out. */
int file_walk_below(struct builtin_call *c, const struct tool_path *start,
		    const struct file_walk_options *o, file_walk_fn fn, void *ctx, struct err *e);
/* The member "path" of a result: a path of a walk, or its start (NULL), as the caller named the start. "." is not put
 * before it. */
void file_walk_put_path(struct jw *w, const char *start, const char *path);
/* A regular file of a walk, or -EINVAL if it is none any more; never opens anything else. sb may be NULL. */
int file_walk_open(int dir, const char *name, struct stat *sb);
