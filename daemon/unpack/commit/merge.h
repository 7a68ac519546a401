/*
 * merge.h - what the files of commit.h share: what is at a path of a tree and how it compares with a manifest, the steps of
 * a log on a target, and the plan of a merge.
 */
#pragma once

#include "tree/held_tree.h"
#include "tree/tree_manifest.h"
#include "unpack/commit/commit.h"
#include "unpack/commit/intent_log.h"

enum {
	SEEN_NOTHING = 0,
	SEEN_OTHER =
		'o', /* device, FIFO, socket; files, directories and links have the letters of enum node_type */
};

struct seen {
	int type;
	struct stamp id;
	struct sha256 digest; /* of a file, once it was needed */
	bool hashed;
	bool unreadable; /* or it changed while it was read: not the same as anything */
};

/* The type of an entry by its mode; SEEN_NOTHING for 0. */
int seen_type(mode_t mode);
/* 0 also if there is nothing; 1: something that is no directory, or another file system, is on the way. */
int seen_look(struct held *h, const char *path, struct seen *s);
/* True if it is the same as node: type, permission bits, content. Of directories only the type. */
bool seen_same(struct held *h, const char *path, struct seen *s, const struct manifest *m,
	       uint32_t node);
/* Finds out s->digest of the file or link that was looked at; false: it cannot be read, or has changed. */
bool seen_digest(struct held *h, const char *path, struct seen *s);
/* True if two entries of manifests are the same, permission bits included. */
bool nodes_same(const struct manifest *ma, uint32_t a, const struct manifest *mb, uint32_t b);

void outcome_skip(struct outcome *out, const char *path, const char *reason);

/* The directories that steps work in. */
struct step_dirs {
	struct held target; /* of the target */
	struct held staged; /* of stage/tree */
	int tree, old;	    /* owned */
	uint64_t since;	    /* of the log */
	bool again;	    /* a killed job has taken some of the steps */
};

int step_dirs_open(struct step_dirs *g, int target, int stage);
void step_dirs_close(struct step_dirs *g);

/* Called for a step that was skipped. */
typedef void (*step_skipped_fn)(void *ctx, const struct op *op);

/* Takes all steps forward; at the first failure undoes all, also those that a killed job had taken. Of an exact log a step that would be
 * skipped fails, -EBUSY. 0; a negative errno: the target is as it was; -ENOTRECOVERABLE. Afterwards the log is LOG_DONE or LOG_UNDO. failed: the path. */
int steps_run(struct step_dirs *g, struct intent_log *log, step_skipped_fn skipped, void *ctx,
	      char failed[PATH_BYTES_MAX + 1]);
/* Undoes the first n steps, last first. */
int steps_back(struct step_dirs *g, struct intent_log *log, size_t n);
/* commit.c: makes the planned log of the stage count, and takes its steps. As steps_run; -EBADMSG: it is not a planned log. */
int commit_take_steps(int target, int stage, step_skipped_fn skipped, void *ctx,
		      char failed[PATH_BYTES_MAX + 1]);

/* The state of an entry of the old manifest. */
enum {
	OLD_STAYS,
	OLD_REMOVED, /* by a step */
	OLD_GONE,    /* already removed by others */
};

struct was_entry {
	int64_t twin;	 /* in the new manifest; -1 */
	bool overturned; /* is, or lies below, what the new generation has as no directory */
	uint8_t fate;
};

/* What a directory of the new manifest meets in the target. */
enum merge_state {
	MERGE_THERE,
	MERGE_NEW,     /* comes with a directory above it */
	MERGE_PENDING, /* was ours, is deleted; made again if something new comes into it */
	MERGE_MADE,
	MERGE_BLOCKED, /* something else is in its place */
};

struct new_entry {
	int64_t twin; /* in the old manifest; -1 */
	uint8_t state;
	uint16_t chmod; /* a directory whose mode will change: the one it has */
};

struct merge {
	struct manifest *new;
	struct manifest *old;
	bool keep;
	bool (*keeps)(void *ctx, const char *path); /* of commit.h */
	void *ctx;
	struct held target, staged;
	struct was_entry *was; /* by old node */
	struct new_entry *is;  /* by new node */
	uint32_t *old_order, *new_order;
	size_t old_n, new_n;
	struct intent_log_writer log;
	struct outcome *out;
	char buf[PATH_BYTES_MAX + 1];
	const char *path; /* of the entry that is being planned */
};

/* Mode merge, and the old generation's entry at path may not be replaced. */
static inline bool merge_is_kept(const struct merge *p, const char *path)
{
	return p->keep && (!p->keeps || p->keeps(p->ctx, path));
}

static inline bool merge_is_dir(const struct manifest *m, int64_t v)
{
	return v >= 0 && m->v[v].type == NODE_DIR;
}

int plan_removals(struct merge *p);
int plan_new(struct merge *p);
/* Entry i of the new manifest gets the data of entry o of the old one. */
int plan_as_before(struct merge *p, uint32_t i, uint32_t o);
