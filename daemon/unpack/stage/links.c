/*
 * Where a symbolic link leads, by the tree of the plan alone: links in it are followed, 40 of them as the kernel does.
 * What is not in the tree is walked as text: such a link dangles (or leads into what a merge finds), and may
 * still not climb out. An absolute link leads out, and with it all that leads over it.
 *
 * Which links are left out is decided while all of them are there: what leads over one of them is left out as well, in
 * whatever order they come.
 */
#include "unpack/stage/stage_plan.h"

#include "base/util.h"
#include "base/os/file.h"
#include "unpack/commit/merge.h"

#define HOPS_MAX 40

struct link_walk {
	const struct manifest *m;
	uint32_t at;	/* the deepest directory that is there */
	unsigned below; /* components below it that are not */
	unsigned hops;
};

enum walk_end { WALK_INSIDE, WALK_OUTWARD, WALK_LOOP };

static enum walk_end link_walk_text(struct link_walk *w, const char *target);

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

static enum walk_end link_step_into(struct link_walk *w, struct slice name)
{
	int64_t child = w->below ? -ENOENT : manifest_child(w->m, w->at, name);

	if (child < 0 || w->m->v[child].type == NODE_FILE) {
		w->below++;
		return WALK_INSIDE;
	}
	if (w->m->v[child].type == NODE_LINK)
		return ++w->hops > HOPS_MAX ?
			       WALK_LOOP :
			       link_walk_text(w, manifest_target(w->m, (uint32_t)child));
	w->at = (uint32_t)child;
	return WALK_INSIDE;
}

static enum walk_end link_walk_text(struct link_walk *w, const char *target)
{
	enum walk_end end = *target == '/' ? WALK_OUTWARD : WALK_INSIDE;

	while (*target && end == WALK_INSIDE) {
		size_t n = strcspn(target, "/");
		struct slice name = { target, n };

		if (slice_is(name, ".."))
			end = step_up(w);
		else if (n && !slice_is(name, "."))
			end = link_step_into(w, name);
		target += n + (target[n] == '/');
	}
	return end;
}

/* --- what becomes of them -------------------------------------------------------------------------------- */

struct outward {
	uint32_t node;
	const char *reason;
};

static bool is_link(const struct manifest *m, uint32_t node)
{
	return m->v[node].type == NODE_LINK && !m->v[node].gone;
}

/* NULL: it stays inside. */
static const char *outward_reason(const struct manifest *m, uint32_t node)
{
	struct link_walk w = { .m = m, .at = m->v[node].parent, .hops = 1 };
	const char *target = manifest_target(m, node);
	enum walk_end end = link_walk_text(&w, target);

	if (end == WALK_INSIDE)
		return NULL;
	return end == WALK_LOOP ? "SYMLINK_LOOP" :
	       *target == '/'	? "SYMLINK_ABSOLUTE" :
				  "SYMLINK_OUTWARD";
}

static int refuse_link(const struct plan *p, const struct outward *o)
{
	char buf[PATH_BYTES_MAX + 1], *path = manifest_path(&p->m, o->node, buf);

	if (strcmp(o->reason, "SYMLINK_LOOP") == 0)
		return refuse(p->v, o->reason, path, "the link leads through more than %d links",
			      HOPS_MAX);
	return refuse(p->v, o->reason, path, "the link leads out of the tree");
}

/* An absolute link to something below the target, as one from where it is. Others, and one that becomes too long, stay
 * as they are, and lead out. */
static int make_relative(struct plan *p, uint32_t node)
{
	const char *rest = path_below(manifest_target(&p->m, node), p->target);
	_cleanup_(buf_done) struct buf text = { .max = p->limits->names.path_bytes };

	if (!rest)
		return 0;
	for (uint32_t up = p->m.v[node].parent; up; up = p->m.v[up].parent)
		buf_puts(&text, "../");
	buf_puts(&text, *rest || buf_len(&text) ? rest : ".");
	if (text.failed)
		return 0;
	sha256_of(buf_slice(&text), &p->m.v[node].digest);
	return manifest_set_target(&p->m, node, buf_slice(&text)) < 0 ?
		       refuse_over(p->v, "TOO_LARGE", NULL, UNPACK_NAMES_MAX, p->m.names.len,
				   "bytes of names") :
		       0;
}

static void link_leave_out(struct plan *p, const struct outward *o)
{
	char path[PATH_BYTES_MAX + 1];

	if (p->out)
		outcome_skip(p->out, manifest_path(&p->m, o->node, path), o->reason);
	p->m.v[o->node].gone = 1;
}

/* A directory is there only if something that was replaced by such a link was written into it. */
static int leave_out_dir(struct plan *p, uint32_t node)
{
	char buf[PATH_BYTES_MAX + 1], *path = manifest_path(&p->m, node, buf);
	int r = p->writer.ops ? p->writer.ops->rmdir(p->writer.ctx, path) : 0;

	p->m.v[node].gone = 1;
	return r < 0 && r != -ENOENT ? fail_with(p->v, r, path, "removing a directory") : 0;
}

/* Of directories that no entry names. Nodes stand behind those that they are in. */
static int leave_out_empty(struct plan *p)
{
	_cleanup_(freep) bool *used = xalloc(p->m.n * sizeof(*used));
	int r = 0;

	for (uint32_t i = (uint32_t)p->m.n; r == 0 && i-- > 1;) {
		const struct node *v = &p->m.v[i];

		if (v->type == NODE_DIR && v->implied && !v->gone && !used[i])
			r = leave_out_dir(p, i);
		if (!v->gone)
			used[v->parent] = true;
	}
	return r;
}

int links_decide(struct plan *p)
{
	_cleanup_(freep) struct outward *out = NULL;
	size_t n = 0;
	int r = 0;

	for (uint32_t i = 1; r == 0 && p->links == LINKS_KEEP_INSIDE && i < p->m.n; i++)
		if (is_link(&p->m, i) && *manifest_target(&p->m, i) == '/')
			r = make_relative(p, i);
	for (uint32_t i = 1; r == 0 && i < p->m.n; i++) {
		struct outward o = { i, is_link(&p->m, i) ? outward_reason(&p->m, i) : NULL };

		if (o.reason && p->links == LINKS_REFUSE)
			r = refuse_link(p, &o);
		else if (o.reason)
			*GROW(out, n) = o;
	}
	for (size_t i = 0; r == 0 && i < n; i++)
		link_leave_out(p, &out[i]);
	return r == 0 && n ? leave_out_empty(p) : r;
}
