/*
 * stage_plan.c - applies the rules to each entry of an archive, before and while it is written.
 *
 * Conflicts: a later file or link replaces an earlier one of that path; a directory may come again; anything else is
 * TYPE_CONFLICT. Modes: permission bits as they are, but a file is readable and a directory open to its owner; setuid
 * and setgid on files are refused, on directories dropped, with the sticky bit. Times beyond 1970 to 2106 are moved to
 * the nearer end.
 *
 * Symbolic links are only noted; plan_finish() finds where each would lead (links.c) and then has them made, after
 * everything else, so that nothing is ever written through one. One that leads out is refused, or left out (links).
 * Hard links are made to files of the same plan only.
 *
 * Every check precedes the effect it guards: name, type, limits, conflicts, then the manifest, then
 * the writer. Symbolic links are only recorded; plan_finish creates them after all files, so no
 * entry is ever written through a link. Times of directories are set last, since creating entries
 * changes them.
 *
 * Digests arrive from another thread with a delay. A node's type is checked again before its digest
 * is stored: a later entry can have replaced the file.
 */
#include "unpack/stage/stage_plan.h"

#include "base/util.h"
#include "unpack/commit/merge.h"

#define MTIME_MAX 4294967295LL
#define DIGESTS_EVERY 256 /* entries */

void plan_init(struct plan *p, const struct plan_limits *limits, struct stage_sink writer,
	       struct verdict *v)
{
	*p = (struct plan){ .limits = limits, .writer = writer, .v = v, .into = "" };
	manifest_init(&p->m, limits->entries);
	p->m.names.max = UNPACK_NAMES_MAX;
}

void plan_done(struct plan *p)
{
	manifest_done(&p->m);
	free(TAKE_PTR(p->late));
}

/* Passes to the writer, if there is one, and turns its error into a verdict. */
#define WRITE(p, what, op, ...)                                                                    \
	({                                                                                         \
		int _r = (p)->writer.ops ? (p)->writer.ops->op((p)->writer.ctx, __VA_ARGS__) : 0;  \
		_r < 0 ? fail_with((p)->v, _r, (p)->name.path, what) : 0;                          \
	})

/* --- names --------------------------------------------------------------------------------------------- */

static int plan_refuse_name(struct plan *p, const struct path_fault *f, struct slice raw)
{
	_cleanup_(freep) char *path = xstrndup(raw.p, MIN(raw.n, (size_t)PATH_BYTES_MAX));

	if (f->limit)
		return refuse_over(p->v, f->reason, path, f->limit, f->used, f->message);
	return refuse(p->v, f->reason, path, "%s", f->message);
}

/* 1: its whole name was cut away. */
static int plan_take_name(struct plan *p, struct slice raw)
{
	struct path_fault f;

	if (!checked_path_parse(raw, &p->limits->names, &p->name, &f))
		return plan_refuse_name(p, &f, raw);
	if (!checked_path_strip(&p->name, p->strip))
		return 1;
	if (!checked_path_under(&p->name, p->into, &p->limits->names, &f))
		return plan_refuse_name(p, &f, raw);
	return 0;
}

static int plan_put(struct plan *p, bool *existed)
{
	int64_t node = manifest_put(&p->m, p->name.path, existed);

	if (node == -ENOTDIR)
		return refuse(p->v, "TYPE_CONFLICT", p->name.path,
			      "the path leads through something that is no directory");
	if (node < 0 && p->m.n > p->limits->entries)
		return refuse_over(p->v, "TOO_MANY_ENTRIES", p->name.path, p->limits->entries,
				   p->m.n, "entries");
	if (node < 0)
		return refuse_over(p->v, "TOO_LARGE", p->name.path, UNPACK_NAMES_MAX,
				   p->m.names.len, "bytes of names");
	p->node = (uint32_t)node;
	return 0;
}

