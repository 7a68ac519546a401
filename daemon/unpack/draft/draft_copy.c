/*
 * draft_copy.c - records the real tree when a draft starts, and copies it where no overlay is
 * available.
 *
 * The copy has all files, directories and links that the tree's user can read; hard links become files of their own.
 * What cannot be read is neither in the copy nor in the record, so nobody has deleted it. It is measured before the first
 * byte is copied: DRAFT_TOO_LARGE.
 *
 * The tree is listed once, measured, then copied from the list. Files that appear later belong to
 * the real tree only; files that vanish or cannot be read are left out of copy and record alike. So
 * no difference between the two can be mistaken for an action of the agent. Hashing for the record
 * is bounded in bytes and time: a missing digest makes a later comparison stricter, not wrong.
 */

#include "base/clock.h"
#include "tree/tree_walker.h"
#include "unpack/commit/merge.h"
#include "unpack/draft/draft.h"

#define BLOCK_BYTES 512 /* of st_blocks, whatever the file system's are */

struct copying {
	struct draft_tree *tree;
	struct held from, to;
	uint64_t left; /* bytes that may still be copied */
	struct draft_begun *ret;
	bool *there;		  /* by entry: it is in the copy */
	struct sha256 *digests;	  /* by entry of a copy: of what was copied */
	uint64_t hashable, until; /* bytes that may still be hashed; until when */
	struct verdict *v;
};

/* --- copying ------------------------------------------------------------------------------------------------- */

/* Who may not read it has no copy, and what goes meanwhile is gone. */
static bool is_left_out(int r)
{
	return r == -EACCES || r == -EPERM || r == -ENOENT || r == -ELOOP || r == -ENOTDIR ||
	       r == -EINVAL || r == -EXDEV;
}

static int copy_one(struct copying *k, size_t i)
{
	const struct draft_entry *e = &k->tree->v[i];
	const char *path = draft_tree_path(k->tree, i);
	struct draft_sent sent = { .bytes = 0 };
	int r = -EINVAL;

	switch (draft_type(&e->id)) {
	case NODE_DIR:
		r = held_mkdir(&k->to, path, 0700);
		break;
	case NODE_LINK:
		r = draft_link_copy(&k->from, &k->to, path, &sent);
		break;
	case NODE_FILE:
		r = draft_file_copy(&k->from, &k->to, path, (mode_t)e->id.mode, k->left, &sent);
		break;
	}
	if (r == -EFBIG)
		return refuse(k->v, "DRAFT_TOO_LARGE", path,
			      "the tree became larger than a draft may be while it was copied");
	k->left -= sent.bytes;
	k->ret->bytes += sent.bytes;
	k->there[i] = r == 0;
	k->digests[i] = sent.digest;
	k->ret->left_out += r < 0;
	return r < 0 && !is_left_out(r) ? fail_with(k->v, r, path, "copying the tree") : 0;
}

static int copy_close_dirs(struct copying *k)
{
	int r = 0;

	for (size_t i = k->tree->n; r == 0 && i-- > 0;) {
		const struct stamp *id = &k->tree->v[i].id;

		if (k->there[i] && draft_type(id) == NODE_DIR)
			/* Children precede parents: a mode can deny access to what is below. */
			r = held_chmod(&k->to, draft_tree_path(k->tree, i),
				       (mode_t)id->mode & 07777);
	}
	return r < 0 ? fail_with(k->v, r, NULL, "setting modes") : 0;
}

static int check_size(const struct draft_tree *t, uint64_t max, struct verdict *v)
{
	uint64_t all = 0;

	for (size_t i = 0; i < t->n; i++)
		if (draft_type(&t->v[i].id) == NODE_FILE)
			all += t->v[i].id.size;
	return all > max ? refuse_over(v, "DRAFT_TOO_LARGE", NULL, max, all,
				       "bytes of the tree, which has to be copied") :
			   0;
}

/* --- the record ------------------------------------------------------------------------------------------------ */

static bool find_view(struct copying *k, size_t i, struct draft_base_entry *e)
{
	struct stat sb;

	e->has_view = k->there[i] && held_stat(&k->to, draft_tree_path(k->tree, i), &sb) == 0;
	if (e->has_view)
		draft_stamp(&sb, &e->view);
	return e->has_view;
}

