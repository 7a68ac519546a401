/*
 * draft.h - the jobs on a draft, and what their files share. A draft is a tree that stands for another, the real one, until
 * its changes are applied. The top of each file has its theory: draft_job.c the jobs, draft_compare.c what a change is.
 *
 * Functions return 0 or a negative errno, where nothing else is said.
 */
#pragma once

#include "base/buf.h"
#include "digest/digest.h"
#include "tree/draft_head.h"
#include "tree/held_tree.h"
#include "unpack/commit/intent_log.h"
#include "unpack/job/unpack_report.h"
#include "unpack/job/verdict.h"
#include "unpack/snapshot/lists.h"

struct draft_entry {
	size_t path;	 /* in text */
	struct stamp id; /* with its ctime, whatever other names it has */
	bool closed;
};

struct draft_tree {
	struct draft_entry *v;
	size_t n;
	struct buf text;
};

/* The stat data of what is there, all of them. */
void draft_stamp(const struct stat *sb, struct stamp *id);
/* A letter of enum node_type; SEEN_OTHER (merge.h); 0 for a stamp of nothing. */
int draft_type(const struct stamp *id);
/* TOO_MANY_ENTRIES, TIME_LIMIT. until: of clock_mono_ms. */
int draft_tree_read(struct draft_tree *t, int root, uint64_t until, struct verdict *v);
void draft_tree_done(struct draft_tree *t);
static inline const char *draft_tree_path(const struct draft_tree *t, size_t i)
{
	return t->text.data + t->v[i].path;
}

struct draft_base_entry {
	size_t path;
	struct stamp real, view;
	bool has_view, has_digest;
	struct sha256 digest; /* of a file's bytes, of a link's text */
};

struct draft_base {
	struct draft_base_entry *v;
	size_t n;
	struct buf text;
	struct draft_head head;
};

int draft_base_read(struct draft_base *b, int fd);
void draft_base_done(struct draft_base *b);
static inline const char *draft_base_path(const struct draft_base *b, size_t i)
{
	return b->text.data + b->v[i].path;
}

/* The writer's owner frees its buffer. */
void draft_base_begin(struct summed_writer *w, int fd, const struct draft_head *head);
/* path: in order. */
int draft_base_put(struct summed_writer *w, const char *path, const struct draft_base_entry *e);
/* The file is whole, and on its disk. */
int draft_base_end(struct summed_writer *w);

struct draft_sent {
	struct sha256 digest; /* of what was written */
	uint64_t bytes;
};

/* A regular file as long as it is when it is opened, holes as holes; more than max bytes: -EFBIG. */
int draft_file_copy(struct held *from, struct held *to, const char *path, mode_t mode, uint64_t max,
		    struct draft_sent *ret);
int draft_link_copy(struct held *from, struct held *to, const char *path, struct draft_sent *ret);

/* One side of a change; type 0: nothing. */
struct draft_side {
	int type; /* enum node_type */
	struct stamp id;
	struct sha256 digest;
};

struct draft_change {
	const char *path; /* in one of the lists */
	struct draft_side was, will;
	const struct draft_base_entry *base;
	bool conflict;
};

struct draft_trees {
	struct draft_tree view, real;
	struct draft_base base;
	struct held in_view, in_real;
	bool overlay;
};

struct draft_changes {
	struct draft_change *v;
	size_t n, conflicts;
	uint64_t bytes;	     /* of the files that are new or different */
	uint64_t extra_left; /* of TREE_EXTRA_MAX */
	struct omitted omitted;
	struct sha256 digest;
};

/* Reads all three. view and real are directories, held open by the caller. */
int draft_trees_open(struct draft_trees *t, int view, int real, int base, bool overlay,
		     uint64_t until, struct verdict *v);
void draft_trees_close(struct draft_trees *t);
void draft_compare(struct draft_trees *t, struct draft_changes *c);
/* The paths, a raw array of strings, are no conflicts any more: what others put there is replaced. Refused:
 * PATH_NOT_CHANGED. */
int draft_force(struct draft_changes *c, struct slice paths, struct verdict *v);
void draft_changes_done(struct draft_changes *c);
/* What the base is once all changes have been applied, into an empty file. */
int draft_base_after(const struct draft_trees *t, const struct draft_changes *c, int fd);

struct jw;

/* Into fd; what it lacks is added to c->omitted. */
int draft_patch(struct draft_trees *t, struct draft_changes *c, int fd, struct patch_stat *stat,
		uint64_t *bytes, struct verdict *v);
/* Members patchDigest, changes, changesTotal, bytes, conflicts, conflictsTotal, omitted, omittedTotal. */
void draft_report(struct jw *w, const struct draft_changes *c);
/* Members conflicts, conflictsTotal alone. */
void draft_report_conflicts(struct jw *w, const struct draft_changes *c);

struct draft_begun {
	uint64_t entries, bytes, left_out;
};

/* real: held open; copy: the same, empty; -1: none, the draft will be an overlay. base: the record goes there. */
int draft_begin(int real, int copy, int base, uint64_t max, uint64_t until, struct draft_begun *ret,
		struct verdict *v);
/* What is below a directory on its disk. */
int draft_measure(int dir, uint64_t until, struct draft_begun *ret, struct verdict *v);

struct draft_target {
	int target, stage; /* held open */
	int base; /* where the record of the tree afterwards is written; it must be whole before the log counts */
};

/* PATCH_DIGEST_MISMATCH: the draft has changed since; DRAFT_CONFLICT with a path: the real tree has; and failures. */
int draft_apply(struct draft_trees *t, const struct draft_changes *c, const struct draft_target *to,
		struct verdict *v);

enum unpack_exit draft_job_run(const char *verb, struct slice line);