/* A node for what is no directory; removes what was there before. */
static int put_leaf(struct plan *p, enum node_type type)
{
	bool existed;
	int r;

	if (!p->name.n)
		return refuse(p->v, "NAME_EMPTY", "", "the path is that of the root");
	r = plan_put(p, &existed);
	if (r < 0)
		return r;
	if (existed && p->once)
		return refuse(p->v, "NAME_TWICE", p->name.path, "the archive has it twice");
	if (existed && p->m.v[p->node].type == NODE_DIR)
		return refuse(p->v, "TYPE_CONFLICT", p->name.path,
			      "the path is a directory elsewhere in the archive");
	if (existed && p->m.v[p->node].type == NODE_FILE)
		r = WRITE(p, "replacing a file", remove, p->name.path);
	p->m.v[p->node].type = (uint8_t)type;
	return r;
}

/* --- the types ------------------------------------------------------------------------------------------- */

static int64_t clamp_time(int64_t t)
{
	return t < 0 ? 0 : t > MTIME_MAX ? MTIME_MAX : t;
}

static int take_dir(struct plan *p, const struct source_entry *e)
{
	mode_t mode = (e->mode & 0777) | 0700;
	bool existed;
	int r = 0;

	p->node = 0;
	if (p->name.n)
		r = plan_put(p, &existed);
	if (r < 0)
		return r;
	if (p->m.v[p->node].type != NODE_DIR)
		return refuse(p->v, "TYPE_CONFLICT", p->name.path,
			      "the path is no directory elsewhere in the archive");
	p->m.v[p->node].mode = (uint16_t)mode;
	p->m.v[p->node].implied = 0;
	*GROW(p->late, p->nlate) = (struct plan_late){ clamp_time(e->mtime), p->node };
	return WRITE(p, "making a directory", dir, p->name.path, mode);
}

static int plan_take_file(struct plan *p, const struct source_entry *e)
{
	struct node *v;
	int r;

	if (e->size > p->limits->file_bytes)
		return refuse_over(p->v, "FILE_TOO_LARGE", p->name.path, p->limits->file_bytes,
				   e->size, "bytes of one file");
	if (e->size > p->limits->bytes - p->bytes)
		return refuse_over(p->v, "TOO_LARGE", p->name.path, p->limits->bytes,
				   p->bytes + e->size, "bytes of all files");
	r = put_leaf(p, NODE_FILE);
	if (r < 0)
		return r;
	p->bytes += e->size;
	p->left = e->size;
	p->mtime = clamp_time(e->mtime);
	v = &p->m.v[p->node];
	v->mode = (uint16_t)((e->mode & 0777) | 0400);
	v->size = e->size;
	sha256_begin(&p->sum);
	return WRITE(p, "making a file", create, p->name.path, v->mode);
}

static int take_symlink(struct plan *p, struct slice target)
{
	const char *fault = path_bytes_fault(target);
	int r;

	if (!target.n)
		return refuse(p->v, "NAME_EMPTY", p->name.path, "the link has no target");
	if (target.n > p->limits->names.path_bytes)
		return refuse_over(p->v, "PATH_TOO_LONG", p->name.path, p->limits->names.path_bytes,
				   target.n, "bytes of a link's target");
	if (fault)
		return refuse(p->v, fault, p->name.path, "the target of the link is no good name");
	if (target.p[0] == '/' && p->links == LINKS_REFUSE)
		return refuse(p->v, "SYMLINK_ABSOLUTE", p->name.path, "the link is absolute");
	r = put_leaf(p, NODE_LINK);
	if (r < 0)
		return r;
	p->m.v[p->node].mode = 0777;
	sha256_of(target, &p->m.v[p->node].digest);
	if (manifest_set_target(&p->m, p->node, target) < 0)
		return refuse_over(p->v, "TOO_LARGE", p->name.path, UNPACK_NAMES_MAX,
				   p->m.names.len, "bytes of names");
	return 0;
}

