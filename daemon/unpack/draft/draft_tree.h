/*
 * draft_tree.h - a tree as a list: every path below a directory with its stat data, in the order of tree_walker.h. Drafts
 * compare two of them, the draft and the real tree.
 *
 * Nothing is left out but our own stage directories. A directory that cannot be read, or that is another file system, is
 * closed: what is in it is not known, and nothing is said of it. The list owns its text. Paths are valid as long as the
 * list is. DRAFT_ENTRIES_MAX bounds it.
 */
#pragma once

#include "base/buf.h"
#include "unpack/commit/intent_log.h"
#include "unpack/job/verdict.h"

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
/* A letter of enum node_type; SEEN_OTHER (compare.h); 0 for a stamp of nothing. */
int draft_type(const struct stamp *id);
/* TOO_MANY_ENTRIES, TIME_LIMIT. until: of clock_mono_ms. */
int draft_tree_read(struct draft_tree *t, int root, uint64_t until, struct verdict *v);
void draft_tree_done(struct draft_tree *t);
static inline const char *draft_tree_path(const struct draft_tree *t, size_t i)
{
	return t->text.data + t->v[i].path;
}
