#include "unpack/snapshot/snapshot.h"

#include "base/path_below.h"
#include "base/util.h"
#include "unpack/snapshot/packfile.h"
#include "unpack/snapshot/take.h"
#include "unpack/snapshot/tree_walk.h"

#include <errno.h>
#include <sys/random.h>

static const struct index_entry nothing;

struct snapshot {
	const struct snapshot_job *job;
	const struct snapshot_files *files;
	struct snapshot_report *report;
	struct verdict *v;

	struct index_reader old;
	const char *old_path; /* NULL: the end */
	struct index_entry old_entry;
	size_t back; /* in the history */

	struct packfile pack;
	struct index_writer index, turn;
	struct patchfile patch;
	struct buf content, before; /* of the current file: as it is now, as it was */
	bool held;		    /* content is that of the current entry */
	bool quiet;		    /* what is left out has been reported */
	int error;		    /* of a call that cannot return it */
};

/* --- the two streams of what was ------------------------------------------------------------------------ */

static int old_next(struct snapshot *s)
{
	int r = index_next(&s->old, &s->old_path, &s->old_entry);

	if (r == 1)
		return 0;
	s->old_path = NULL;
	return r < 0 ? fail_as(s->v, "STATE_DAMAGED", NULL, "the index changed while it was read") :
		       0;
}

static const struct history_item *back_item(const struct snapshot *s)
{
	const struct history *h = s->job->history;

	return h && s->back < h->n ? &h->v[s->back] : NULL;
}

/* The next path that was there; NULL: none. */
static const char *next_path(const struct snapshot *s)
{
	const struct history_item *item = back_item(s);

	if (!item || (s->old_path && index_compare(s->old_path, item->path) <= 0))
		return s->old_path;
	return item->path;
}

/* Takes the entries of path from the index and the state before, which are at path at most; both go on. */
static int take_old(struct snapshot *s, const char *path, struct index_entry *indexed,
		    struct index_entry *was)
{
	const struct history_item *item = back_item(s);
	int r = 0;

	*indexed = nothing;
	if (s->old_path && strcmp(s->old_path, path) == 0) {
		*indexed = s->old_entry;
		r = old_next(s);
	}
	*was = *indexed;
	if (item && strcmp(item->path, path) == 0) {
		*was = item->was;
		s->back++;
	}
	return r;
}

/* --- telling a change ----------------------------------------------------------------------------------- */

static bool is_unknown(const struct index_entry *e)
{
	return e->type == INDEX_OMITTED && e->reason != OMIT_FIFO && e->reason != OMIT_SOCKET &&
	       e->reason != OMIT_DEVICE;
}

static bool has_content(const struct index_entry *e)
{
	return e->type == INDEX_FILE || e->type == INDEX_LINK;
}

static unsigned git_mode(const struct index_entry *e)
{
	if (e->type == INDEX_FILE)
		return e->mode & S_IXUSR ? PATCH_EXECUTABLE : PATCH_FILE;
	return e->type == INDEX_LINK ? PATCH_SYMLINK : 0;
}

static int read_side(struct snapshot *s, const char *path, const struct index_entry *e,
		     struct buf *text)
{
	int r = has_content(e) ? packfile_read(&s->pack, e, text) : 0;

	return r == -EBADMSG ? fail_as(s->v, "STATE_DAMAGED", path,
				       "its contents are not what the index says") :
	       r < 0	     ? fail_with(s->v, r, path, "reading its contents from the pack") :
			       0;
}

static int put_patch(struct snapshot *s, const char *path, const struct index_entry *was,
		     const struct index_entry *now)
{
	struct diff_side from = { .mode = git_mode(was) }, to = { .mode = git_mode(now) };
	/* only a mode changes: contents would only be compared */
	bool same = was->type == now->type && sha256_equal(&was->digest, &now->digest);
	int r = 0;

	if (s->patch.fd < 0 || (!from.mode && !to.mode))
		return 0;
	if (!same && !s->patch.full) {
		r = read_side(s, path, was, &s->before);
		if (r == 0 && !s->held)
			r = read_side(s, path, now, &s->content);
		if (r < 0)
			return r;
		from.data = s->before.data;
		from.n = has_content(was) ? was->size : 0;
		to.data = s->content.data;
		to.n = has_content(now) ? now->size : 0;
	}
	r = patchfile_put(&s->patch, path, &from, &to);
	if (r == 1)
		omitted_add(&s->report->omitted, path, omit_word(OMIT_PATCH_TOO_LARGE));
	return r < 0 ? fail_with(s->v, r, path, "writing the patch") : 0;
}