/* Takes the finished digests. A path may have another type by now. */
static void take_digests(struct plan *p)
{
	struct seed_place place;
	struct sha256 digest;
	uint32_t node;

	while (sums_take(p->sums, &node, &digest, &place)) {
		if (p->m.v[node].type == NODE_FILE)
			p->m.v[node].digest = digest;
		seed_placed(p->seed, node, place);
	}
}

void plan_sums(struct plan *p, struct sums *sums)
{
	if (p->sums) {
		sums_wait(p->sums);
		take_digests(p);
	}
	p->sums = sums;
}

static int link_to_file(struct plan *p, uint32_t from)
{
	char path[PATH_BYTES_MAX + 1];
	struct node was;
	int r = put_leaf(p, NODE_FILE);

	if (r < 0)
		return r;
	if (p->sums) { /* its digest may still be in the making */
		sums_wait(p->sums);
		take_digests(p);
	}
	seed_forget(p->seed, p->node);
	was = p->m.v[from];
	p->m.v[p->node].mode = was.mode;
	p->m.v[p->node].size = was.size;
	p->m.v[p->node].digest = was.digest;
	return WRITE(p, "making a hard link", hard, manifest_path(&p->m, from, path), p->name.path);
}

static int take_hardlink(struct plan *p, const struct source_entry *e)
{
	struct checked_path here = p->name, there;
	int64_t from;
	int r;

	if (e->size)
		return refuse(p->v, "HARDLINK_DATA", here.path,
			      "a hard link brings data of its own");
	{
		struct verdict ignored = { .kind = VERDICT_NONE }, *v = p->v;

		p->v = &ignored;
		r = plan_take_name(p, e->link);
		p->v = v;
	}
	there = p->name;
	p->name = here;
	if (r < 0)
		return refuse(p->v, "HARDLINK_OUTWARD", here.path,
			      "the hard link's target is no path inside the archive");
	from = r > 0 ? -ENOENT : manifest_find(&p->m, slice_of(there.path));
	if (from < 0)
		return refuse(p->v, "HARDLINK_MISSING", here.path,
			      "the hard link's target is not in the archive before it");
	if (p->m.v[from].type == NODE_DIR)
		return refuse(p->v, "TYPE_CONFLICT", here.path, "a hard link to a directory");
	if (strcmp(there.path, here.path) == 0)
		return 0;
	if (p->m.v[from].type == NODE_LINK) {
		_cleanup_(freep) char *target = xstrdup(manifest_target(&p->m, (uint32_t)from));

		return take_symlink(p, slice_of(target));
	}
	return link_to_file(p, (uint32_t)from);
}

/* --- entries --------------------------------------------------------------------------------------------- */

static const struct {
	enum source_entry_type type;
	const char *reason, *message;
} forbidden[] = {
	{ ENTRY_DEVICE, "DEVICE", "the entry is a device" },
	{ ENTRY_FIFO, "FIFO", "the entry is a FIFO" },
	{ ENTRY_SOCKET, "SOCKET", "the entry is a socket" },
};

static int check_type(struct plan *p, const struct source_entry *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(forbidden); i++)
		if (forbidden[i].type == e->type)
			return refuse(p->v, forbidden[i].reason, p->name.path, "%s",
				      forbidden[i].message);
	if (e->type == ENTRY_FILE && e->mode & (S_ISUID | S_ISGID))
		return refuse(p->v, "SETID", p->name.path, "the file is setuid or setgid");
	return 0;
}

/* The name is still whole. An entry for the root loses nothing. */
static int cut_away(struct plan *p, const struct source_entry *e)
{
	p->cut += p->name.n > 0;
	if (p->out && p->name.n && e->type != ENTRY_DIR)
		outcome_skip(p->out, p->name.path, "STRIPPED");
	return 1;
}

