/*
 * tree_walk.h - everything in a living tree, in the order of index.h, even while the tree is changing.
 *
 * Built on tree/tree_walker.h. What vanishes or changes its type between two steps counts as if it had always
 * been so. A name is reported once; the visitor opens it by the directory it is given and must expect anything there.
 *
 * Left out silently: our own stage directories, and everything named .git if that is asked. Reported by ignored: what
 * .gitignore files leave out if they are asked, unless the visitor knows it. As in git, everything in an ignored
 * directory is ignored. Reported by omit: names that git refuses to write because some file
 * systems treat them as .git; what lies too deep, on another file system, or in a directory that cannot be read.
 *
 * tree_walk returns 0, what the visitor returned if that is negative, or a negative errno with v filled in:
 * TOO_MANY_ENTRIES, TIME_LIMIT, a root that cannot be read.
 */
#pragma once

#include "tree/tree_walker.h"
#include "unpack/snapshot/index.h"
#include "unpack/job/verdict.h"

struct tree_visitor {
	/* Every file, link, directory and whatever else there may be; a directory before what is in it. Positive: not
	 * into this directory. */
	int (*visit)(void *ctx, const struct tree_entry *e);
	/* path, and for a directory all below it, cannot be visited. */
	int (*omit)(void *ctx, const char *path, enum omit_reason reason);
	/* Is path, or for a directory anything below it, to be visited although it is ignored? NULL: no. */
	bool (*known)(void *ctx, const char *path);
	/* path, and for a directory all below it, is left out by a .gitignore file. NULL: nobody asks. */
	int (*ignored)(void *ctx, const char *path);
	void *ctx;
};

struct tree_walk_options {
	bool gitignore;	      /* leave out what .gitignore files leave out */
	bool without_git;     /* leave out what is named .git */
	bool for_git;	      /* omit names that git refuses to write */
	uint64_t entries;     /* names read, at most */
	uint64_t deadline_ms; /* of clock_mono_ms; 0: none */
};

int tree_walk(int root, const struct tree_walk_options *o, const struct tree_visitor *visitor,
	      struct verdict *v);
/* True if git would refuse to write this name on some file system. Stricter for names of links. */
bool git_name_reserved(const char *name, bool link);
/* The same for any name of a path; link: the last is one. */
bool git_path_reserved(const char *path, bool link);
