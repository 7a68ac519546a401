/*
 * merge_old.c - the first half of a merge plan: which entries of the old generation are removed.
 *
 * match() pairs old entries with new ones, parents first. The removals are then planned in reverse,
 * children first, since a directory can be removed only when it is empty. An entry is removed only
 * if it still is what the old generation wrote: content that another process changed is never
 * removed.
 */
#include "unpack/commit/merge_plan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

int plan_step(struct merge *p, enum op_kind kind, const struct stamp *was, const struct stamp *will)
{
	struct op op = { .kind = kind, .path = slice_of(p->path) };

	if (was)
		op.was = *was;
	if (will)
		op.will = *will;
	return intent_log_add(&p->log, &op);
}

/* ctx of a walk that checks whether everything below is ours, and unchanged. */
struct purity {
	struct merge *p;
	uint32_t top;
};

static int visit_pure(void *ctx, const char *path, int dir _unused_, const char *leaf _unused_,
		      const struct stat *sb _unused_)
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

static bool pure(struct merge *p, uint32_t v)
{
	_cleanup_(closep) int own = -1;
	struct purity q = { p, v };
	char buf[PATH_BYTES_MAX + 1];
	int dir = held_dir(&p->target, slice_of(manifest_path(p->old, v, buf)));

	if (p->old->v[v].implied)
		return false;
	/* a descriptor of its own: the held one may be closed while others are opened */
	own = dir < 0 ? -1 : openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return own < 0 || held_walk(own, visit_pure, &q) == 0;
}

/* Finds the twin of each entry. If the new generation has a directory of ours as something else, everything in it goes
 * with it; in mode merge only if all of it is ours. */
static void match(struct merge *p)
{
	for (size_t i = 0; i < p->old_n; i++) {
		uint32_t v = p->old_order[i], parent = p->old->v[v].parent;
		struct was_entry *w = &p->was[v], *above = &p->was[parent];

		w->overturned = above->overturned;
		w->twin = -1;
		if (is_dir(p->new, above->twin))
			w->twin = manifest_child(p->new, (uint32_t)above->twin,
						 slice_of(manifest_name(p->old, v)));
		if (w->twin < 0)
			w->twin = -1;
		else if (is_dir(p->old, v) && !is_dir(p->new, w->twin))
			w->overturned = !p->keep || pure(p, v);
	}
}

static bool to_be_removed(const struct merge *p, uint32_t v)
{
	const struct was_entry *w = &p->was[v];

	if (w->twin >= 0)
		return is_dir(p->old, v) ? w->overturned : is_dir(p->new, w->twin);
	return w->overturned || !is_kept(p, p->path);
}

/* True if everything in the directory will be removed. */
static bool emptied(struct merge *p, uint32_t v)
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

static int remove_old(struct merge *p, uint32_t v)
{
	struct was_entry *w = &p->was[v];
	bool dir = is_dir(p->old, v);
	struct seen seen;
	int r = seen_look(&p->target, p->path, &seen);

	if (r < 0)
		return r;
	if (r > 0 || seen.type == SEEN_NOTHING) {
		w->fate = OLD_GONE;
		return 0;
	}
	if (dir && (p->old->v[v].implied || seen.type != NODE_DIR || !emptied(p, v)))
		return 0;
	if (!dir && !seen_same(&p->target, p->path, &seen, p->old, v)) {
		if (w->twin < 0)
			outcome_skip(p->out, p->path, "CONFLICT_MODIFIED");
		return 0;
	}
	w->fate = OLD_REMOVED;
	p->old->v[v].fresh = !dir;
	p->out->removed += w->twin < 0;
	return plan_step(p, dir ? OP_RMDIR : OP_REMOVE, &seen.id, NULL);
}

/* Plans the entries of a directory before the directory. */
int plan_removals(struct merge *p)
{
	int r = 0;

	match(p);
	for (size_t i = p->old_n; r == 0 && i-- > 0;) {
		uint32_t v = p->old_order[i];

		p->path = manifest_path(p->old, v, p->buf);
		if (to_be_removed(p, v))
			r = remove_old(p, v);
	}
	return r;
}