int plan_entry(struct plan *p, const struct source_entry *e)
{
	int r;

	if (++p->seen > p->limits->entries)
		return refuse_over(p->v, "TOO_MANY_ENTRIES", NULL, p->limits->entries, p->seen,
				   "entries");
	r = plan_take_name(p, e->path);
	if (r >= 0 && check_type(p, e) < 0)
		return -EBADMSG;
	if (r != 0)
		return r < 0 ? r : cut_away(p, e);
	p->kept++;
	if (p->name.slash_after && e->type != ENTRY_DIR)
		return refuse(p->v, "TYPE_CONFLICT", p->name.path,
			      "the name of a directory on something else");
	switch (e->type) {
	case ENTRY_DIR:
		return take_dir(p, e);
	case ENTRY_SYMLINK:
		return take_symlink(p, e->link);
	case ENTRY_HARDLINK:
		return take_hardlink(p, e);
	default:
		return plan_take_file(p, e);
	}
}

static void plan_hash(struct plan *p, const void *bytes, size_t n)
{
	if (p->sums) {
		sums_add(p->sums, bytes, n);
		return;
	}
	sha256_add(&p->sum, bytes, n);
	seed_add(p->seed, bytes, n);
}

int plan_data(struct plan *p, const void *bytes, size_t n)
{
	if (n > p->left)
		return refuse(p->v, "SIZE_MISMATCH", p->name.path,
			      "the file is longer than it said");
	p->left -= n;
	plan_hash(p, bytes, n);
	return WRITE(p, "writing a file", write, bytes, n);
}

int plan_hole(struct plan *p, uint64_t n)
{
	static const char zeros[64 * KIB];

	if (n > p->left)
		return refuse(p->v, "SPARSE_INVALID", p->name.path, "a hole ends behind the file");
	p->left -= n;
	if (p->sums && n)
		sums_add(p->sums, NULL, n);
	for (uint64_t left = p->sums ? 0 : n; left;) {
		size_t piece = (size_t)MIN(left, sizeof(zeros));

		plan_hash(p, zeros, piece);
		left -= piece;
	}
	return WRITE(p, "writing a file", hole, n);
}

int plan_end(struct plan *p)
{
	struct node *v = &p->m.v[p->node];
	struct stat sb;
	int r;

	if (p->left)
		return refuse(p->v, "SIZE_MISMATCH", p->name.path,
			      "the file is shorter than it said");
	if (p->sums) {
		sums_end(p->sums, p->node);
		if (p->seen % DIGESTS_EVERY == 0)
			take_digests(p);
	} else {
		sha256_end(&p->sum, &v->digest);
		seed_placed(p->seed, p->node, seed_end(p->seed));
	}
	r = WRITE(p, "finishing a file", finish, v->size, p->mtime, p->seed ? &sb : NULL);
	if (r == 0 && p->writer.ops)
		seed_written(p->seed, p->node, &sb);
	return r;
}

int plan_reserve(struct plan *p, uint64_t bytes)
{
	p->name.path[0] = '\0';
	return WRITE(p, "unpacking so much", reserve, bytes);
}

/* --- the end --------------------------------------------------------------------------------------------- */

static int make_links(struct plan *p)
{
	char path[PATH_BYTES_MAX + 1];
	int r = links_decide(p);

	for (uint32_t i = 1; r == 0 && i < p->m.n; i++)
		if (p->m.v[i].type == NODE_LINK && !p->m.v[i].gone)
			r = WRITE(p, "making a symbolic link", symlink,
				  manifest_path(&p->m, i, path), manifest_target(&p->m, i));
	return r;
}

int plan_finish(struct plan *p)
{
	char path[PATH_BYTES_MAX + 1];
	int r;

	p->name.path[0] = '\0';
	r = make_links(p);
	for (size_t i = 0; r == 0 && i < p->nlate; i++)
		if (!p->m.v[p->late[i].node].gone)
			r = WRITE(p, "setting a time", touch,
				  manifest_path(&p->m, p->late[i].node, path), p->late[i].mtime);
	return r;
}
