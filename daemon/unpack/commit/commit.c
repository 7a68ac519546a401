/*
 * commit.c - plans, applies and recovers the commit of a staged tree.
 *
 * The stage holds tree/ (with directories at least u+rwx), old/ and log; this code makes the last two. All in it may
 * belong to the user of the target, and is not trusted.
 *
 * The order allows recovery after a crash at any point. The plan writes a complete log in state P;
 * one byte (R) starts the commit; D ends it. A log that is missing, truncated or still P proves
 * that the target is unchanged. A whole commit has no steps: its rename either happened or not, and
 * the presence of tree/ in the stage shows which.
 *
 * A step that finds the target changed since the plan is skipped and reported. Its nodes leave the
 * staged manifest, so that the manifest never claims an entry of another user.
 */
#include "unpack/commit/merge.h"

#include <fcntl.h>

/* --- reports ------------------------------------------------------------------------------------------- */

void outcome_skip(struct outcome *out, const char *path, const char *reason)
{
	if (!out->skipped)
		out->skipped = xalloc(SKIPPED_MAX * sizeof(*out->skipped));
	if (out->skipped_total < SKIPPED_MAX)
		out->skipped[out->skipped_total] = (struct skipped){ xstrdup(path), reason };
	out->skipped_total++;
}

void outcome_done(struct outcome *out)
{
	for (size_t i = 0; i < out->skipped_total && i < SKIPPED_MAX; i++)
		free(out->skipped[i].path);
	free(TAKE_PTR(out->skipped));
	*out = (struct outcome){ 0 };
}

/* Fills e from a negative errno, which it returns. */
static int commit_error(struct err *e, int code, const char *path)
{
	static const struct {
		int code;
		const char *reason;
	} rows[] = {
		{ -ENOSPC, "NO_SPACE" },
		{ -EDQUOT, "NO_SPACE" },
		{ -EACCES, "ACCESS_DENIED" },
		{ -EPERM, "ACCESS_DENIED" },
		{ -EROFS, "READ_ONLY" },
		{ -E2BIG, "TOO_MANY_ENTRIES" },
		{ -ENOTRECOVERABLE, "UNDO_INCOMPLETE" },
	};
	const char *reason = "IO_ERROR";

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].code == code)
			reason = rows[i].reason;
	if (!*path)
		path = "staging directory";
	err_set(e, code, 0, reason, "%s: %s", path, strerror(-code));
	if (e)
		snprintf(e->field, sizeof(e->field), "%s", path);
	return code;
}

/* --- planning ----------------------------------------------------------------------------------------- */

