/*
 * tree_walker.c - walks a tree with an explicit stack of open directories instead of recursion.
 *
 * A directory comes before its entries, and names are in the order of their bytes. The walker calls lstat for a name
 * and then the visitor. A directory is opened as that single name, never following a link. All names of a directory are
 * read before the first of them is visited. What is removed or replaced after that is reported as trouble, or visited
 * as what it is by then. Open at a time: one descriptor for each level of directories, and one to read.
 *
 * The tree can be changed and made arbitrarily deep by its user. So the stack has PATH_DEPTH_MAX +
 * 1 levels, each with one descriptor and the sorted names of its directory. The path buffer is
 * shared: each level stores the length of its own path, and the next name is written after it. An
 * entry's path is valid only during the call.
 */
#include "tree/tree_walker.h"

#include "base/util.h"
#include "tree/dir_names.h"
#include "tree/held_tree.h"

#include <fcntl.h>

/* A directory whose names are being visited. */
struct walk_level {
	int fd; /* of level 0 borrowed */
	struct dir_names names;
	size_t next;
	size_t n; /* bytes of its path in whole */
};

struct tree_walker {
	const struct walk_calls *calls;
	void *ctx;
	size_t start;				  /* of paths, in whole */
	char whole[PATH_BYTES_MAX + 1 + 255 + 1]; /* a directory's path, a slash, a name */
	unsigned depth;				  /* levels that are entered */
	struct walk_level levels[PATH_DEPTH_MAX + 1];
};

static int walk_on_trouble(struct tree_walker *w, const struct tree_entry *e,
			   enum walk_trouble what, int error)
{
	return w->calls->trouble(w->ctx, e, what, error);
}

/* --- one directory ---------------------------------------------------------------------------------------- */

static int walk_read_level(struct tree_walker *w, const struct tree_entry *e, struct walk_level *l)
{
	int r = dir_names_read(l->fd, w->calls->want, w->ctx, &l->names);

	if (r < 0)
		r = walk_on_trouble(w, e, WALK_CANNOT_READ, r);
	if (r > 0)
		l->next = l->names.n;
	return r;
}

static int may_enter(struct tree_walker *w, const struct tree_entry *e, int fd)
{
	return w->calls->enter ? w->calls->enter(w->ctx, e, fd) : 0;
}

/* Owns the descriptor until level_leave, except for the root's. */
static int walk_enter_level(struct tree_walker *w, const struct tree_entry *e, int fd)
{
	struct walk_level *l = &w->levels[w->depth++];

	*l = (struct walk_level){ .fd = fd,
				  .names.text.max = TREE_NAMES_MAX,
				  .n = strlen(w->whole) };
	return walk_read_level(w, e, l);
}

static void walk_leave_level(struct tree_walker *w)
{
	struct walk_level *l = &w->levels[--w->depth];

	dir_names_done(&l->names);
	if (w->depth)
		close(l->fd);
	if (w->calls->leave)
		w->calls->leave(w->ctx);
}

/* --- one name --------------------------------------------------------------------------------------------- */

static int walk_into(struct tree_walker *w, const struct tree_entry *e)
{
	_cleanup_(closep) int fd = -1;
	int r;

	if (e->depth > PATH_DEPTH_MAX)
		return walk_on_trouble(w, e, WALK_TOO_DEEP, -ELOOP);
	fd = held_open_dir_at(e->dir, e->leaf);
	if (fd < 0)
		return walk_on_trouble(w, e, WALK_CANNOT_OPEN, fd);
	r = may_enter(w, e, fd);
	return r == 0 ? walk_enter_level(w, e, TAKE_FD(fd)) : r;
}

/* The directory is at most PATH_BYTES_MAX long, a name NAME_MAX. Returns the length. */
static size_t path_set(struct tree_walker *w, const struct walk_level *l, const char *name)
{
	size_t n = l->n, more = strlen(name);

	if (n && w->whole[n - 1] != '/')
		w->whole[n++] = '/';
	memcpy(w->whole + n, name, more + 1);
	return n + more;
}

static int walk_next(struct tree_walker *w, struct walk_level *l)
{
	const char *name = dir_names_at(&l->names, l->next++);
	size_t n = path_set(w, l, name);
	struct tree_entry e = { w->whole + w->start, w->whole, l->fd, name, w->depth, { 0 } };
	int r;

	/* Before the length check: only an entry that still exists is reported as too long. */
	if (fstatat(l->fd, name, &e.sb, AT_SYMLINK_NOFOLLOW) < 0)
		return walk_on_trouble(w, &e, WALK_CANNOT_LOOK, -errno);
	if (n > PATH_BYTES_MAX)
		return walk_on_trouble(w, &e, WALK_PATH_TOO_LONG, -ENAMETOOLONG);
	r = w->calls->visit(w->ctx, &e);
	return r == 0 && S_ISDIR(e.sb.st_mode) ? walk_into(w, &e) : r;
}

/* --- the tree --------------------------------------------------------------------------------------------- */

static int walk_all(struct tree_walker *w, const struct tree_entry *top, int root)
{
	int r = may_enter(w, top, root);

	if (r == 0)
		r = walk_enter_level(w, top, root);
	while (r >= 0 && w->depth) {
		struct walk_level *l = &w->levels[w->depth - 1];

		if (l->next < l->names.n)
			r = walk_next(w, l);
		else
			walk_leave_level(w);
	}
	while (w->depth)
		walk_leave_level(w);
	return MIN(r, 0);
}

int tree_walker_run(int root, const char *above, const struct walk_calls *calls, void *ctx)
{
	const struct tree_entry top = { .path = "", .whole = above, .dir = -1, .leaf = "" };
	_cleanup_(freep) struct tree_walker *w = NULL;
	size_t n = strlen(above);

	if (n > PATH_BYTES_MAX)
		return MIN(calls->trouble(ctx, &top, WALK_PATH_TOO_LONG, -ENAMETOOLONG), 0);
	w = new0(struct tree_walker);
	w->calls = calls;
	w->ctx = ctx;
	w->start = n + (n && above[n - 1] != '/');
	memcpy(w->whole, above, n + 1);
	return walk_all(w, &top, root);
}