static void note_path(struct snapshot *s, const char *path)
{
	if (s->job->offending)
		offending_add(s->job->offending, path);
}

static int count_change(struct snapshot *s, const char *path, const struct index_entry *was,
			const struct index_entry *now)
{
	const struct index_entry *why = now->type == INDEX_OMITTED ? now :
					is_unknown(was)		   ? was :
								     NULL;

	s->report->changed++;
	changes_add(&s->report->changes, path, now);
	note_path(s, path);
	if (why && !s->quiet)
		omitted_add(&s->report->omitted, path, omit_word(why->reason));
	return is_unknown(was) || is_unknown(now) ? 0 : put_patch(s, path, was, now);
}

static int put_change(struct snapshot *s, const char *path, const struct index_entry *was,
		      const struct index_entry *now)
{
	int r = count_change(s, path, was, now);

	if (r < 0)
		return r;
	r = index_put(&s->turn, path, was);
	if (r == 0)
		r = index_put(&s->turn, path, now);
	return r < 0 ? fail_with(s->v, r, path, "writing what the turn changed") : 0;
}

/* Decides one path. */
static int decide(struct snapshot *s, const char *path, const struct index_entry *was,
		  const struct index_entry *now)
{
	int r = index_entry_same(was, now) ? 0 : put_change(s, path, was, now);

	if (r < 0 || now->type == INDEX_NONE)
		return r;
	if (has_content(now)) {
		s->report->files++;
		s->report->bytes += now->size;
	}
	r = index_put(&s->index, path, now);
	return r < 0 ? fail_with(s->v, r, path, "writing the index") : 0;
}

/* --- the walk ------------------------------------------------------------------------------------------- */

static int settle_next(struct snapshot *s, const char *path, const struct index_entry *now)
{
	char copy[PATH_BYTES_MAX + 1];
	struct index_entry indexed, was;
	int r;

	/* path may be the reader's own */
	memcpy(copy, path, strlen(path) + 1);
	r = take_old(s, copy, &indexed, &was);
	s->held = false;
	return r < 0 ? r : decide(s, copy, &was, now);
}

/* Every entry before path in the order that was not met is gone. NULL: all that are left. */
static int advance(struct snapshot *s, const char *path)
{
	const char *next;
	int r = s->error;

	while (r == 0 && (next = next_path(s)) && (!path || index_compare(next, path) < 0))
		r = settle_next(s, next, &nothing);
	return r;
}

static int store(struct snapshot *s, const char *path, const struct stat *sb,
		 struct index_entry *now)
{
	int r;

	if (s->files->index_new < 0) {
		now->at = now->packed = 0;
		return 0;
	}
	r = packfile_append(&s->pack, buf_slice(&s->content), now);
	if (r == -EFBIG) {
		*now = take_omitted(OMIT_STORE_FULL, sb);
		return 0;
	}
	return r < 0 ? fail_with(s->v, r, path, "writing its contents into the pack") : 0;
}

static int look(struct snapshot *s, const struct tree_entry *e, const struct index_entry *indexed,
		struct index_entry *now)
{
	int r;

	s->held = false;
	if (take_is_same(indexed, &e->sb)) {
		*now = *indexed;
		return 0;
	}
	r = take_content(e->dir, e->leaf, &e->sb, s->job->limits.file_bytes, &s->content, now);
	if (r < 0)
		return fail_with(s->v, r, e->path, "reading it");
	if (!has_content(now))
		return 0;
	s->held = true;
	s->report->read++;
	if (!has_content(indexed) || !sha256_equal(&indexed->digest, &now->digest))
		return store(s, e->path, &e->sb, now);
	now->at = indexed->at;
	now->packed = indexed->packed;
	return 0;
}

static int on_visit(void *ctx, const struct tree_entry *e)
{
	struct index_entry indexed, was, now;
	struct snapshot *s = ctx;
	int r;

	if (S_ISDIR(e->sb.st_mode))
		return 0;
	r = advance(s, e->path);
	if (r == 0)
		r = take_old(s, e->path, &indexed, &was);
	if (r == 0)
		r = look(s, e, &indexed, &now);
	return r < 0 ? r : decide(s, e->path, &was, &now);
}

