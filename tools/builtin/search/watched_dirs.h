/*
 * watched_dirs.h - which directories are watched, and under which names: the bookkeeping of watchDirectory (watch_directory.c).
 *
 * A directory is watched before its names are read, so that nothing made in between is missed; what the reading finds in a directory
 * that is new is told as made, and the kernel's own message of it, if it still comes, is dropped. Directories that .gitignore files
 * exclude are never registered: a node_modules costs no handle.
 */
#pragma once

#include "tools/builtin/search/tree_walk.h"

struct watch_dir {
	int wd;
	char *path; /* from the beginning; "" is itself */
};

struct watched {
	struct tool_call *call;
	struct place start;
	int fd; /* inotify */
	bool recursive, gitignore;
	struct watch_dir *v;
	size_t n, room;
	char **found; /* told as made by a reading */
	size_t nfound;
};

/* Called for what a reading finds in a directory that is new: path from the beginning. */
typedef void (*watch_found_fn)(void *ctx, const char *path);

/* The beginning, and all below if recursive. */
int watched_open(struct watched *w, struct err *e);
void watched_done(struct watched *w);
/* A directory came, by its path: it is watched with all below, unless it is excluded. fn NULL: nothing is told (after an overflow). */
void watched_add(struct watched *w, const char *path, watch_found_fn fn, void *ctx);
/* It was renamed, or went (to NULL). */
void watched_move(struct watched *w, const char *from, const char *to);
/* NULL: not watched (any more). */
const char *watched_path(const struct watched *w, int wd);
/* The kernel has forgotten it. */
void watched_drop(struct watched *w, int wd);
/* Was told by a reading; true once. */
bool watched_was_found(struct watched *w, const char *path);
