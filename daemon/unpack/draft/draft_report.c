/*
 * draft_report.c - prints a change set as JSON and as a git patch.
 *
 * The patch has files up to SNAPSHOT_FILE_MAX and links; not directories, modes but the executable bit, nor what is in a
 * .git. What it lacks is in the list all the same, and is applied: the list and its digest are the change set, and the
 * patch shows it.
 *
 * The change set was computed before. The patch reads the files again, and a file whose digest is
 * no longer that of the change set is left out as CHANGING. So the patch never shows bytes that the
 * digest does not cover. Lists are bounded in entries and bytes; the totals are always exact.
 */
#include "unpack/draft/draft.h"

#include "unpack/snapshot/take.h"
#include "unpack/snapshot/tree_walk.h"

#include <fcntl.h>

#define LISTED_BYTES (512 * KIB)

/* --- the patch ---------------------------------------------------------------------------------------------- */

/* NULL: content is what the change set says. */
static const char *read_side(struct held *h, const char *path, const struct draft_side *s,
			     struct buf *content, struct diff_side *ret)
{
	struct index_entry e;
	const char *leaf;
	struct stat sb;
	int dir;

	*ret = (struct diff_side){ 0 };
	if (!s->type || s->type == NODE_DIR)
		return NULL;
	if (s->type == NODE_FILE && s->id.size > SNAPSHOT_FILE_MAX)
		return "TOO_LARGE";
	dir = held_parent(h, path, &leaf);
	if (dir < 0 || fstatat(dir, leaf, &sb, AT_SYMLINK_NOFOLLOW) < 0 ||
	    take_content(dir, leaf, &sb, SNAPSHOT_FILE_MAX, content, &e) < 0 ||
	    (e.type != INDEX_FILE && e.type != INDEX_LINK) || !sha256_equal(&e.digest, &s->digest))
		return "CHANGING";
	*ret = (struct diff_side){ content->data, content->len,
				   s->type == NODE_LINK ? PATCH_SYMLINK :
				   s->id.mode & S_IXUSR ? PATCH_EXECUTABLE :
							  PATCH_FILE };
	return NULL;
}

static int patch_one(struct draft_trees *t, struct draft_changes *c, const struct draft_change *d,
		     struct patchfile *out)
{
	_cleanup_(buf_done) struct buf was = { 0 }, will = { 0 };
	bool link = d->was.type == NODE_LINK || d->will.type == NODE_LINK;
	struct diff_side from, to;
	const char *why = git_path_reserved(d->path, link) ? "NAME_RESERVED" : NULL;
	int r = 0;

	why = why ? why : read_side(&t->in_real, d->path, &d->was, &was, &from);
	why = why ? why : read_side(&t->in_view, d->path, &d->will, &will, &to);
	if (!why)
		r = patchfile_put(out, d->path, &from, &to);
	if (r > 0)
		why = "PATCH_TOO_LARGE";
	if (why)
		omitted_add(&c->omitted, d->path, why);
	return MIN(r, 0);
}

int draft_patch(struct draft_trees *t, struct draft_changes *c, int fd, struct patch_stat *stat,
		uint64_t *bytes, struct verdict *v)
{
	struct patchfile out;
	int r = 0;

	patchfile_init(&out, fd, SNAPSHOT_PATCH_MAX);
	for (size_t i = 0; r == 0 && i < c->n; i++)
		r = patch_one(t, c, &c->v[i], &out);
	*stat = out.stat;
	*bytes = out.bytes;
	patchfile_done(&out);
	return r < 0 ? fail_with(v, r, NULL, "writing the patch") : 0;
}

/* --- the list --------------------------------------------------------------------------------------------------- */

static void put_side(struct jw *w, const char *key, const struct draft_side *s)
{
	static const char *const types[] = {
		[NODE_DIR] = "directory", [NODE_FILE] = "file", [NODE_LINK] = "link"
	};

	if (!s->type)
		return;
	jw_obj(w, key);
	jw_str(w, "type", types[s->type]);
	if (s->type != NODE_DIR) {
		jw_uint(w, "size", s->id.size);
		jw_str(w, "digest", SHA256_TEXT_OF(&s->digest));
	}
	jw_str(w, "mode", SHORT_TEXT(16, "%04o", (unsigned)s->id.mode & 07777));
	jw_end_obj(w);
}

static void report_put_change(struct jw *w, const struct draft_change *d)
{
	jw_obj(w, NULL);
	jw_str(w, "path", d->path);
	put_side(w, "from", &d->was);
	put_side(w, "to", &d->will);
	jw_end_obj(w);
}

/* The first of them. */
static void report_put_list(struct jw *w, const char *key, const struct draft_changes *c,
			    bool conflicts)
{
	size_t n = 0, began = buf_len(w->b);

	jw_arr(w, key);
	for (size_t i = 0; i < c->n && n < SKIPPED_MAX && buf_len(w->b) - began < LISTED_BYTES;
	     i++) {
		if (conflicts && !c->v[i].conflict)
			continue;
		n++;
		if (conflicts)
			jw_str(w, NULL, c->v[i].path);
		else
			report_put_change(w, &c->v[i]);
	}
	jw_end_arr(w);
}

void draft_report_conflicts(struct jw *w, const struct draft_changes *c)
{
	report_put_list(w, "conflicts", c, true);
	jw_uint(w, "conflictsTotal", c->conflicts);
}

void draft_report(struct jw *w, const struct draft_changes *c)
{
	jw_str(w, "patchDigest", SHA256_TEXT_OF(&c->digest));
	report_put_list(w, "changes", c, false);
	jw_uint(w, "changesTotal", c->n);
	jw_uint(w, "bytes", c->bytes);
	draft_report_conflicts(w, c);
	list_put(w, "omitted", &c->omitted.json, "omittedTotal", c->omitted.total);
}
