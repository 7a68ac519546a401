/*
 * watched_dirs.h - which directories are watched, and under which names: the bookkeeping of watchDirectory
 * (watch_directory.c).
 *
 * A directory is watched before its names are read, so that nothing made in between is missed; what the reading finds
 * in a directory that is new is reported as made, and the kernel's own message of it, if it still comes, is dropped.
 * Directories that .gitignore files exclude are never registered: a node_modules costs no handle.
 */
#pragma once

#include "tools/builtin/files/file_walk.h"

struct watch_dir {
	int wd;
	char *path; /* from the start directory; "" is itself */
};

struct watched_dirs {
	struct builtin_call *call;
	struct tool_path start;
	int fd; /* inotify */
	bool recursive, gitignore;
	struct watch_dir *v;
	size_t n;
	char **found; /* reported as made by a reading */
	size_t nfound;
};

/* Called for each name in a new directory, by its path from the start directory. False: it was not reported, so the
 * kernel's own message of it need not be dropped. */
typedef bool (*watch_found_fn)(void *ctx, const char *path);

/* Adds the start directory, and all below if recursive. */
int watched_dirs_open(struct watched_dirs *w, struct err *e);
void watched_dirs_done(struct watched_dirs *w);
/* Adds a new directory, by its path: it is watched with all below, unless it is excluded. fn NULL: nothing is reported
 * (after an overflow). */
void watched_dirs_add(struct watched_dirs *w, const char *path, watch_found_fn fn, void *ctx);
/* It was renamed, or removed (to NULL). */
void watched_dirs_move(struct watched_dirs *w, const char *from, const char *to);
/* NULL: not watched (any more). */
const char *watched_dirs_path(const struct watched_dirs *w, int wd);
/* The kernel has forgotten it. */
void watched_dirs_drop(struct watched_dirs *w, int wd);
/* True once if a reading has reported it. */
bool watched_dirs_was_found(struct watched_dirs *w, const char *path);
