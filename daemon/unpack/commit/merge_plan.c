/*
 * merge_plan.c - plans a merge: which entries of the old generation are removed, then what happens to each entry of the
 * new one.
 *
 * Three parties are compared: what the generation before wrote (old), what the new one brings (staged), and what is in
 * the target now. What others made, changed or deleted there stays as it is, and is reported:
 *
 *	                      not in old                        in old
 *	tree: nothing         written                           DELETED (stays deleted, and stays ours, so that the
 *	                                                        next generation leaves it deleted too)
 *	tree: as old          -                                 written, or unchanged if new is as old; EXISTS with
 *	                                                        MARK_KEEP_EXISTING (and stays ours)
 *	tree: as new          unchanged (and not ours)          unchanged
 *	tree: anything else   CONFLICT_FOREIGN, or EXISTS with  CONFLICT_MODIFIED, unless new is as old: unchanged
 *	                      MARK_KEEP_EXISTING
 *	                      or MARK_KEEP_FOREIGN
 *	in old, not in new    -                                 as old: removed; changed: CONFLICT_MODIFIED; kept in
 *	                                                        mode merge
 *
 * "As" means: the same type, the same permission bits, the same bytes (size, then SHA-256, of files; text of links).
 * Times are never trusted: every user of the tree can set them. But where new is as old nothing has to be read, so a
 * generation costs one stat for each path and the reading of what it changes. A directory is shared with others as long
 * as both sides have one. It is ours, and removed when empty, only if we made it. If something else is in a directory's
 * place, everything below is NOT_DIRECTORY. MARK_OVERWRITE replaces what would be a conflict, but never a directory.
 *
 * merge_match() pairs old entries with new ones, parents first. The removals are then planned in reverse,
 * children first, since a directory can be removed only when it is empty. An entry is removed only
 * if it still is what the old generation wrote: content that another process changed is never
 * removed. In the second half an entry with OLD_REMOVED counts as absent.
 *
 * Entries of the new generation are visited parents first. So the state of the parent already determines whether the
 * target can contain the entry at all. A deleted directory is created again only when something is added below it; until
 * then it is MERGE_PENDING. Mode changes come last, because a new mode could deny access to the entries below.
 */
#include "unpack/commit/merge.h"

#include <fcntl.h>

/* --- what goes -------------------------------------------------------------------------------------------- */

/* ctx of a walk that checks whether everything below is ours, and unchanged. */
struct purity {
	struct merge *p;
	uint32_t top;
};

static int merge_visit_pure(void *ctx, const char *path, int dir _unused_,
			    const char *leaf _unused_, const struct stat *sb _unused_)
{
	struct purity *q = ctx;
	struct merge *p = q->p;
	char own[PATH_BYTES_MAX + 1], full[2 * PATH_BYTES_MAX + 2];
	struct seen seen;
	int64_t v;

	snprintf(full, sizeof(full), "%s/%s", manifest_path(p->old, q->top, own), path);
	v = manifest_find(p->old, slice_of(full));
	if (v < 0 || p->old->v[v].implied || seen_look(&p->target, full, &seen) != 0 ||
	    !seen_same(&p->target, full, &seen, p->old, (uint32_t)v))
		return -ECANCELED;
	return 0;
}

static bool merge_is_pure(struct merge *p, uint32_t v)
{
	_cleanup_(closep) int own = -1;
	struct purity q = { p, v };
	char buf[PATH_BYTES_MAX + 1];
	int dir = held_dir(&p->target, slice_of(manifest_path(p->old, v, buf)));

	if (p->old->v[v].implied)
		return false;
	/* a descriptor of its own: the held one may be closed while others are opened */
	own = dir < 0 ? -1 : openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return own < 0 || held_walk(own, merge_visit_pure, &q) == 0;
}

/* Finds the twin of each entry. If the new generation has a directory of ours as something else, everything in it goes
 * with it; in mode merge only if all of it is ours. */
