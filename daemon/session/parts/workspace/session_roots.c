/* session_roots.c - the directories that a session was given: its cwd and its additionalDirectories. Compared by their
 * text; who opens one does it as the session's user. */
#include "session/core/session_internal.h"

#include "base/limits.h"
#include "json/jstr.h"

/* The next component; empty at the end. */
static struct slice next_part(struct slice *path)
{
	struct slice part;

	while (path->n && *path->p == '/') {
		path->p++;
		path->n--;
	}
	part = *path;
	while (path->n && *path->p != '/') {
		path->p++;
		path->n--;
	}
	part.n -= path->n;
	return part;
}

/* How many components root has, if path is root or below it; rest is what comes then. Else -1. */
static int root_depth_of(struct slice root, struct slice path, struct slice *rest)
{
	for (int depth = 0;; depth++) {
		struct slice want = next_part(&root), before = path, have = next_part(&path);

		if (!want.n) {
			*rest = before;
			while (rest->n && *rest->p == '/') {
				rest->p++;
				rest->n--;
			}
			return depth;
		}
		if (!slice_eq(want, have))
			return -1;
	}
}

/* The deepest root wins: additionalDirectories can be in cwd, and in each other. */
struct best {
	int depth;
	char *root;
	struct slice below;
};

static void try_root(struct best *best, const char *root, struct slice path)
{
	struct slice rest;
	int depth = root_depth_of(slice_of(root), path, &rest);

	if (depth <= best->depth)
		return;
	best->depth = depth;
	best->below = rest;
	xstrset(&best->root, root);
}

/* The caller frees root; below borrows from path. */
bool session_root_of(const struct session *s, struct slice path, char **root, struct slice *below)
{
	struct slice dirs = slice_of(s->setup.additional_dirs);
	struct best best = { .depth = -1 };

	/* cwd first: of roots that are equally deep the first one wins. */
	try_root(&best, s->cwd, path);
	jarr_each(v, dirs) {
		_cleanup_(freep) char *dir = NULL;

		if (jstr_decode(v, PATH_BYTES_MAX, &dir) == 0)
			try_root(&best, dir, path);
	}
	*root = best.root;
	*below = best.below;
	return best.root != NULL;
}
