/*
 * Where a symbolic link leads, by the tree of the plan alone: links in it are followed, 40 of them as the kernel does.
 * What is not in the tree is walked as text: such a link dangles (or leads into what a merge finds), and may
 * still not climb out.
 */
#include "unpack/stage/stage_plan.h"

#include <errno.h>

#define HOPS_MAX 40

struct link_walk {
	const struct manifest *m;
	uint32_t at;	/* the deepest directory that is there */
	unsigned below; /* components below it that are not */
	unsigned hops;
};

enum walk_end { WALK_INSIDE, WALK_OUTWARD, WALK_LOOP };

static enum walk_end walk(struct link_walk *w, const char *target);

static enum walk_end step_up(struct link_walk *w)
{
	if (w->below)
		w->below--;
	else if (!w->at)
		return WALK_OUTWARD;
	else
		w->at = w->m->v[w->at].parent;
	return WALK_INSIDE;
}

static enum walk_end step_into(struct link_walk *w, struct slice name)
{
	int64_t child = w->below ? -ENOENT : manifest_child(w->m, w->at, name);

	if (child < 0 || w->m->v[child].type == NODE_FILE) {
		w->below++;
		return WALK_INSIDE;
	}
	if (w->m->v[child].type == NODE_LINK)
		return ++w->hops > HOPS_MAX ? WALK_LOOP :
					      walk(w, manifest_target(w->m, (uint32_t)child));
	w->at = (uint32_t)child;
	return WALK_INSIDE;
}

static enum walk_end walk(struct link_walk *w, const char *target)
{
	enum walk_end end = WALK_INSIDE;

	while (*target && end == WALK_INSIDE) {
		size_t n = strcspn(target, "/");
		struct slice name = { target, n };

		if (slice_is(name, ".."))
			end = step_up(w);
		else if (n && !slice_is(name, "."))
			end = step_into(w, name);
		target += n + (target[n] == '/');
	}
	return end;
}

int links_check(const struct manifest *m, uint32_t node, struct verdict *v)
{
	struct link_walk w = { .m = m, .at = m->v[node].parent, .hops = 1 };
	enum walk_end end = walk(&w, manifest_target(m, node));
	char path[PATH_BYTES_MAX + 1];

	if (end == WALK_OUTWARD)
		return refuse(v, "SYMLINK_OUTWARD", manifest_path(m, node, path),
			      "the link leads out of the tree");
	if (end == WALK_LOOP)
		return refuse(v, "SYMLINK_LOOP", manifest_path(m, node, path),
			      "the link leads through more than %d links", HOPS_MAX);
	return 0;
}
