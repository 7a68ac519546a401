/*
 * merge_new.c - the second half of a merge plan: what happens to each entry of the new generation.
 *
 * Entries are visited parents first. So the state of the parent already determines whether the
 * target can contain the entry at all. plan_removals ran before: an entry with OLD_REMOVED counts
 * as absent. A deleted directory is created again only when something is added below it; until then
 * it is MERGE_PENDING. Mode changes come last, because a new mode could deny access to the entries
 * below.
 */
#include "unpack/commit/merge_plan.h"

#include <errno.h>

/* Adds a step that brings what is staged at the path. */
static int add_staged(struct merge *p, enum op_kind kind, const struct stamp *was)
{
	struct stamp will;
	struct stat sb;
	int r = held_stat(&p->staged, p->path, &sb);

	if (r < 0)
		return r;
	stamp_of(&sb, &will);
	return plan_step(p, kind, was, &will);
}

static int skip(struct merge *p, uint32_t i, const char *reason)
{
	outcome_skip(p->out, p->path, reason);
	p->new->v[i].gone = 1;
	return 0;
}

static int written(struct merge *p, uint32_t i, int r)
{
	p->new->v[i].fresh = 1;
	p->out->written++;
	return r;
}

static int unchanged(struct merge *p)
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

/* It was ours and is deleted. It stays ours, so that the next generation does not bring it back. */
static int deleted(struct merge *p, uint32_t i)
{
	outcome_skip(p->out, p->path, "DELETED");
	return plan_as_before(p, i, (uint32_t)p->is[i].twin);
}

/* An earlier generation wrote it, and this one may not replace it. */
static int kept(struct merge *p, uint32_t i)
{
	outcome_skip(p->out, p->path, "EXISTS");
	return plan_as_before(p, i, (uint32_t)p->is[i].twin);
}

/* Makes the deleted directories above what is added, the highest first. */
static int make_above(struct merge *p, uint32_t dir)
{
	struct node *v = &p->new->v[dir];
	char own[PATH_BYTES_MAX + 1];
	const char *path = p->path;
	struct stamp will = { .mode = S_IFDIR | 0700 | v->mode };
	int r;

	if (p->is[dir].state != MERGE_PENDING)
		return 0;
	r = make_above(p, v->parent);
	if (r < 0)
		return r;
	p->is[dir].state = MERGE_MADE;
	p->path = manifest_path(p->new, dir, own);
	r = written(p, dir, plan_step(p, OP_MKDIR, NULL, &will));
	p->path = path;
	return r;
}

static int add(struct merge *p, uint32_t i)
{
	int r = make_above(p, p->new->v[i].parent);

	p->is[i].state = MERGE_NEW;
	return r < 0 ? r : written(p, i, add_staged(p, OP_ADD, NULL));
}

static int nothing_there(struct merge *p, uint32_t i)
{
	int64_t o = p->is[i].twin;

	if (o < 0 || p->was[o].fate == OLD_REMOVED)
		return add(p, i);
	if (p->new->v[i].type != NODE_DIR)
		return deleted(p, i);
	p->is[i].state = MERGE_PENDING;
	return 0;
}

/* Both have a directory. Where it is ours and its mode changes, that is the last step. */
static int meet_dir(struct merge *p, uint32_t i, const struct seen *seen)
{
	struct node *v = &p->new->v[i];
	int64_t o = p->is[i].twin;
	const struct node *was = is_dir(p->old, o) && !p->old->v[o].implied ? &p->old->v[o] : NULL;
	uint64_t mode = seen->id.mode & 0777;

	p->is[i].state = MERGE_THERE;
	v->shared = !was;
	if (was && v->implied)
		v->mode = was->mode;
	if (!was || v->mode == was->mode || v->mode == mode)
		return unchanged(p);
	if (mode == was->mode) {
		p->is[i].chmod = (uint16_t)(seen->id.mode & 07777);
		return written(p, i, 0);
	}
	v->shared = 1;
	outcome_skip(p->out, p->path, "CONFLICT_MODIFIED");
	return 0;
}

