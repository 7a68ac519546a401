/*
 * snap_decide.c - decides whether one path has changed, and writes it to index, turn file, patch
 * and report.
 *
 * Two states are compared with the tree: the index (where contents are) and the state of the diff's
 * start (what is reported). For a snapshot both are the same. Paths arrive in the order of
 * index_compare, because index and turn file must be sorted. A file whose old or new content is
 * unknown is reported as changed but never put into a patch.
 */
#include "unpack/snapshot/snap_run.h"

/* --- the two streams of what was ------------------------------------------------------------------------ */

int snap_old_next(struct snapshot *s)
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

const char *snap_next_path(const struct snapshot *s)
{
	const struct history_item *item = back_item(s);

	if (!item || (s->old_path && index_compare(s->old_path, item->path) <= 0))
		return s->old_path;
	return item->path;
}

int snap_take_old(struct snapshot *s, const char *path, struct index_entry *indexed,
		  struct index_entry *was)
{
	const struct history_item *item = back_item(s);
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

static bool is_unknown(const struct index_entry *e)
{
	return e->type == INDEX_OMITTED && e->reason != OMIT_FIFO && e->reason != OMIT_SOCKET &&
	       e->reason != OMIT_DEVICE;
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
	int r = snap_has_content(e) ? packfile_read(&s->pack, e, text) : 0;

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
			r = read_side(s, path, now, s->content);
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

static int count_change(struct snapshot *s, const char *path, const struct index_entry *was,
			const struct index_entry *now)
{
	const struct index_entry *why = now->type == INDEX_OMITTED ? now :
					is_unknown(was)		   ? was :
								     NULL;

	s->report->changed++;
	changes_add(&s->report->changes, path, now);
	snap_note_path(s, path);
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

int snap_decide(struct snapshot *s, const char *path, const struct index_entry *was,
		const struct index_entry *now)
{
	int r;

	if (now->type == INDEX_OMITTED && now->reason == OMIT_IGNORED) {
		omitted_add(&s->report->ignored, path, omit_word(OMIT_IGNORED));
		return 0;
	}
	r = index_entry_same(was, now) ? 0 : put_change(s, path, was, now);
	if (r < 0 || now->type == INDEX_NONE)
		return r;
	if (snap_has_content(now)) {
		s->report->files++;
		s->report->bytes += now->size;
	}
	r = index_put(&s->index, path, now);
	return r < 0 ? fail_with(s->v, r, path, "writing the index") : 0;
}
