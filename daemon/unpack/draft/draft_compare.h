/*
 * draft_compare.h - what a draft changes: three lists of paths are joined, the draft as it is seen, the real tree, and
 * what that was when the draft began (draft_base.h).
 *
 * A path is a change if its agent has touched it and it is not the same in both trees: type, permission bits, bytes of
 * files, text of links. It is a conflict if, besides, the real tree is not what it was. What only others changed is
 * neither: an overlay shows it, a copy does not have it.
 *
 * Touched is told by stat data: an overlay shows what it has not copied with those of the real tree, and ctime cannot be
 * set by anybody.
 *
 * Left out, and reported: FIFOs, sockets, devices, files that cannot be read or change while they are, names that no patch
 * may have, files whose holes or hard links are more than one job hashes (TOO_LARGE, base/os/sparse_file.h). Below a directory that is closed in either tree nothing is compared.
 *
 * The digest of a change set is the SHA-256 of its lines, in the order of the walk: for each path "- " and what it was,
 * then "+ " and what it is, one of both missing where there was or is nothing, each as in a manifest (tree_manifest.h)
 * but without the target of a link.
 */
#pragma once

#include "tree/held_tree.h"
#include "unpack/draft/draft_base.h"
#include "unpack/snapshot/lists.h"

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
int draft_compare(struct draft_trees *t, struct draft_changes *c, struct verdict *v);
/* The paths, a raw array of strings, are no conflicts any more: what others put there is replaced. Refused:
 * PATH_NOT_CHANGED. */
int draft_force(struct draft_changes *c, struct slice paths, struct verdict *v);
void draft_changes_done(struct draft_changes *c);
/* What the base is once all changes have been applied, into an empty file. */
int draft_base_after(const struct draft_trees *t, const struct draft_changes *c, int fd);
