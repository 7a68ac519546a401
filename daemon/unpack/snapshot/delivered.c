/*
 * delivered.c - the list of a delivery, made of the manifests that the extraction has, and its folding into the record of
 * a tree.
 *
 * Two steps. The extraction writes the list of all files and links that it writes and removes (delivered_write), before
 * the first of them changes: "delivered" in the snapshot directory. Then a job of its own (delivered_fold) reads them
 * from the tree, and folds them into every recorded state: the index holds them as they were delivered, and so does
 * "turn-N.delivered", where N is the last turn of the index, for all states before the end of that turn (index.h). No
 * turn is lost, and no state has to be written again. What was not written or removed, because others had changed it,
 * stays the agent's.
 *
 * A delivery during the walk of the first baseline writes its list, too: the walk may have left a directory before. So a
 * baseline removes only the list that was there when it began.
 *
 * A path that is not as the list says any more has been changed by somebody since (or the extraction was undone): it is
 * left as the record has it. So a list may be folded at any later time, and twice. An extraction that finds a list takes
 * it over into its own.
 *
 * To fold, three sorted files are joined in one pass: the index, the list, and what was folded after the same turn before.
 * Only what is listed is read from the tree.
 */

#include "unpack/snapshot/snapshot.h"

#include "base/clock.h"
#include "tree/held_tree.h"
#include "unpack/snapshot/packfile.h"
#include "unpack/snapshot/take.h"
#include "unpack/snapshot/tree_walk.h"

#include <fcntl.h>

/* One of the files, at its next entry. */
struct delivered_input {
	struct index_reader r;
	bool open;
	const char *path; /* NULL: the end */
	struct index_entry entry;
};

static void input_close(struct delivered_input *in)
{
	if (in->open)
		index_close(&in->r);
}

/* --- the list ------------------------------------------------------------------------------------------- */

/* The fresh files and links of a manifest, in their order. */
struct fresh {
	const struct manifest *m;
	bool all, removed;
	uint32_t *order;
	size_t n, at;
	char buf[PATH_BYTES_MAX + 1];
	const char *path; /* NULL: the end */
};

static bool fresh_is_wanted(const struct fresh *f)
{
	const struct node *v = &f->m->v[f->order[f->at]];

	return v->type != NODE_DIR && (f->all || v->fresh);
}

static void fresh_find(struct fresh *f)
{
	while (f->at < f->n && !fresh_is_wanted(f))
		f->at++;
	f->path = f->at < f->n ? manifest_path(f->m, f->order[f->at], f->buf) : NULL;
}

static void fresh_pass(struct fresh *f, const char *path)
{
	if (!f->path || strcmp(f->path, path) != 0)
		return;
	f->at++;
	fresh_find(f);
}

static void fresh_begin(struct fresh *f, const struct manifest *m, bool all, bool removed)
{
	*f = (struct fresh){ .m = m, .all = all, .removed = removed };
	if (m)
		f->order = manifest_order(m, &f->n);
	fresh_find(f);
}

static struct index_entry fresh_entry(const struct fresh *f)
{
	const struct node *v = &f->m->v[f->order[f->at]];

	if (f->removed)
		return (struct index_entry){ .type = INDEX_NONE };
	return (struct index_entry){
		.type = v->type == NODE_LINK ? INDEX_LINK : INDEX_FILE,
		.mode = (v->type == NODE_LINK ? S_IFLNK : S_IFREG) | v->mode,
		.size = v->size,
		.digest = v->digest,
	};
}

/* A damaged one counts as none: what it lists is then the agent's. */
static void earlier_next(struct delivered_input *l)
{
	if (!l->open || index_next(&l->r, &l->path, &l->entry) != 1)
		l->path = NULL;
}

static void earlier_begin(struct delivered_input *l, int fd)
{
	l->open = fd >= 0 && index_open(&l->r, fd, INDEX_DELIVERED) == 0;
	earlier_next(l);
}

static bool path_is_at(const char *path, const char *at)
{
	return path && strcmp(path, at) == 0;
}

/* What was written counts more than what was removed at its path, and both more than an earlier list. */
static int delivered_put_next(struct index_writer *w, const char *path, struct fresh *written,
			      struct fresh *removed, struct delivered_input *before)
{
	struct index_entry e;
	int r;

	if (path_is_at(written->path, path))
		e = fresh_entry(written);
	else if (path_is_at(removed->path, path))
		e = fresh_entry(removed);
	else
		e = before->entry;
	r = index_put(w, path, &e);
	if (path_is_at(before->path, path))
		earlier_next(before);
	fresh_pass(written, path);
	fresh_pass(removed, path);
	return r;
}

static int delivered_put_all(struct index_writer *w, struct fresh *written, struct fresh *removed,
			     struct delivered_input *before)
{
	char path[PATH_BYTES_MAX + 1];
	const char *next;
	int r = 0;

