/*
 * snapshot.c - takes a snapshot or a diff: opens the old state, runs the walk, writes the headers; and decides whether one
 * path has changed, and writes it to index, turn file, patch and report.
 *
 * Three sorted streams are joined in one pass: the tree (tree_walk.h), the old index, and for a diff the history that
 * leads back from it. Memory does not grow with the tree. A file whose stat data the index has proven is not opened;
 * all others are read and hashed. Contents that are new go to the end of the pack, entries into a new index and, for a
 * turn, into its turn file.
 *
 * A turn names a file of which nothing is known (too large, unreadable, ...) in omitted, once: it is not named again as
 * long as it does not change. A patch never has it: neither its old nor its new content is known. For a patch, FIFOs,
 * sockets and devices count as absent. What .gitignore files leave out is in no index, and named each time; but what the
 * old index or the state before has is tracked, ignored or not.
 *
 * The headers are written last, so unfinished files are never valid. A baseline replaces damaged
 * state and starts a new epoch; a turn needs an intact index. All files are descriptors of the
 * caller: this code runs confined and can neither open nor rename them.
 *
 * Two states are compared with the tree: the index (where contents are) and the state of the diff's
 * start (what is reported). For a snapshot both are the same. Paths arrive in the order of
 * index_compare, because index and turn file must be sorted. A file whose old or new content is
 * unknown is reported as changed but never put into a patch.
 */
#include "unpack/snapshot/snap_run.h"

#include "unpack/snapshot/snapshot.h"

#include <sys/random.h>

/* --- the two streams of what was ------------------------------------------------------------------------ */

/* The next entry of the index. */
static int snap_old_next(struct snapshot *s)
{
	int r = index_next(&s->old, &s->old_path, &s->old_entry);

	if (r == 1)
		return 0;
	s->old_path = NULL;
	return r < 0 ? fail_as(s->v, "STATE_DAMAGED", NULL, "the index changed while it was read") :
		       0;
}

static const struct history_item *snap_back_item(const struct snapshot *s)
{
	const struct history *h = s->job->history;

	return h && s->back < h->n ? &h->v[s->back] : NULL;
}

const char *snap_next_path(const struct snapshot *s)
{
	const struct history_item *item = snap_back_item(s);

	if (!item || (s->old_path && index_compare(s->old_path, item->path) <= 0))
		return s->old_path;
	return item->path;
}

int snap_take_old(struct snapshot *s, const char *path, struct index_entry *indexed,
		  struct index_entry *was)
{
	const struct history_item *item = snap_back_item(s);
	int r = 0;

	*indexed = (struct index_entry){ .type = INDEX_NONE };
	if (s->old_path && strcmp(s->old_path, path) == 0) {
		*indexed = s->old_entry;
		r = snap_old_next(s);
	}
	*was = *indexed;
	if (item && strcmp(item->path, path) == 0) {
		*was = item->was;
		s->back++;
	}
	return r;
}

/* --- telling a change ----------------------------------------------------------------------------------- */

static bool snap_is_unknown(const struct index_entry *e)
{
	return e->type == INDEX_OMITTED && e->reason != OMIT_FIFO && e->reason != OMIT_SOCKET &&
	       e->reason != OMIT_DEVICE;
}

static unsigned snap_git_mode(const struct index_entry *e)
{
	if (e->type == INDEX_FILE)
		return e->mode & S_IXUSR ? PATCH_EXECUTABLE : PATCH_FILE;
	return e->type == INDEX_LINK ? PATCH_SYMLINK : 0;
}

static int snap_read_side(struct snapshot *s, const char *path, const struct index_entry *e,
			  struct buf *text)
{
	int r = snap_has_content(e) ? packfile_read(&s->pack, e, text) : 0;

	return r == -EBADMSG ? fail_as(s->v, "STATE_DAMAGED", path,
				       "its contents are not what the index says") :
	       r < 0	     ? fail_with(s->v, r, path, "reading its contents from the pack") :
			       0;
}

static int snap_put_patch(struct snapshot *s, const char *path, const struct index_entry *was,
			  const struct index_entry *now)
{
	struct diff_side from = { .mode = snap_git_mode(was) }, to = { .mode = snap_git_mode(now) };
	/* only a mode changes: contents would only be compared */
	bool same = was->type == now->type && sha256_equal(&was->digest, &now->digest);
	int r = 0;

	if (s->patch.fd < 0 || (!from.mode && !to.mode))
		return 0;
	if (!same && !s->patch.full) {
		r = snap_read_side(s, path, was, &s->before);
		if (r == 0 && !s->held)
			r = snap_read_side(s, path, now, s->content);
		if (r < 0)
			return r;
		from.data = s->before.data;
		from.n = snap_has_content(was) ? was->size : 0;
		to.data = s->content->data;
		to.n = snap_has_content(now) ? now->size : 0;
	}
	r = patchfile_put(&s->patch, path, &from, &to);
	if (r == 1)
		omitted_add(&s->report->omitted, path, omit_word(OMIT_PATCH_TOO_LARGE));
	return r < 0 ? fail_with(s->v, r, path, "writing the patch") : 0;
}

void snap_note_path(struct snapshot *s, const char *path)
{
	if (s->job->offending)
		offending_add(s->job->offending, path);
}

static int snap_count_change(struct snapshot *s, const char *path, const struct index_entry *was,
			     const struct index_entry *now)
{
	const struct index_entry *why = now->type == INDEX_OMITTED ? now :
					snap_is_unknown(was)	   ? was :
								     NULL;

	s->report->changed++;
	changes_add(&s->report->changes, path, now);
	snap_note_path(s, path);
	if (why && !s->quiet)
		omitted_add(&s->report->omitted, path, omit_word(why->reason));
	return snap_is_unknown(was) || snap_is_unknown(now) ? 0 : snap_put_patch(s, path, was, now);
}

