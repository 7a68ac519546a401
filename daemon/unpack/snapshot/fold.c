/* fold.c - folds what was delivered into the record of a tree (delivered.h): three sorted files are joined in one pass,
 * the index, the list, and what was folded after the same turn before. Only what is listed is read from the tree. */
#include "base/clock.h"
#include "base/util.h"
#include "tree/held_tree.h"
#include "unpack/snapshot/delivered.h"
#include "unpack/snapshot/packfile.h"
#include "unpack/snapshot/take.h"
#include "unpack/snapshot/tree_walk.h"

#include <errno.h>
#include <fcntl.h>

/* One of the files, at its next entry. */
struct fold_input {
	struct index_reader r;
	bool open;
	const char *path; /* NULL: the end */
	struct index_entry entry;
};

struct fold {
	const struct snapshot_job *job;
	const struct snapshot_files *files;
	struct snapshot_report *report;
	struct verdict *v;
	struct fold_input index, list, pins;
	struct index_writer index_new, pins_new;
	struct packfile pack;
	struct held tree;
	struct buf content;
};

/* --- the files ------------------------------------------------------------------------------------------ */

static int input_next(struct fold *f, struct fold_input *in)
{
	int r = index_next(&in->r, &in->path, &in->entry);

	if (r == 1)
		return 0;
	in->path = NULL;
	return r < 0 ? fail_as(f->v, "STATE_DAMAGED", NULL, "a file changed while it was read") : 0;
}

static int input_open(struct fold *f, struct fold_input *in, int fd, enum index_kind kind)
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

static int open_inputs(struct fold *f)
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
static int look(struct fold *f, const char *path, struct index_entry *now)
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

static int store(struct fold *f, const char *path, const struct index_entry *was,
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

static int put(struct fold *f, struct index_writer *w, const char *path,
	       const struct index_entry *e)
{
	int r = index_put(w, path, e);

	return r < 0 ? fail_with(f->v, r, path, "writing a file of the snapshot") : 0;
}

/* Not of one that a fold left which did not come to its index: the pack has been cut since. */
static bool has_content(const struct fold *f, const struct index_entry *e)
{
	uint64_t pack = f->index.r.head.pack;

	return e->at <= pack && e->packed <= pack - e->at;
}

/* Copies what was folded before, up to path and without it (NULL: the rest). */
static int copy_pins(struct fold *f, const char *path)
{
	int r = 0;

	while (r == 0 && f->pins.path && (!path || index_compare(f->pins.path, path) < 0)) {
		if (has_content(f, &f->pins.entry))
			r = put(f, &f->pins_new, f->pins.path, &f->pins.entry);
		if (r == 0)
			r = input_next(f, &f->pins);
	}
	return r;
}

static int pin(struct fold *f, const char *path, const struct index_entry *now)
{
	int r = copy_pins(f, path);

	if (r == 0 && f->pins.path && strcmp(f->pins.path, path) == 0)
		r = input_next(f, &f->pins);
	return r < 0 ? r : put(f, &f->pins_new, path, now);
}

static int put_state(struct fold *f, const char *path, const struct index_entry *e)
{
	if (e->type == INDEX_NONE)
		return 0;
	if (e->type == INDEX_FILE || e->type == INDEX_LINK) {
		f->report->files++;
		f->report->bytes += e->size;
	}
	return put(f, &f->index_new, path, e);
}

/* A path of the list; was: what the index has of it. */
static int fold_path(struct fold *f, const char *path, const struct index_entry *was)
{
	struct index_entry now;
	int r;

	/* what no walk visits would count as deleted */
	if (git_path_reserved(path, f->list.entry.type == INDEX_LINK))
		return put_state(f, path, was);
	r = look(f, path, &now);
	if (r < 0)
		return r;
	if (!is_as_delivered(&f->list.entry, &now))
		return put_state(f, path, was);
	r = store(f, path, was, &now);
	if (r == 0)
		r = pin(f, path, &now);
	f->report->changed++;
	return r < 0 ? r : put_state(f, path, &now);
}

static int next_path(struct fold *f)
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
	r = order < 0 ? put_state(f, f->index.path, &was) : fold_path(f, f->list.path, &was);
	if (r == 0 && order <= 0)
		r = input_next(f, &f->index);
	if (r == 0 && order >= 0)
		r = input_next(f, &f->list);
	return r;
}

static int finish(struct fold *f)
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

static int run(struct fold *f)
{
	int r = open_inputs(f);

	while (r == 0 && (f->index.path || f->list.path))
		r = next_path(f);
	if (r == 0)
		r = copy_pins(f, NULL);
	return r < 0 ? r : finish(f);
}

static void input_close(struct fold_input *in)
{
	if (in->open)
		index_close(&in->r);
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
	r = run(f);
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