	while (r == 0 &&
	       (next = index_first(index_first(written->path, removed->path), before->path))) {
		memcpy(path, next, strlen(next) + 1);
		r = delivered_put_next(w, path, written, removed, before);
	}
	return r;
}

int delivered_write(int fd, int before, const struct manifest *staged, const struct manifest *old,
		    bool whole)
{
	struct index_head head = { .kind = INDEX_DELIVERED };
	struct fresh *written = new0(struct fresh), *removed = new0(struct fresh);
	struct delivered_input *earlier = new0(struct delivered_input);
	struct index_writer w;
	int r;

	index_begin(&w, fd);
	fresh_begin(written, staged, whole, false);
	fresh_begin(removed, old, false, true);
	earlier_begin(earlier, before);
	r = delivered_put_all(&w, written, removed, earlier);
	if (r == 0)
		r = index_end(&w, &head);
	index_writer_done(&w);
	input_close(earlier);
	free_each(written->order, removed->order, written, removed, earlier);
	return r;
}

/* --- folding it ----------------------------------------------------------------------------------------- */

struct fold {
	const struct snapshot_job *job;
	const struct snapshot_files *files;
	struct snapshot_report *report;
	struct verdict *v;
	struct delivered_input index, list, pins;
	struct index_writer index_new, pins_new;
	struct packfile pack;
	struct held tree;
	struct buf content;
};

/* --- the files ------------------------------------------------------------------------------------------ */

static int input_next(struct fold *f, struct delivered_input *in)
{
	int r = index_next(&in->r, &in->path, &in->entry);

	if (r == 1)
		return 0;
	in->path = NULL;
	return r < 0 ? fail_as(f->v, "STATE_DAMAGED", NULL, "a file changed while it was read") : 0;
}

static int input_open(struct fold *f, struct delivered_input *in, int fd, enum index_kind kind)
{
	int r = index_open(&in->r, fd, kind);

	in->open = r == 0;
	if (r == 0)
		return input_next(f, in);
	if (r != -EBADMSG)
		return fail_with(f->v, r, NULL, "reading a file of the snapshot");
	if (in == &f->list)
		return fail_as(f->v, "DELIVERY_UNKNOWN", NULL,
			       "the list of what was delivered is damaged");
	return fail_as(f->v, "STATE_DAMAGED", NULL, "a file of the snapshot is damaged");
}

static int fold_open_inputs(struct fold *f)
{
	int r;

	if (f->files->index_old < 0)
		return refuse(f->v, "NO_BASELINE", NULL, "no baseline was taken");
	r = input_open(f, &f->index, f->files->index_old, INDEX_STATE);
	if (r == 0)
		r = input_open(f, &f->list, f->files->delivered, INDEX_DELIVERED);
	if (r == 0 && f->files->pins_old >= 0)
		r = input_open(f, &f->pins, f->files->pins_old, INDEX_DELIVERED);
	if (r < 0)
		return r;
	packfile_init(&f->pack, f->files->pack, f->index.r.head.pack, f->job->limits.bytes);
	r = packfile_cut(&f->pack);
	return r == -EBADMSG ? fail_as(f->v, "STATE_DAMAGED", NULL,
				       "the pack is shorter than its index says") :
	       r < 0	     ? fail_with(f->v, r, NULL, "cutting the pack") :
			       0;
}

/* --- what is in the tree -------------------------------------------------------------------------------- */

/* What is there now; nothing where its directory is gone, or something else. */
static int fold_look(struct fold *f, const char *path, struct index_entry *now)
{
	const char *leaf;
	struct stat sb;
	int dir = held_parent(&f->tree, path, &leaf), r = 0;

	*now = (struct index_entry){ .type = INDEX_NONE };
	if (dir >= 0 && fstatat(dir, leaf, &sb, AT_SYMLINK_NOFOLLOW) == 0)
		r = take_content(dir, leaf, &sb, f->job->limits.file_bytes, &f->content, now);
	return r < 0 ? fail_with(f->v, r, path, "reading it") : 0;
}

/* Of a file that is too large for the record only the size is known. */
static bool is_as_delivered(const struct index_entry *listed, const struct index_entry *now)
{
	if (now->type == INDEX_OMITTED && now->reason == OMIT_TOO_LARGE)
		return listed->type == INDEX_FILE && listed->size == now->size;
	return index_entry_same(listed, now);
}

static int fold_store(struct fold *f, const char *path, const struct index_entry *was,
		      struct index_entry *now)
{
	int r;

	if (now->type != INDEX_FILE && now->type != INDEX_LINK)
		return 0;
	if (was->type == now->type && sha256_equal(&was->digest, &now->digest)) {
		now->at = was->at;
		now->packed = was->packed;
		return 0;
	}
	r = packfile_append(&f->pack, buf_slice(&f->content), now);
	if (r == -EFBIG)
		take_unstored(now);
	return r < 0 && r != -EFBIG ?
		       fail_with(f->v, r, path, "writing its contents into the pack") :
		       0;
}

