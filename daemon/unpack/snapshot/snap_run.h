/*
 * snap_run.h - a snapshot or a diff while it is made: shared by snapshot.c (the whole, and what becomes of a path) and
 * snap_look.c (what the walk meets). Nobody else includes it.
 */
#pragma once

#include "unpack/snapshot/index.h"
#include "unpack/snapshot/packfile.h"
#include "unpack/snapshot/snapshot.h"
#include "unpack/snapshot/tree_walk.h"

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

struct snapshot {
	const struct snapshot_job *job;
	const struct snapshot_files *files;
	struct snapshot_report *report;
	struct verdict *v;

	struct index_reader old;
	const char *old_path; /* NULL: the end */
	struct index_entry old_entry;
	size_t back; /* in the history */

	struct packfile pack;
	struct index_writer index, turn;
	struct patchfile patch;
	struct ahead *ahead;
	struct buf own, before; /* of the current file: as it is now, as it was */
	struct buf *content;	/* own, or that of an entry read ahead */
	bool held;		/* content is that of the current entry */
	bool quiet;		/* what is left out has been reported */
	uint64_t plain;		/* bytes that may still be kept as they are */
	uint64_t extra_left;	/* of TREE_EXTRA_MAX */
	int error;		/* of a call that cannot return it */
};

static inline bool snap_is_diff(const struct snapshot *s)
{
	return s->files->index_new < 0;
}

static inline bool snap_has_content(const struct index_entry *e)
{
	return e->type == INDEX_FILE || e->type == INDEX_LINK;
}

/* --- snapshot.c: all return 0 or a negative errno with the verdict filled in --- */

/* The next path that was there, in the index or the history; NULL: none. */
const char *snap_next_path(const struct snapshot *s);
/* Takes the entries of path from the index and the state before, which are at path at most; both go on. */
int snap_take_old(struct snapshot *s, const char *path, struct index_entry *indexed,
		  struct index_entry *was);
void snap_note_path(struct snapshot *s, const char *path);
/* Records one path; they come in their order. */
int snap_decide(struct snapshot *s, const char *path, const struct index_entry *was,
		const struct index_entry *now);

/* --- snap_look.c --- */

/* Walks the tree and records all of it, and all that is gone. */
int snap_look(struct snapshot *s);