static int meet_foreign(struct merge *p, uint32_t i, struct seen *seen)
{
	const struct node *v = &p->new->v[i];

	if (seen_same(&p->target, p->path, seen, p->new, i)) {
		p->new->v[i].gone = 1;
		return unchanged(p);
	}
	if ((v->mark & MARK_OVERWRITE) && seen->type != NODE_DIR)
		return written(p, i, add_staged(p, OP_EXCHANGE, &seen->id));
	return skip(p, i,
		    v->mark & (MARK_KEEP_EXISTING | MARK_KEEP_FOREIGN) ? "EXISTS" :
									 "CONFLICT_FOREIGN");
}

static int meet_own(struct merge *p, uint32_t i, struct seen *seen)
{
	const struct node *v = &p->new->v[i];
	uint32_t o = (uint32_t)p->is[i].twin;

	if (nodes_same(p->new, i, p->old, o))
		return unchanged(p);
	if (seen->type != NODE_DIR &&
	    ((v->mark & MARK_OVERWRITE) || seen_same(&p->target, p->path, seen, p->old, o)))
		return v->mark & MARK_KEEP_EXISTING ?
			       kept(p, i) :
			       written(p, i, add_staged(p, OP_EXCHANGE, &seen->id));
	if (seen_same(&p->target, p->path, seen, p->new, i))
		return unchanged(p);
	return skip(p, i, "CONFLICT_MODIFIED");
}

/* Plans an entry whose path is taken. */
static int meet(struct merge *p, uint32_t i, struct seen *seen)
{
	int64_t o = p->is[i].twin;
	bool ours = o >= 0 && !p->old->v[o].implied;

	if (p->new->v[i].type != NODE_DIR)
		return ours ? meet_own(p, i, seen) : meet_foreign(p, i, seen);
	if (seen->type == NODE_DIR)
		return meet_dir(p, i, seen);
	p->is[i].state = MERGE_BLOCKED;
	return skip(p, i, ours ? "CONFLICT_MODIFIED" : "CONFLICT_FOREIGN");
}

static int look_and_meet(struct merge *p, uint32_t i)
{
	int64_t o = p->is[i].twin;
	struct seen seen;
	int r;

	if (o >= 0 && p->was[o].fate == OLD_REMOVED)
		return nothing_there(p, i);
	r = seen_look(&p->target, p->path, &seen);
	if (r < 0)
		return r;
	if (r > 0) {
		p->is[i].state = MERGE_BLOCKED;
		return skip(p, i, "NOT_DIRECTORY");
	}
	return seen.type == SEEN_NOTHING ? nothing_there(p, i) : meet(p, i, &seen);
}

static int plan_entry(struct merge *p, uint32_t i)
{
	uint32_t parent = p->new->v[i].parent;
	int64_t above = p->is[parent].twin;

	p->is[i].twin = -1;
	if (is_dir(p->old, above))
		p->is[i].twin =
			manifest_child(p->old, (uint32_t)above, slice_of(manifest_name(p->new, i)));
	switch (p->is[parent].state) {
	case MERGE_NEW:
		p->is[i].state = MERGE_NEW;
		return written(p, i, 0);
	case MERGE_BLOCKED:
		p->is[i].state = MERGE_BLOCKED;
		return skip(p, i, "NOT_DIRECTORY");
	case MERGE_PENDING:
	case MERGE_MADE:
		return nothing_there(p, i);
	default:
		return look_and_meet(p, i);
	}
}

/* At the end: deleted directories without new entries, and the modes of those that stay. */
static int finish_dir(struct merge *p, uint32_t i)
{
	struct stamp was = { .mode = S_IFDIR | p->is[i].chmod }, will = was;

	p->path = manifest_path(p->new, i, p->buf);
	if (p->is[i].state == MERGE_PENDING)
		return deleted(p, i);
	if (!p->is[i].chmod)
		return 0;
	will.mode = (was.mode & ~(uint64_t)0777) | p->new->v[i].mode;
	return plan_step(p, OP_CHMOD, &was, &will);
}

int plan_new(struct merge *p)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->new_n; i++) {
		p->path = manifest_path(p->new, p->new_order[i], p->buf);
		r = plan_entry(p, p->new_order[i]);
	}
	for (size_t i = 0; r == 0 && i < p->new_n; i++)
		r = finish_dir(p, p->new_order[i]);
	return r;
}