static void merge_match(struct merge *p)
{
	for (size_t i = 0; i < p->old_n; i++) {
		uint32_t v = p->old_order[i], parent = p->old->v[v].parent;
		struct was_entry *w = &p->was[v], *above = &p->was[parent];

		w->overturned = above->overturned;
		w->twin = -1;
		if (merge_is_dir(p->new, above->twin))
			w->twin = manifest_child(p->new, (uint32_t)above->twin,
						 slice_of(manifest_name(p->old, v)));
		if (w->twin < 0)
			w->twin = -1;
		else if (merge_is_dir(p->old, v) && !merge_is_dir(p->new, w->twin))
			w->overturned = !p->keep || merge_is_pure(p, v);
	}
}

static bool merge_removes(const struct merge *p, uint32_t v)
{
	const struct was_entry *w = &p->was[v];

	if (w->twin >= 0)
		return merge_is_dir(p->old, v) ? w->overturned : merge_is_dir(p->new, w->twin);
	return w->overturned || !merge_is_kept(p, p->path);
}

/* True if everything in the directory will be removed. */
static bool merge_empties(struct merge *p, uint32_t v)
{
	int fd = held_dir(&p->target, slice_of(p->path));
	_cleanup_(held_list_closep) DIR *d = fd < 0 ? NULL : held_list(fd);
	struct dirent *e;

	if (!d)
		return false;
	while ((e = readdir(d))) {
		int64_t child = manifest_child(p->old, v, slice_of(e->d_name));

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (child < 0 || p->was[child].fate != OLD_REMOVED)
			return false;
	}
	return true;
}

static int merge_remove(struct merge *p, uint32_t v)
{
	struct was_entry *w = &p->was[v];
	bool dir = merge_is_dir(p->old, v);
	struct seen seen;
	int r = seen_look(&p->target, p->path, &seen);

	if (r < 0)
		return r;
	if (r > 0 || seen.type == SEEN_NOTHING) {
		w->fate = OLD_GONE;
		return 0;
	}
	if (dir && (p->old->v[v].implied || seen.type != NODE_DIR || !merge_empties(p, v)))
		return 0;
	if (!dir && !seen_same(&p->target, p->path, &seen, p->old, v)) {
		if (w->twin < 0)
			outcome_skip(p->out, p->path, "CONFLICT_MODIFIED");
		return 0;
	}
	w->fate = OLD_REMOVED;
	p->old->v[v].fresh = !dir;
	p->out->removed += w->twin < 0;
	return intent_log_put(&p->log, dir ? OP_RMDIR : OP_REMOVE, p->path, &seen.id, NULL);
}

/* Plans the entries of a directory before the directory. */
int plan_removals(struct merge *p)
{
	int r = 0;

	merge_match(p);
	for (size_t i = p->old_n; r == 0 && i-- > 0;) {
		uint32_t v = p->old_order[i];

		p->path = manifest_path(p->old, v, p->buf);
		if (merge_removes(p, v))
			r = merge_remove(p, v);
	}
	return r;
}

/* --- what comes ------------------------------------------------------------------------------------------- */

/* Adds a step that brings what is staged at the path. */
static int merge_add_staged(struct merge *p, enum op_kind kind, const struct stamp *was)
{
	struct stamp will;
	struct stat sb;
	int r = held_stat(&p->staged, p->path, &sb);

	if (r < 0)
		return r;
	stamp_of(&sb, &will);
	return intent_log_put(&p->log, kind, p->path, was, &will);
}

static int merge_skip(struct merge *p, uint32_t i, const char *reason)
{
	outcome_skip(p->out, p->path, reason);
	p->new->v[i].gone = 1;
	return 0;
}

static int merge_written(struct merge *p, uint32_t i, int r)
{
	p->new->v[i].fresh = 1;
	p->out->written++;
	return r;
}

static int merge_unchanged(struct merge *p)
{
	p->out->unchanged++;
	return 0;
}