static int snap_put_change(struct snapshot *s, const char *path, const struct index_entry *was,
			   const struct index_entry *now)
{
	int r = snap_count_change(s, path, was, now);

	if (r < 0)
		return r;
	r = index_put(&s->turn, path, was);
	if (r == 0)
		r = index_put(&s->turn, path, now);
	return r < 0 ? fail_with(s->v, r, path, "writing what the turn changed") : 0;
}

int snap_decide(struct snapshot *s, const char *path, const struct index_entry *was,
		const struct index_entry *now)
{
	int r;

	if (now->type == INDEX_OMITTED && now->reason == OMIT_IGNORED) {
		omitted_add(&s->report->ignored, path, omit_word(OMIT_IGNORED));
		return 0;
	}
	r = index_entry_same(was, now) ? 0 : snap_put_change(s, path, was, now);
	if (r < 0 || now->type == INDEX_NONE)
		return r;
	if (snap_has_content(now)) {
		s->report->files++;
		s->report->bytes += now->size;
	}
	r = index_put(&s->index, path, now);
	return r < 0 ? fail_with(s->v, r, path, "writing the index") : 0;
}

/* --- the whole ------------------------------------------------------------------------------------------ */

static int snapshot_open_old(struct snapshot *s)
{
	bool baseline = !snap_is_diff(s) && !s->job->turn;
	int r = s->files->index_old < 0 ? -ENOENT :
					  index_open(&s->old, s->files->index_old, INDEX_STATE);

	if (r == 0 && !snap_is_diff(s) && !baseline && s->job->turn <= s->old.head.turn)
		return refuse_over(s->v, "TURN_ORDER", NULL, s->old.head.turn, s->job->turn,
				   "a snapshot of a turn that is not after the last one");
	if (r == 0)
		return snap_old_next(s);
	if (r == -ENOENT && !baseline)
		return refuse(s->v, "NO_BASELINE", NULL, "no baseline was taken");
	if (r == -EBADMSG && !baseline)
		return fail_as(s->v, "STATE_DAMAGED", NULL, "the index is damaged");
	/* a new baseline needs no old one */
	return r == -ENOENT || r == -EBADMSG ? 0 : fail_with(s->v, r, NULL, "reading the index");
}

static int snapshot_open_pack(struct snapshot *s)
{
	int r;

	packfile_init(&s->pack, s->files->pack, s->old.head.pack, s->job->limits.bytes);
	/* A diff only reads; a snapshot removes the tail that a killed snapshot left. */
	r = snap_is_diff(s) ? 0 : packfile_cut(&s->pack);
	if (r == -EBADMSG && !s->job->turn) {
		s->old_path = NULL;
		s->pack.end = 0;
		r = packfile_cut(&s->pack);
	}
	if (r == -EBADMSG)
		return fail_as(s->v, "STATE_DAMAGED", NULL,
			       "the pack is shorter than its index says");
	return r < 0 ? fail_with(s->v, r, NULL, "cutting the pack") : 0;
}

static uint64_t snapshot_new_epoch(void)
{
	uint64_t n;

	while (getrandom(&n, sizeof(n), 0) != (ssize_t)sizeof(n))
		;
	return n;
}

static int snapshot_finish(struct snapshot *s)
{
	struct index_head head = {
		.epoch = s->job->turn ? s->old.head.epoch : snapshot_new_epoch(),
		.turn = s->job->turn,
		.from = s->old.head.turn,
		.files = s->report->files,
		.bytes = s->report->bytes,
		.pack = s->pack.end,
	};
	int r;

	head.kind = INDEX_TURN;
	r = index_end(&s->turn, &head);
	head.kind = INDEX_STATE;
	head.from = 0;
	if (r == 0)
		r = index_end(&s->index, &head);
	s->report->patch = s->patch.stat;
	s->report->patch_bytes = s->patch.bytes;
	return r < 0 ? fail_with(s->v, r, NULL, "writing the index") : 0;
}

static int snapshot_run(struct snapshot *s)
{
	int r = snapshot_open_old(s);

	if (r == 0)
		r = snapshot_open_pack(s);
	if (r == 0)
		r = snap_look(s);
	return r < 0 ? r : snapshot_finish(s);
}

int snapshot_take(const struct snapshot_job *job, const struct snapshot_files *files,
		  struct snapshot_report *report, struct verdict *v)
{
	struct snapshot *s = new0(struct snapshot);
	int r;

	*s = (struct snapshot){
		.job = job, .files = files, .report = report, .v = v, .extra_left = TREE_EXTRA_MAX
	};
	*report = (struct snapshot_report){ 0 };
	changes_init(&report->changes, job->list);
	index_begin(&s->index, files->index_new);
	index_begin(&s->turn, files->turn);
	patchfile_init(&s->patch, files->patch, job->limits.patch_bytes);
	s->ahead = ahead_new();
	r = snapshot_run(s);
	index_close(&s->old);
	packfile_done(&s->pack);
	index_writer_done(&s->index);
	index_writer_done(&s->turn);
	patchfile_done(&s->patch);
	ahead_free(s->ahead);
	buf_done(&s->own);
	buf_done(&s->before);
	free(s);
	return r;
}

void snapshot_report_done(struct snapshot_report *report)
{
	omitted_done(&report->omitted);
	omitted_done(&report->ignored);
	changes_done(&report->changes);
}