static int commit_create_log(int stage, bool whole, struct intent_log_writer *log)
{
	int fd = openat(stage, "log", O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r;

	if (fd < 0)
		return -errno;
	r = intent_log_begin(log, fd, whole ? LOG_WHOLE : LOG_MERGE);
	if (r == 0 && mkdirat(stage, "old", 0700) < 0 && errno != EEXIST)
		r = -errno;
	return r;
}

/* Mode merge: what only the old generation had stays ours, unless its directory is no longer ours. */
static int keep_missing(struct merge *p)
{
	int r = 0;

	p->new->max += p->old->n;
	for (size_t i = 0; r >= 0 && i < p->old_n; i++) {
		uint32_t v = p->old_order[i];
		int64_t above = p->was[p->old->v[v].parent].twin, at;
		const char *path = manifest_path(p->old, v, p->buf);
		bool existed;

		if (!merge_is_kept(p, path) || p->was[v].twin >= 0 || p->was[v].overturned ||
		    !merge_is_dir(p->new, above) || p->new->v[above].gone)
			continue;
		at = manifest_put(p->new, path, &existed);
		p->was[v].twin = at;
		r = at < 0 ? (int)at : plan_as_before(p, (uint32_t)at, v);
	}
	return r;
}

static int plan_merge(struct merge *p)
{
	int r;

	p->old_order = manifest_order(p->old, &p->old_n);
	p->was = xalloc(p->old->n * sizeof(*p->was));
	p->is = xalloc(p->new->n * sizeof(*p->is));
	r = plan_removals(p);
	if (r == 0)
		r = plan_new(p);
	return r == 0 && p->keep ? keep_missing(p) : r;
}

static int commit_plan_all(struct merge *p, const struct commit *c)
{
	int r = commit_create_log(c->stage, c->whole, &p->log);

	if (r < 0)
		return r;
	p->new_order = manifest_order(p->new, &p->new_n);
	if (c->whole)
		p->out->written = p->new_n;
	else
		r = plan_merge(p);
	return r == 0 ? intent_log_end(&p->log) : r;
}

int commit_plan(struct commit *c, struct outcome *out, struct err *e)
{
	struct manifest none;
	struct merge p = { .new = c->staged,
			   .keep = c->keep_missing,
			   .keeps = c->keeps,
			   .ctx = c->ctx,
			   .out = out,
			   .path = "" };
	int tree = held_open_dir_at(c->stage, "tree"), r = tree;

	manifest_init(&none, 0);
	p.old = c->old && !c->whole ? c->old : &none;
	p.log.to.fd = -1;
	held_init(&p.target, c->target);
	held_init(&p.staged, tree);
	if (r >= 0)
		r = commit_plan_all(&p, c);
	closep(&p.log.to.fd);
	intent_log_writer_done(&p.log);
	held_done(&p.target);
	held_done(&p.staged);
	closep(&tree);
	manifest_done(&none);
	free_each(p.was, p.is, p.old_order, p.new_order);
	return r < 0 ? commit_error(e, r, p.path) : 0;
}

/* --- doing it ------------------------------------------------------------------------------------------ */

struct doing {
	struct commit *c;
	struct outcome *out;
	bool changed;
};

static bool node_is_below(const struct manifest *m, uint32_t v, uint32_t dir)
{
	while (v != dir && v)
		v = m->v[v].parent;
	return v == dir;
}

/* Counts as skipped what was counted as written, with everything below it. */
static void commit_unwrite(struct doing *d, uint32_t top)
{
	struct manifest *m = d->c->staged;
	char path[PATH_BYTES_MAX + 1];

	for (size_t i = 1; i < m->n; i++) {
		if (m->v[i].gone || !node_is_below(m, (uint32_t)i, top))
			continue;
		d->out->written--;
		outcome_skip(d->out, manifest_path(m, (uint32_t)i, path), "CONFLICT_MODIFIED");
	}
	for (size_t i = m->n; i-- > 1;)
		if (node_is_below(m, (uint32_t)i, top))
			m->v[i].gone = 1;
	d->changed = true;
}

/* The directory is not ours after all. Its entries have steps of their own. */
static void commit_unown(struct doing *d, uint32_t dir, const char *path)
{
	d->c->staged->v[dir].shared = 1;
	d->out->written--;
	outcome_skip(d->out, path, "CONFLICT_MODIFIED");
	d->changed = true;
}

static void commit_on_skipped(void *ctx, const struct op *op)
{
	struct doing *d = ctx;
	int64_t v = manifest_find(d->c->staged, op->path);
	bool makes_room = v >= 0; /* reported when the step that needs its place is skipped */

	switch (op->kind) {
	case OP_ADD:
	case OP_EXCHANGE:
		if (v >= 0)
			commit_unwrite(d, (uint32_t)v);
		return;
	case OP_MKDIR:
	case OP_CHMOD:
		if (v >= 0)
			commit_unown(d, (uint32_t)v, op->path.p);
		return;
	case OP_REMOVE:
	case OP_RMDIR:
		if (makes_room)
			return;
		d->out->removed--;
		outcome_skip(d->out, op->path.p, "CONFLICT_MODIFIED");
	}
}

static int commit_open_log(int stage, struct intent_log *log)
{
	int fd = openat(stage, "log", O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	*log = (struct intent_log){ .fd = -1 };
	return fd < 0 ? -errno : intent_log_load(log, fd);
}

static void commit_close_log(struct intent_log *log)
{
	closep(&log->fd);
	intent_log_done(log);
}

static int commit_run_steps(struct intent_log *log, int target, int stage, step_skipped_fn skipped,
			    void *ctx, char failed[PATH_BYTES_MAX + 1])
{
	struct step_dirs g;
	int r = step_dirs_open(&g, target, stage);

	g.since = log->since;
	if (r == 0)
		r = steps_run(&g, log, skipped, ctx, failed);
	step_dirs_close(&g);
	return r;
}

int commit_take_steps(int target, int stage, step_skipped_fn skipped, void *ctx,
		      char failed[PATH_BYTES_MAX + 1])
{
	struct intent_log log;
	int r = commit_open_log(stage, &log);

	if (r == 0 && log.state != LOG_PLANNED)
		r = -EBADMSG;
	if (r == 0)
		/* Synced before the first step: recovery must know that the target may have
		 * changed. */
		r = intent_log_set(&log, LOG_REDO);
	if (r == 0 && log.kind != LOG_WHOLE)
		r = commit_run_steps(&log, target, stage, skipped, ctx, failed);
	commit_close_log(&log);
	return r;
}

int commit_apply(struct commit *c, struct outcome *out, struct err *e)
{
	char failed[PATH_BYTES_MAX + 1] = "";
	struct doing d = { c, out, false };
	int r = commit_take_steps(c->target, c->stage, commit_on_skipped, &d, failed);

	if (r < 0)
		return commit_error(e, r, c->whole && c->name ? c->name : failed);
	return d.changed;
}

/* --- after a kill ---------------------------------------------------------------------------------------- */

/* A step that fails now takes all of them back: the disk may have become full since. */
static int commit_recover_merge(struct intent_log *log, int target, int stage, bool *committed,
				char *failed)
{
	struct step_dirs g;
	int r = step_dirs_open(&g, target, stage);

	if (r < 0) { /* no stage of ours */
		step_dirs_close(&g);
		return 0;
	}
	g.since = log->since;
	g.again = true;
	if (log->state == LOG_REDO) {
		r = steps_run(&g, log, NULL, NULL, failed);
		*committed = r == 0;
	} else {
		r = steps_back(&g, log, log->n);
	}
	step_dirs_close(&g);
	return r == -ENOTRECOVERABLE ? r : 0;
}

static int commit_recover_log(struct intent_log *log, int target, int stage, bool *committed,
			      char *failed)
{
	struct stat sb;

	if (log->state == LOG_PLANNED)
		return 0;
	if (log->kind == LOG_WHOLE) {
		*committed = fstatat(stage, "tree", &sb, AT_SYMLINK_NOFOLLOW) < 0 &&
			     errno == ENOENT;
		return 0;
	}
	*committed = log->state == LOG_DONE;
	return *committed || target < 0 ?
		       0 :
		       commit_recover_merge(log, target, stage, committed, failed);
}

/* Not a log of ours: no step was taken under it. */
static bool commit_is_no_log(int r)
{
	return r == -ENOENT || r == -EBADMSG || r == -E2BIG || r == -ELOOP || r == -EISDIR ||
	       r == -ESPIPE;
}

int commit_recover(int target, int stage, bool *committed, struct err *e)
{
	char failed[PATH_BYTES_MAX + 1] = "";
	struct intent_log log;
	int r = commit_open_log(stage, &log);

	*committed = false;
	if (r == 0)
		r = commit_recover_log(&log, target, stage, committed, failed);
	else if (commit_is_no_log(r))
		r = 0;
	commit_close_log(&log);
	return r < 0 ? commit_error(e, r, failed) : 0;
}
