/*
 * draft_tree.c - lists a tree with stat data, for draft_compare.c and draft_copy.c.
 *
 * Nothing is left out but our own stage directories. A directory that cannot be read, or that is another file system, is
 * closed: what is in it is not known, and nothing is said of it. The list owns its text. Paths are valid as long as the
 * list is. DRAFT_ENTRIES_MAX bounds it.
 *
 * The agent can change the tree during the walk. Entries that vanish are dropped; a directory that
 * cannot be read or is on another device is marked closed, so that its content counts as unknown
 * and not as deleted. The ctime is stored even for files with several names, unlike in stamp_of: it
 * must show every change.
 */
#include "unpack/draft/draft.h"

#include "base/util.h"
#include "base/clock.h"
#include "tree/path_rules.h"
#include "tree/tree_manifest.h"
#include "tree/tree_walker.h"
#include "unpack/commit/merge.h"

struct draft_walk {
	struct draft_tree *t;
	struct verdict *v;
	uint64_t until;
	dev_t device;
};

void draft_stamp(const struct stat *sb, struct stamp *id)
{
	stamp_of(sb, id);
	id->ctime = time_ns(&sb->st_ctim);
}

int draft_type(const struct stamp *id)
{
	return seen_type((mode_t)id->mode);
}

static int draft_wants(void *ctx _unused_, const char *name)
{
	return strncmp(name, STAGE_PREFIX, strlen(STAGE_PREFIX)) != 0;
}

static int draft_visit(void *ctx, const struct tree_entry *e)
{
	struct draft_walk *w = ctx;
	struct draft_entry *d;

	if (w->t->n == DRAFT_ENTRIES_MAX)
		return refuse_over(w->v, "TOO_MANY_ENTRIES", NULL, DRAFT_ENTRIES_MAX, w->t->n + 1,
				   "entries in the tree");
	if (clock_mono_ms() > w->until)
		return refuse(w->v, "TIME_LIMIT", e->path, "the tree took too long");
	d = GROW(w->t->v, w->t->n);
	*d = (struct draft_entry){ .path = w->t->text.len };
	draft_stamp(&e->sb, &d->id);
	return buf_add(&w->t->text, e->path, strlen(e->path) + 1);
}

/* The directory entered last is the entry visited last. */
static void close_last(struct draft_walk *w)
{
	if (w->t->n)
		w->t->v[w->t->n - 1].closed = true;
}

static int draft_enter(void *ctx, const struct tree_entry *e _unused_, int fd)
{
	struct draft_walk *w = ctx;
	struct stat sb;

	if (fstat(fd, &sb) == 0 && sb.st_dev == w->device)
		return 0;
	close_last(w);
	return 1;
}

static int draft_on_trouble(void *ctx, const struct tree_entry *e, enum walk_trouble what,
			    int error)
{
	struct draft_walk *w = ctx;

	if (walk_gone(what, error) || what == WALK_PATH_TOO_LONG)
		return 0;
	if (error == -E2BIG)
		return refuse(w->v, "TOO_MANY_ENTRIES", e->path,
			      "the names of one directory are more than are read");
	if (error == -ENOMEM || error == -EMFILE || error == -ENFILE || !e->depth)
		return fail_with(w->v, error, e->path, "reading the tree");
	if (what != WALK_CANNOT_LOOK)
		close_last(w);
	return 1;
}

int draft_tree_read(struct draft_tree *t, int root, uint64_t until, struct verdict *v)
{
	static const struct walk_calls calls = { draft_wants, draft_visit, draft_enter, NULL,
						 draft_on_trouble };
	struct draft_walk w = { .t = t, .v = v, .until = until };
	struct stat sb;

	*t = (struct draft_tree){ .text.max = DRAFT_TEXT_MAX };
	if (fstat(root, &sb) < 0)
		return fail_with(v, -errno, NULL, "looking at the root");
	w.device = sb.st_dev;
	return tree_walker_run(root, "", &calls, &w);
}

void draft_tree_done(struct draft_tree *t)
{
	free(t->v);
	buf_done(&t->text);
}
