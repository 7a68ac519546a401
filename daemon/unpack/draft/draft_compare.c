/*
 * draft_compare.c - joins three sorted lists (draft, real tree, record of the start) into the
 * change set of a draft.
 *
 * A path is a change if its agent has touched it and it is not the same in both trees: type, permission bits, bytes of
 * files, text of links. It is a conflict if, besides, the real tree is not what it was. What only others changed is
 * neither: an overlay shows it, a copy does not have it.
 *
 * Touched is told by stat data: an overlay shows what it has not copied with those of the real tree, and ctime cannot be
 * set by anybody.
 *
 * Left out, and reported: FIFOs, sockets, devices, files that cannot be read or change while they are, names that no patch
 * may have, files whose holes or hard links are more than one job hashes (TOO_LARGE, base/os/sparse_file.h). Below a directory that is closed in either tree nothing is compared.
 *
 * The digest of a change set is the SHA-256 of its lines, in the order of the walk: for each path "- " and what it was,
 * then "+ " and what it is, one of both missing where there was or is nothing, each as in a manifest (tree_manifest.h)
 * but without the target of a link.
 *
 * All three lists are in the order of index_compare, so one pass finds each path in all of them.
 * Stat data decide what the agent touched; digests are computed only for those paths. Paths below a
 * directory that is closed in either tree are skipped, not reported as deleted. The changes stay
 * sorted: draft_force bisects them, and draft_base_after merges them with the old record.
 */
#include "unpack/draft/draft.h"

#include "base/util.h"
#include "base/limits.h"
#include "base/os/sparse_file.h"
#include "base/os/file.h"
#include "json/jstr.h"
#include "unpack/commit/merge.h"

int draft_trees_open(struct draft_trees *t, int view, int real, int base, bool overlay,
		     uint64_t until, struct verdict *v)
{
	int r;

	*t = (struct draft_trees){ .overlay = overlay };
	held_init(&t->in_view, view);
	held_init(&t->in_real, real);
	r = draft_base_read(&t->base, base);
	if (r < 0)
		return r == -EBADMSG ? fail_as(v, "STATE_DAMAGED", NULL,
					       "the record of the draft is damaged") :
				       fail_with(v, r, NULL, "the record of the draft");
	r = draft_tree_read(&t->view, view, until, v);
	return r < 0 ? r : draft_tree_read(&t->real, real, until, v);
}

void draft_trees_close(struct draft_trees *t)
{
	held_done(&t->in_view);
	held_done(&t->in_real);
	draft_tree_done(&t->view);
	draft_tree_done(&t->real);
	draft_base_done(&t->base);
}

void draft_changes_done(struct draft_changes *c)
{
	free(c->v);
	omitted_done(&c->omitted);
}

/* --- one path in all three --------------------------------------------------------------------------------- */

/* NULL: it is not there. */
struct draft_triple {
	const char *path;
	const struct draft_entry *view, *real;
	const struct draft_base_entry *base;
};

struct triples {
	const struct draft_trees *t;
	size_t view, real, base;
	const char *closed; /* nothing below it is compared */
};

static bool triple_next(struct triples *s, struct draft_triple *ret)
{
	const struct draft_trees *t = s->t;
	const char *v = s->view < t->view.n ? draft_tree_path(&t->view, s->view) : NULL;
	const char *r = s->real < t->real.n ? draft_tree_path(&t->real, s->real) : NULL;
	const char *b = s->base < t->base.n ? draft_base_path(&t->base, s->base) : NULL;

	*ret = (struct draft_triple){ .path = index_first(v, index_first(r, b)) };
	if (!ret->path)
		return false;
	if (v && strcmp(v, ret->path) == 0)
		ret->view = &t->view.v[s->view++];
	if (r && strcmp(r, ret->path) == 0)
		ret->real = &t->real.v[s->real++];
	if (b && strcmp(b, ret->path) == 0)
		ret->base = &t->base.v[s->base++];
	return true;
}