int plan_as_before(struct merge *p, uint32_t i, uint32_t o)
{
	const struct node *from = &p->old->v[o];
	struct node *to = &p->new->v[i];

	to->type = from->type;
	to->mode = from->mode;
	to->size = from->size;
	to->digest = from->digest;
	to->implied = 0;
	to->shared = from->implied;
	return from->type == NODE_LINK ?
		       manifest_set_target(p->new, i, slice_of(manifest_target(p->old, o))) :
		       0;
}

/* What an earlier generation wrote stays ours and as it is: it was deleted since (DELETED), and the next generation must
 * not bring it back; or this one may not replace it (EXISTS). */
static int merge_leave(struct merge *p, uint32_t i, const char *reason)
{
	outcome_skip(p->out, p->path, reason);
	return plan_as_before(p, i, (uint32_t)p->is[i].twin);
}

/* Makes the deleted directories above what is added, the highest first. */
static int merge_make_above(struct merge *p, uint32_t dir)
{
	struct node *v = &p->new->v[dir];
	char own[PATH_BYTES_MAX + 1];
	const char *path = p->path;
	struct stamp will = { .mode = S_IFDIR | 0700 | v->mode };
	int r;

	if (p->is[dir].state != MERGE_PENDING)
		return 0;
	r = merge_make_above(p, v->parent);
	if (r < 0)
		return r;
	p->is[dir].state = MERGE_MADE;
	p->path = manifest_path(p->new, dir, own);
	r = merge_written(p, dir, intent_log_put(&p->log, OP_MKDIR, p->path, NULL, &will));
	p->path = path;
	return r;
}

static int merge_add(struct merge *p, uint32_t i)
{
	int r = merge_make_above(p, p->new->v[i].parent);

	p->is[i].state = MERGE_NEW;
	return r < 0 ? r : merge_written(p, i, merge_add_staged(p, OP_ADD, NULL));
}

static int merge_meet_nothing(struct merge *p, uint32_t i)
{
	int64_t o = p->is[i].twin;

	if (o < 0 || p->was[o].fate == OLD_REMOVED)
		return merge_add(p, i);
	if (p->new->v[i].type != NODE_DIR)
		return merge_leave(p, i, "DELETED");
	p->is[i].state = MERGE_PENDING;
	return 0;
}

/* Both have a directory. Where it is ours and its mode changes, that is the last step. */
static int merge_meet_dir(struct merge *p, uint32_t i, const struct seen *seen)
{
	struct node *v = &p->new->v[i];
	int64_t o = p->is[i].twin;
	const struct node *was = merge_is_dir(p->old, o) && !p->old->v[o].implied ? &p->old->v[o] :
										    NULL;
	uint64_t mode = seen->id.mode & 0777;

	p->is[i].state = MERGE_THERE;
	v->shared = !was;
	if (was && v->implied)
		v->mode = was->mode;
	if (!was || v->mode == was->mode || v->mode == mode)
		return merge_unchanged(p);
	if (mode == was->mode) {
		p->is[i].chmod = (uint16_t)(seen->id.mode & 07777);
		return merge_written(p, i, 0);
	}
	v->shared = 1;
	outcome_skip(p->out, p->path, "CONFLICT_MODIFIED");
	return 0;
}

static int merge_meet_foreign(struct merge *p, uint32_t i, struct seen *seen)
{
	const struct node *v = &p->new->v[i];

	if (seen_same(&p->target, p->path, seen, p->new, i)) {
		p->new->v[i].gone = 1;
		return merge_unchanged(p);
	}
	if ((v->mark & MARK_OVERWRITE) && seen->type != NODE_DIR)
		return merge_written(p, i, merge_add_staged(p, OP_EXCHANGE, &seen->id));
	return merge_skip(p, i,
			  v->mark & (MARK_KEEP_EXISTING | MARK_KEEP_FOREIGN) ? "EXISTS" :
									       "CONFLICT_FOREIGN");
}

