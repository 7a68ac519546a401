/*
 * merge_plan.h - how a merge is planned: first what the old generation had and the new one has not, whose
 * removal may make room, then what the new one brings. Each decision becomes a step of the log or an
 * entry of the report. The new manifest is changed to say what is ours afterwards.
 */
#pragma once

#include "unpack/commit/compare.h"
#include "unpack/commit/merge.h"

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
static inline bool is_kept(const struct merge *p, const char *path)
{
	return p->keep && (!p->keeps || p->keeps(p->ctx, path));
}

static inline bool is_dir(const struct manifest *m, int64_t v)
{
	return v >= 0 && m->v[v].type == NODE_DIR;
}

int plan_removals(struct merge *p);
int plan_new(struct merge *p);
/* Entry i of the new manifest gets the data of entry o of the old one. */
int plan_as_before(struct merge *p, uint32_t i, uint32_t o);