/* The next one that is compared. */
static bool triple_take(struct triples *s, struct draft_triple *ret)
{
	while (triple_next(s, ret)) {
		if (s->closed && path_below(ret->path, s->closed))
			continue;
		s->closed = (ret->view && ret->view->closed) || (ret->real && ret->real->closed) ?
				    ret->path :
				    NULL;
		return true;
	}
	return false;
}

/* --- what has happened to it --------------------------------------------------------------------------------- */

static bool same_stamps(const struct stamp *a, const struct stamp *b, bool inode)
{
	if (draft_type(a) == NODE_DIR || draft_type(b) == NODE_DIR)
		return a->mode == b->mode;
	return a->mode == b->mode && a->size == b->size && a->mtime == b->mtime &&
	       a->ctime == b->ctime && (!inode || a->ino == b->ino);
}

static const struct stamp nothing;

static const struct stamp *stamp_or_nothing(const struct draft_entry *e)
{
	return e ? &e->id : &nothing;
}

static bool triple_is_touched(const struct draft_trees *t, const struct draft_triple *p)
{
	const struct stamp *view = stamp_or_nothing(p->view), *real = stamp_or_nothing(p->real);

	/* inodes of an overlay are not always those of the real tree */
	if (t->overlay && same_stamps(view, real, false))
		return false;
	if (p->base && p->base->has_view)
		return !same_stamps(view, &p->base->view, true);
	return t->overlay || p->view;
}

static bool same_side(const struct draft_side *a, const struct draft_side *b)
{
	if (a->type != b->type || a->id.mode != b->id.mode)
		return a->type == NODE_LINK && b->type == NODE_LINK &&
		       sha256_equal(&a->digest, &b->digest);
	if (!a->type || a->type == NODE_DIR)
		return true;
	return a->id.size == b->id.size && sha256_equal(&a->digest, &b->digest);
}

/* The real tree has what it had: by its bytes, whatever its times say, unless they were never read. */
static bool is_as_before(const struct draft_change *c)
{
	const struct draft_base_entry *b = c->base;

	if (!b || !draft_type(&b->real))
		return !c->was.type;
	if (c->was.type && same_stamps(&c->was.id, &b->real, true))
		return true;
	if (!b->has_digest)
		return false;
	return same_side(&c->was, &(struct draft_side){ draft_type(&b->real), b->real, b->digest });
}

/* What is at the path now; NULL: it can be told. left: of bytes that the disk does not have. */
static const char *side_look(struct held *h, const char *path, const struct draft_entry *e,
			     uint64_t *left, struct draft_side *side)
{
	struct seen seen;
	struct stat sb;

	*side = (struct draft_side){ 0 };
	if (!e)
		return NULL;
	if (seen_look(h, path, &seen) != 0 || held_stat(h, path, &sb) < 0)
		return "CHANGING";
	if (seen.type == SEEN_OTHER)
		return S_ISFIFO(sb.st_mode) ? "FIFO" : S_ISSOCK(sb.st_mode) ? "SOCKET" : "DEVICE";
	side->type = seen.type;
	draft_stamp(&sb, &side->id);
	if (side->type == NODE_DIR) {
		side->id.size = 0;
		return NULL;
	}
	if (side->type == NODE_FILE && !sparse_afford(left, &sb))
		return "TOO_LARGE";
	if (!seen_digest(h, path, &seen))
		return "UNREADABLE";
	side->digest = seen.digest;
	return NULL;
}

static void take_change(struct draft_trees *t, struct draft_changes *c,
			const struct draft_triple *p)
{
	const char *why = path_bytes_fault(slice_of(p->path));
	struct draft_change d = { .path = p->path, .base = p->base };

	why = why ? why : side_look(&t->in_real, p->path, p->real, &c->extra_left, &d.was);
	why = why ? why : side_look(&t->in_view, p->path, p->view, &c->extra_left, &d.will);
	if (why) {
		omitted_add(&c->omitted, p->path, why);
		return;
	}
	if (same_side(&d.was, &d.will))
		return;
	/* By content where a digest exists: a rewrite of the same bytes is not a conflict. */
	d.conflict = !is_as_before(&d);
	c->conflicts += d.conflict;
	c->bytes += d.will.type == NODE_FILE ? d.will.id.size : 0;
	*GROW(c->v, c->n) = d;
}