static int merge_meet_own(struct merge *p, uint32_t i, struct seen *seen)
{
	const struct node *v = &p->new->v[i];
	uint32_t o = (uint32_t)p->is[i].twin;

	if (nodes_same(p->new, i, p->old, o))
		return merge_unchanged(p);
	if (seen->type != NODE_DIR &&
	    ((v->mark & MARK_OVERWRITE) || seen_same(&p->target, p->path, seen, p->old, o)))
		return v->mark & MARK_KEEP_EXISTING ?
			       merge_leave(p, i, "EXISTS") :
			       merge_written(p, i, merge_add_staged(p, OP_EXCHANGE, &seen->id));
	if (seen_same(&p->target, p->path, seen, p->new, i))
		return merge_unchanged(p);
	return merge_skip(p, i, "CONFLICT_MODIFIED");
}

/* Plans an entry whose path is taken. */
static int merge_meet(struct merge *p, uint32_t i, struct seen *seen)
{
	int64_t o = p->is[i].twin;
	bool ours = o >= 0 && !p->old->v[o].implied;

	if (p->new->v[i].type != NODE_DIR)
		return ours ? merge_meet_own(p, i, seen) : merge_meet_foreign(p, i, seen);
	if (seen->type == NODE_DIR)
		return merge_meet_dir(p, i, seen);
	p->is[i].state = MERGE_BLOCKED;
	return merge_skip(p, i, ours ? "CONFLICT_MODIFIED" : "CONFLICT_FOREIGN");
}

static int merge_look(struct merge *p, uint32_t i)
{
	int64_t o = p->is[i].twin;
	struct seen seen;
	int r;

	if (o >= 0 && p->was[o].fate == OLD_REMOVED)
		return merge_meet_nothing(p, i);
	r = seen_look(&p->target, p->path, &seen);
	if (r < 0)
		return r;
	if (r > 0) {
		p->is[i].state = MERGE_BLOCKED;
		return merge_skip(p, i, "NOT_DIRECTORY");
	}
	return seen.type == SEEN_NOTHING ? merge_meet_nothing(p, i) : merge_meet(p, i, &seen);
}

static int merge_plan_entry(struct merge *p, uint32_t i)
{
	uint32_t parent = p->new->v[i].parent;
	int64_t above = p->is[parent].twin;

	p->is[i].twin = -1;
	if (merge_is_dir(p->old, above))
		p->is[i].twin =
			manifest_child(p->old, (uint32_t)above, slice_of(manifest_name(p->new, i)));
	switch (p->is[parent].state) {
	case MERGE_NEW:
		p->is[i].state = MERGE_NEW;
		return merge_written(p, i, 0);
	case MERGE_BLOCKED:
		p->is[i].state = MERGE_BLOCKED;
		return merge_skip(p, i, "NOT_DIRECTORY");
	case MERGE_PENDING:
	case MERGE_MADE:
		return merge_meet_nothing(p, i);
	default:
		return merge_look(p, i);
	}
}

/* At the end: deleted directories without new entries, and the modes of those that stay. */
static int merge_finish_dir(struct merge *p, uint32_t i)
{
	struct stamp was = { .mode = S_IFDIR | p->is[i].chmod }, will = was;

	p->path = manifest_path(p->new, i, p->buf);
	if (p->is[i].state == MERGE_PENDING)
		return merge_leave(p, i, "DELETED");
	if (!p->is[i].chmod)
		return 0;
	will.mode = (was.mode & ~(uint64_t)0777) | p->new->v[i].mode;
	return intent_log_put(&p->log, OP_CHMOD, p->path, &was, &will);
}

int plan_new(struct merge *p)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->new_n; i++) {
		p->path = manifest_path(p->new, p->new_order[i], p->buf);
		r = merge_plan_entry(p, p->new_order[i]);
	}
	for (size_t i = 0; r == 0 && i < p->new_n; i++)
		r = merge_finish_dir(p, p->new_order[i]);
	return r;
}