/* Called once for a directory; entries of the index below it are then unknown, not gone. */
static int on_omit(void *ctx, const char *path, enum omit_reason reason)
{
	struct index_entry unknown = take_omitted(reason, NULL);
	struct snapshot *s = ctx;
	const char *next;
	int r = advance(s, path);

	if (r == 0 &&
	    strlen(path) > PATH_BYTES_MAX) { /* no index has it: whether it is new is not known */
		omitted_add(&s->report->omitted, path, omit_word(reason));
		note_path(s, path);
	} else if (r == 0)
		r = settle_next(s, path, &unknown);
	s->quiet = true;
	while (r == 0 && (next = next_path(s)) && path_below(next, path))
		r = settle_next(s, next, &unknown);
	s->quiet = false;
	return r;
}

static bool on_known(void *ctx, const char *path)
{
	struct snapshot *s = ctx;

	s->error = advance(s, path);
	return s->error < 0 || (s->old_path && path_below(s->old_path, path));
}

/* --- the whole ------------------------------------------------------------------------------------------ */

static bool is_diff(const struct snapshot *s)
{
	return s->files->index_new < 0;
}

static int open_old(struct snapshot *s)
{
	bool baseline = !is_diff(s) && !s->job->turn;
	int r = s->files->index_old < 0 ? -ENOENT :
					  index_open(&s->old, s->files->index_old, INDEX_STATE);

	if (r == 0 && !is_diff(s) && !baseline && s->job->turn <= s->old.head.turn)
		return refuse_over(s->v, "TURN_ORDER", NULL, s->old.head.turn, s->job->turn,
				   "a snapshot of a turn that is not after the last one");
	if (r == 0)
		return old_next(s);
	if (r == -ENOENT && !baseline)
		return refuse(s->v, "NO_BASELINE", NULL, "no baseline was taken");
	if (r == -EBADMSG && !baseline)
		return fail_as(s->v, "STATE_DAMAGED", NULL, "the index is damaged");
	/* a new baseline needs no old one */
	return r == -ENOENT || r == -EBADMSG ? 0 : fail_with(s->v, r, NULL, "reading the index");
}

static int open_pack(struct snapshot *s)
{
	int r;

	packfile_init(&s->pack, s->files->pack, s->old.head.pack, s->job->limits.bytes);
	r = is_diff(s) ? 0 : packfile_cut(&s->pack);
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

static uint64_t new_epoch(void)
{
	uint64_t n;

	while (getrandom(&n, sizeof(n), 0) != (ssize_t)sizeof(n))
		;
	return n;
}

static int finish(struct snapshot *s)
{
	struct index_head head = {
		.epoch = s->job->turn ? s->old.head.epoch : new_epoch(),
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

static int run(struct snapshot *s)
{
	const struct tree_visitor visitor = { on_visit, on_omit, on_known, s };
	const struct tree_walk_options options = {
		.gitignore = s->job->gitignore,
		.without_git = true,
		.for_git = true,
		.entries = s->job->limits.entries,
		.deadline_ms = s->job->limits.deadline_ms,
	};
	int r = open_old(s);

	if (r == 0)
		r = open_pack(s);
	if (r == 0)
		r = tree_walk(s->job->root, &options, &visitor, s->v);
	if (r == 0)
		r = advance(s, NULL);
	return r < 0 ? r : finish(s);
}

int snapshot_take(const struct snapshot_job *job, const struct snapshot_files *files,
		  struct snapshot_report *report, struct verdict *v)
{
	struct snapshot *s = new0(struct snapshot);
	int r;

	*s = (struct snapshot){ .job = job, .files = files, .report = report, .v = v };
	*report = (struct snapshot_report){ 0 };
	changes_init(&report->changes, job->list);
	index_begin(&s->index, files->index_new);
	index_begin(&s->turn, files->turn);
	patchfile_init(&s->patch, files->patch, job->limits.patch_bytes);
	r = run(s);
	index_close(&s->old);
	packfile_done(&s->pack);
	index_writer_done(&s->index);
	index_writer_done(&s->turn);
	patchfile_done(&s->patch);
	buf_done(&s->content);
	buf_done(&s->before);
	free(s);
	return r;
}

void snapshot_report_done(struct snapshot_report *report)
{
	omitted_done(&report->omitted);
	changes_done(&report->changes);
}