/* --- all of them ------------------------------------------------------------------------------------------------ */

static void change_add_line(struct sha256_stream *sum, char sign, const char *path,
			    const struct draft_side *s)
{
	char hex[SHA256_HEX] = "-", line[2 * SHA256_HEX];

	if (!s->type)
		return;
	if (s->type != NODE_DIR)
		sha256_hex(&s->digest, hex);
	snprintf(line, sizeof(line), "%c %c %04o %llu %s ", sign, s->type,
		 (unsigned)s->id.mode & 07777, (unsigned long long)s->id.size, hex);
	sha256_add(sum, line, strlen(line));
	sha256_add(sum, path, strlen(path));
	sha256_add(sum, "\n", 1);
}

static void add_digest(struct draft_changes *c)
{
	struct sha256_stream sum;

	sha256_begin(&sum);
	for (size_t i = 0; i < c->n; i++) {
		change_add_line(&sum, '-', c->v[i].path, &c->v[i].was);
		change_add_line(&sum, '+', c->v[i].path, &c->v[i].will);
	}
	sha256_end(&sum, &c->digest);
}

void draft_compare(struct draft_trees *t, struct draft_changes *c)
{
	struct triples s = { .t = t };
	struct draft_triple p;

	*c = (struct draft_changes){ .extra_left = TREE_EXTRA_MAX };
	while (triple_take(&s, &p))
		if (triple_is_touched(t, &p))
			take_change(t, c, &p);
	add_digest(c);
}

/* --- conflicts that are wanted ------------------------------------------------------------------------------ */

static int change_by_path(const void *path, const void *change)
{
	return index_compare(path, ((const struct draft_change *)change)->path);
}

int draft_force(struct draft_changes *c, struct slice paths, struct verdict *v)
{
	jarr_each(item, paths) {
		_cleanup_(freep) char *path = NULL;
		struct draft_change *d = NULL;

		if (jstr_decode(item, PATH_BYTES_MAX, &path) == 0 && c->n)
			d = bsearch(path, c->v, c->n, sizeof(*c->v), change_by_path);
		if (!d)
			return refuse(v, "PATH_NOT_CHANGED", path,
				      "force names a path that the draft does not change");
		c->conflicts -= d->conflict;
		d->conflict = false;
	}
	return 0;
}

/* --- the base afterwards ---------------------------------------------------------------------------------------- */

/* The draft has what the real tree now has, too. Where a copy has nothing, that is noted: others may put something there. */
static struct draft_base_entry entry_after(const struct draft_trees *t,
					   const struct draft_change *c)
{
	struct draft_base_entry e = { .has_view = !t->overlay,
				      .real = c->will.id,
				      .view = c->will.id,
				      .has_digest = c->will.type && c->will.type != NODE_DIR,
				      .digest = c->will.digest };

	return e;
}

int draft_base_after(const struct draft_trees *t, const struct draft_changes *c, int fd)
{
	const struct draft_head head = { t->base.head.generation + 1, c->n };
	struct summed_writer w;
	size_t i = 0, k = 0;
	int r = 0;

	draft_base_begin(&w, fd, &head);
	while (r == 0 && (i < t->base.n || k < c->n)) {
		const char *old = i < t->base.n ? draft_base_path(&t->base, i) : NULL;
		const char *new = k < c->n ? c->v[k].path : NULL;
		const char *path = index_first(old, new);
		struct draft_base_entry e = { 0 };

		if (old && strcmp(old, path) == 0)
			e = t->base.v[i++];
		if (new &&strcmp(new, path) == 0)
			e = entry_after(t, &c->v[k++]);
		if (draft_type(&e.real) || e.has_view)
			r = draft_base_put(&w, path, &e);
	}
	if (r == 0)
		r = draft_base_end(&w);
	buf_done(&w.out);
	return r;
}
