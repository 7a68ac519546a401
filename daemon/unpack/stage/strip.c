/*
 * strip.c - removes leading directories of an archive's names, after all entries were read.
 *
 * Applies "strip" when the entries of a source have been read. With a number, the plan has cut so many
 * components off each name and reported those that lost all of them (stage_plan.h); if nothing at all is left, this
 * code refuses it. With STRIP_AUTO the names are unchanged, and if all are below one directory, its contents move up by
 * one into its place, in the stage and in the manifest, before links are made. An empty directory stays, and so does a
 * file.
 *
 * A fixed number is applied to each name while the archive is read (stage_plan.c). The automatic
 * form depends on all names. So the tree is staged whole, and renames move the contents of its
 * single top directory up. The directory is renamed to a reserved name first, because one of its
 * children can have its name. Links are not on disk yet: a missing source is an error only for what
 * must have been written.
 */
#include "unpack/stage/stage_plan.h"

#define ASIDE STAGE_PREFIX "-top" /* no entry has that name */

static int move_failed(struct plan *p, int r)
{
	return fail_with(p->v, r, NULL, "taking away the top directory");
}

static bool has_children(const struct manifest *m, uint32_t dir)
{
	for (uint32_t i = 1; i < m->n; i++)
		if (m->v[i].parent == dir)
			return true;
	return false;
}

/* The directory below which everything in dir is; 0: there is none. */
static uint32_t single_top(const struct manifest *m, uint32_t dir)
{
	uint32_t top = 0;

	for (uint32_t i = 1; i < m->n; i++) {
		if (m->v[i].parent != dir)
			continue;
		if (top)
			return 0;
		top = i;
	}
	return top && m->v[top].type == NODE_DIR && has_children(m, top) ? top : 0;
}

/* Links are made last, and with them the directories that nothing else is in. */
static bool is_staged(struct plan *p, uint32_t node, int r)
{
	const struct node *v = &p->m.v[node];

	return r != -ENOENT || (v->type != NODE_LINK && !v->implied);
}

/* In the stage, then in the manifest. */
static int strip_move(struct plan *p, uint32_t node, uint32_t dir, const char *name)
{
	char path[PATH_BYTES_MAX + 1], above[PATH_BYTES_MAX + 1];
	const char *into = manifest_path(&p->m, dir, above);
	_cleanup_(freep) char *to = NULL;
	int r = 0;

	to = xprintf("%s%s%s", into, *into ? "/" : "", name);
	if (p->writer.ops)
		r = p->writer.ops->move(p->writer.ctx, manifest_path(&p->m, node, path), to);
	if (r < 0 && is_staged(p, node, r))
		return move_failed(p, r);
	r = manifest_move(&p->m, node, dir, slice_of(name));
	if (r == -ENAMETOOLONG)
		return refuse(p->v, "PATH_TOO_LONG", to, "a path below this name exceeds %d bytes",
			      PATH_BYTES_MAX);
	return r < 0 ? refuse_over(p->v, "TOO_LARGE", to, UNPACK_NAMES_MAX, p->m.names.len,
				   "bytes of names") :
		       0;
}

/* Aside first: something in it may have its name. */
static int strip_move_up(struct plan *p, uint32_t top)
{
	uint32_t above = p->m.v[top].parent;
	char path[PATH_BYTES_MAX + 1];
	int r = strip_move(p, top, above, ASIDE);

	for (uint32_t i = 1; r == 0 && i < p->m.n; i++) {
		_cleanup_(freep) char *name = NULL;

		if (p->m.v[i].parent != top)
			continue;
		name = xstrdup(manifest_name(&p->m, i));
		r = strip_move(p, i, above, name);
	}
	if (r < 0)
		return r;
	p->m.v[top].gone = 1;
	if (p->writer.ops)
		r = p->writer.ops->rmdir(p->writer.ctx, manifest_path(&p->m, top, path));
	return r < 0 && is_staged(p, top, r) ? move_failed(p, r) : 0;
}

static int strip_auto(struct plan *p, uint64_t *stripped)
{
	int64_t dir = manifest_find(&p->m, slice_of(p->into));
	uint32_t top = dir < 0 ? 0 : single_top(&p->m, (uint32_t)dir);

	*stripped = top ? 1 : 0;
	return top ? strip_move_up(p, top) : 0;
}

int strip_finish(struct plan *p, int64_t strip, uint64_t *stripped)
{
	if (strip == STRIP_AUTO)
		return strip_auto(p, stripped);
	*stripped = (uint64_t)strip;
	if (p->cut && !p->kept)
		return refuse(p->v, "STRIPPED_ALL", NULL,
			      "nothing is left of the archive's %llu entries when %u leading "
			      "components of their names are taken away",
			      (unsigned long long)p->cut, (unsigned)strip);
	return 0;
}
