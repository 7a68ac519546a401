/*
 * ahead.h - files of a tree that are read, hashed and packed on all cores, while a snapshot records them in its order.
 *
 * A queue of at most AHEAD_ITEMS entries of the tree. The one who walks puts entries at its end, some with an open file
 * that has to be read. Threads, made when there is enough to do and one fewer than there are processors, work on
 * whichever file is next. Whoever walks takes entries from the front, in order, and instead of waiting works itself:
 * with one processor there is no thread. What is in the queue is bounded in files and bytes, so a file that grows while
 * it is read is not read further, but left for the walker to take by itself, as is a large one.
 */
#pragma once

#include "unpack/snapshot/index.h"
#include "unpack/snapshot/packfile.h"

#include <sys/stat.h>

enum ahead_state {
	AHEAD_READY, /* nothing to read */
	AHEAD_TODO,
	AHEAD_BUSY,
	AHEAD_DONE, /* now and content are set, and packed if it was to be */
	AHEAD_LATE, /* the walker has to read it, from fd */
};

struct ahead_item {
	enum ahead_state state;
	char *path;
	struct index_entry indexed, was, now;
	int fd;	       /* -1: nothing to read */
	bool was_read; /* or will be, when it is taken */
	bool packs;    /* a content that is not that of indexed is to be a frame */
	struct stat sb;
	struct buf content;
	struct packed packed;
};

struct ahead;

struct ahead *ahead_new(void);
void ahead_free(struct ahead *a);
/* Whether a file of so many bytes, or an entry that is not read (0), may be put; if not, the first one has to be taken
 * before. */
bool ahead_has_room(const struct ahead *a, uint64_t bytes);
/* Puts an entry at the end; the caller fills in indexed, was, now, packs. fd, owned from now on, was sb: it is to be read; -1:
 * it is not. */
struct ahead_item *ahead_put(struct ahead *a, const char *path, int fd, const struct stat *sb);
/* Only now may a thread take what was put last. */
void ahead_go(struct ahead *a);
bool ahead_empty(const struct ahead *a);
/* The first one, once it is READY, DONE or LATE. */
struct ahead_item *ahead_first(struct ahead *a);
void ahead_drop(struct ahead *a);
