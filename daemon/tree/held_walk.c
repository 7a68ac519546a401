/* held_walk.c - the function held_walk of held_tree.h: any obstacle ends the walk. */
#include "tree/held_tree.h"

#include "base/util.h"
#include "tree/tree_walker.h"

struct held_visit {
	held_visit_fn visit;
	void *ctx;
	dev_t device;
};

static int visit(void *ctx, const struct tree_entry *e)
{
	struct held_visit *v = ctx;
	int r = v->visit(v->ctx, e->path, e->dir, e->leaf, &e->sb);

	return r == 0 ? e->sb.st_dev != v->device : r;
}

static int trouble(void *ctx _unused_, const struct tree_entry *e _unused_, enum walk_trouble what,
		   int error)
{
	return walk_gone(what, error) ? 0 : error;
}

int held_walk(int dir, held_visit_fn fn, void *ctx)
{
	static const struct walk_calls calls = { .visit = visit, .trouble = trouble };
	struct held_visit v = { .visit = fn, .ctx = ctx };
	struct stat sb;

	if (fstat(dir, &sb) < 0)
		return -errno;
	v.device = sb.st_dev;
	return tree_walker_run(dir, "", &calls, &v);
}