/* --- the pass ------------------------------------------------------------------------------------------- */

static int fold_put(struct fold *f, struct index_writer *w, const char *path,
		    const struct index_entry *e)
{
	int r = index_put(w, path, e);

	return r < 0 ? fail_with(f->v, r, path, "writing a file of the snapshot") : 0;
}

/* Not of one that a fold left which did not come to its index: the pack has been cut since. */
static bool fold_has_content(const struct fold *f, const struct index_entry *e)
{
	uint64_t pack = f->index.r.head.pack;

	return e->at <= pack && e->packed <= pack - e->at;
}

/* Copies what was folded before, up to path and without it (NULL: the rest). */
static int fold_copy_pins(struct fold *f, const char *path)
{
	int r = 0;

	while (r == 0 && f->pins.path && (!path || index_compare(f->pins.path, path) < 0)) {
		if (fold_has_content(f, &f->pins.entry))
			r = fold_put(f, &f->pins_new, f->pins.path, &f->pins.entry);
		if (r == 0)
			r = input_next(f, &f->pins);
	}
	return r;
}

static int fold_pin(struct fold *f, const char *path, const struct index_entry *now)
{
	int r = fold_copy_pins(f, path);

	if (r == 0 && f->pins.path && strcmp(f->pins.path, path) == 0)
		r = input_next(f, &f->pins);
	return r < 0 ? r : fold_put(f, &f->pins_new, path, now);
}

static int fold_put_state(struct fold *f, const char *path, const struct index_entry *e)
{
	if (e->type == INDEX_NONE)
		return 0;
	if (e->type == INDEX_FILE || e->type == INDEX_LINK) {
		f->report->files++;
		f->report->bytes += e->size;
	}
	return fold_put(f, &f->index_new, path, e);
}

/* A path of the list; was: what the index has of it. */
static int fold_path(struct fold *f, const char *path, const struct index_entry *was)
{
	struct index_entry now;
	int r;

	/* what no walk visits would count as deleted */
	if (git_path_reserved(path, f->list.entry.type == INDEX_LINK))
		return fold_put_state(f, path, was);
	r = fold_look(f, path, &now);
	if (r < 0)
		return r;
	if (!is_as_delivered(&f->list.entry, &now))
		return fold_put_state(f, path, was);
	r = fold_store(f, path, was, &now);
	if (r == 0)
		r = fold_pin(f, path, &now);
	f->report->changed++;
	return r < 0 ? r : fold_put_state(f, path, &now);
}

static int fold_next_path(struct fold *f)
{
	struct index_entry was = { .type = INDEX_NONE };
	int order = !f->list.path  ? -1 :
		    !f->index.path ? 1 :
				     index_compare(f->index.path, f->list.path);
	int r;

	if (f->job->limits.deadline_ms && clock_mono_ms() > f->job->limits.deadline_ms)
		return refuse(f->v, "TIME_LIMIT", NULL, "what was delivered took too long");
	if (order <= 0)
		was = f->index.entry;
	r = order < 0 ? fold_put_state(f, f->index.path, &was) : fold_path(f, f->list.path, &was);
	if (r == 0 && order <= 0)
		r = input_next(f, &f->index);
	if (r == 0 && order >= 0)
		r = input_next(f, &f->list);
	return r;
}

static int fold_finish(struct fold *f)
{
	struct index_head head = f->index.r.head;
	int r;

	head.files = f->report->files;
	head.bytes = f->report->bytes;
	head.pack = f->pack.end;
	r = index_end(&f->index_new, &head);
	head.kind = INDEX_DELIVERED;
	if (r == 0)
		r = index_end(&f->pins_new, &head);
	return r < 0 ? fail_with(f->v, r, NULL, "writing a file of the snapshot") : 0;
}

static int fold_run(struct fold *f)
{
	int r = fold_open_inputs(f);

	while (r == 0 && (f->index.path || f->list.path))
		r = fold_next_path(f);
	if (r == 0)
		r = fold_copy_pins(f, NULL);
	return r < 0 ? r : fold_finish(f);
}

int delivered_fold(const struct snapshot_job *job, const struct snapshot_files *files,
		   struct snapshot_report *report, struct verdict *v)
{
	struct fold *f = new0(struct fold);
	int r;

	*f = (struct fold){ .job = job, .files = files, .report = report, .v = v };
	*report = (struct snapshot_report){ 0 };
	held_init(&f->tree, job->root);
	index_begin(&f->index_new, files->index_new);
	index_begin(&f->pins_new, files->pins_new);
	r = fold_run(f);
	input_close(&f->index);
	input_close(&f->list);
	input_close(&f->pins);
	packfile_done(&f->pack);
	index_writer_done(&f->index_new);
	index_writer_done(&f->pins_new);
	held_done(&f->tree);
	buf_done(&f->content);
	free(f);
	return r;
}