static bool has_bytes(const struct draft_base_entry *e)
{
	int type = draft_type(&e->real);

	return type == NODE_FILE || type == NODE_LINK;
}

/* Of the real tree, so that a later write of the same bytes can be told from a change. */
static void find_digest(struct copying *k, size_t i, struct draft_base_entry *e)
{
	const char *path = draft_tree_path(k->tree, i);
	struct seen seen;

	if (!has_bytes(e) || e->real.size > k->hashable || clock_mono_ms() > k->until)
		return;
	k->hashable -= e->real.size;
	e->has_digest = seen_look(&k->from, path, &seen) == 0 &&
			seen.type == draft_type(&e->real) && seen_digest(&k->from, path, &seen);
	if (e->has_digest)
		e->digest = seen.digest;
}

static int write_base(struct copying *k, bool copied, int fd)
{
	struct summed_writer w;
	int r = 0;

	draft_base_begin(&w, fd, &(struct draft_head){ .generation = 1 });
	for (size_t i = 0; r == 0 && i < k->tree->n; i++) {
		struct draft_base_entry e = { .real = k->tree->v[i].id };

		if (!copied)
			find_digest(k, i, &e);
		else if (!find_view(k, i, &e))
			continue;
		else if (has_bytes(&e)) {
			e.has_digest = true;
			e.digest = k->digests[i];
		}
		r = draft_base_put(&w, draft_tree_path(k->tree, i), &e);
	}
	if (r == 0)
		r = draft_base_end(&w);
	buf_done(&w.out);
	return r < 0 ? fail_with(k->v, r, NULL, "the record of the draft") : 0;
}

static int copy_all(struct copying *k, uint64_t max)
{
	int r = check_size(k->tree, max, k->v);

	umask(0);
	for (size_t i = 0; r == 0 && i < k->tree->n; i++)
		r = copy_one(k, i);
	return r == 0 ? copy_close_dirs(k) : r;
}

/* The record is written also without a copy: it is what an overlay is compared with. */
int draft_begin(int real, int copy, int base, uint64_t max, uint64_t until, struct draft_begun *ret,
		struct verdict *v)
{
	struct draft_tree tree;
	struct copying k = { .tree = &tree,
			     .left = max,
			     .ret = ret,
			     .v = v,
			     .hashable = DRAFT_HASH_BYTES,
			     .until = clock_mono_ms() + DRAFT_HASH_MS };
	int r = draft_tree_read(&tree, real, until, v);

	*ret = (struct draft_begun){ .entries = tree.n };
	held_init(&k.from, real);
	held_init(&k.to, copy);
	k.there = xalloc((tree.n + 1) * sizeof(*k.there));
	k.digests = xalloc((copy < 0 ? 1 : tree.n + 1) * sizeof(*k.digests));
	if (r == 0 && copy >= 0)
		r = copy_all(&k, max);
	if (r == 0)
		r = write_base(&k, copy >= 0, base);
	free_each(k.there, k.digests);
	held_done(&k.from);
	held_done(&k.to);
	draft_tree_done(&tree);
	return r;
}

/* --- measuring --------------------------------------------------------------------------------------------------- */

struct measuring {
	struct draft_begun begun;
	struct verdict *v;
	uint64_t until;
};

static int add_size(void *ctx, const struct tree_entry *e)
{
	struct measuring *k = ctx;
	struct draft_begun *m = &k->begun;

	if (clock_mono_ms() > k->until)
		return refuse(k->v, "TIME_LIMIT", e->path, "measuring the draft took too long");
	m->entries++;
	m->bytes += (uint64_t)e->sb.st_blocks * BLOCK_BYTES;
	return 0;
}

static int measure_pass_over(void *ctx, const struct tree_entry *e _unused_,
			     enum walk_trouble what _unused_, int error _unused_)
{
	struct measuring *k = ctx;

	k->begun.left_out++;
	return 1;
}

int draft_measure(int dir, uint64_t until, struct draft_begun *ret, struct verdict *v)
{
	static const struct walk_calls calls = { .visit = add_size, .trouble = measure_pass_over };
	struct measuring k = { .v = v, .until = until };
	int r = tree_walker_run(dir, "", &calls, &k);

	*ret = k.begun;
	return r < 0 ? fail_with(v, r, NULL, "measuring the draft") : 0;
}
