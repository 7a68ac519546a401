/*
 * draft_apply.c - stages the changes of a draft, writes them as an exact intent log, and runs the
 * steps.
 *
 * What is new is copied into the stage's tree/, and while it is copied, held against the digests of the change set. Then
 * every step is written into the stage's log (commit/intent_log.h, an exact one), and taken. Whoever is killed leaves the
 * stage: with a log that counts, the next job for the tree takes the steps again (extract/extract_recover.c).
 *
 * All of it is work of the tree's user, confined.
 *
 * The order: copy and verify the new content, set modes, write the record of the tree afterwards,
 * write the log, run it. Nothing in the real tree changes before the log is complete. The steps
 * open directories first and close them last, because a directory whose mode denies its owner
 * access cannot be worked in. Removals run children first, arrivals parents first. A new directory
 * is moved with everything in it by one step.
 */

#include "base/os/file.h"
#include "base/util.h"
#include "unpack/commit/merge.h"
#include "unpack/draft/draft.h"

#define OWNER_ALL 0700

struct applying {
	struct draft_trees *t;
	const struct draft_changes *c;
	const struct draft_target *to;
	struct held tree; /* of the stage */
	bool *along;
	struct intent_log_writer log;
	struct verdict *v;
};

static bool is_new_dir(const struct draft_change *d)
{
	return d->will.type == NODE_DIR && d->was.type != NODE_DIR;
}

static bool is_chmod(const struct draft_change *d)
{
	return d->will.type == NODE_DIR && d->was.type == NODE_DIR;
}

/* What is there has to go before what comes can come: one of both is a directory, or nothing. */
static bool is_removed(const struct draft_change *d)
{
	return d->was.type && !is_chmod(d) &&
	       (!d->will.type || d->was.type == NODE_DIR || d->will.type == NODE_DIR);
}

/* Which changes lie in a new directory: they come with it, by one step. */
static bool *find_along(const struct draft_changes *c)
{
	bool *along = xalloc((c->n + 1) * sizeof(*along));
	const char *dir = NULL;

	for (size_t i = 0; i < c->n; i++) {
		along[i] = dir && path_below(c->v[i].path, dir);
		if (!along[i])
			dir = is_new_dir(&c->v[i]) ? c->v[i].path : NULL;
	}
	return along;
}

/* --- staging ----------------------------------------------------------------------------------------------------- */

static int changed_since(struct applying *a, const char *path)
{
	return refuse(a->v, "PATCH_DIGEST_MISMATCH", path,
		      "the draft has changed since the patch was shown");
}

static int stage_one(struct applying *a, const struct draft_change *d)
{
	struct held *from = &a->t->in_view;
	struct draft_sent sent = { .digest = d->will.digest };
	const char *leaf;
	/* The directories above it are there in the target; in the stage they only hold it. */
	int r = MIN(held_parent_made(&a->tree, d->path, 0700, &leaf), 0);

	if (r == 0 && d->will.type == NODE_DIR)
		return held_mkdir(&a->tree, d->path, 0700);
	if (r == 0 && d->will.type == NODE_LINK)
		r = draft_link_copy(from, &a->tree, d->path, &sent);
	else if (r == 0)
		r = draft_file_copy(from, &a->tree, d->path, (mode_t)d->will.id.mode,
				    d->will.id.size, &sent);
	if (r == -EFBIG || r == -ENOENT || r == -ELOOP || r == -EINVAL || r == -ENOTDIR ||
	    (r == 0 && !sha256_equal(&sent.digest, &d->will.digest)))
		return changed_since(a, d->path);
	return r;
}

static int stage_all(struct applying *a)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < a->c->n; i++) {
		const struct draft_change *d = &a->c->v[i];

		if (d->will.type && !is_chmod(d))
			r = stage_one(a, d);
		if (r < 0)
			return fail_with(a->v, r, d->path, "copying a change");
	}
	return 0;
}

/* Innermost first: a directory may close itself. Only who may write in a directory can move it, so that comes last for
 * those that are moved. */
static int apply_close_dirs(struct applying *a)
{
	int r = 0;

	for (size_t i = a->c->n; r == 0 && i-- > 0;) {
		const struct draft_change *d = &a->c->v[i];
		mode_t mode = (mode_t)d->will.id.mode & 07777;

		if (is_new_dir(d))
			r = held_chmod(&a->tree, d->path, a->along[i] ? mode : mode | OWNER_ALL);
	}
	return r < 0 ? fail_with(a->v, r, NULL, "setting modes") : 0;
}

/* --- the log ------------------------------------------------------------------------------------------------------- */

/* As steps compare it: of a file with other names its ctime says nothing. */
static struct stamp step_stamp(struct applying *a, const struct draft_change *d)
{
	struct stamp id = d->was.id;
	struct seen seen;

	if (seen_look(&a->t->in_real, d->path, &seen) == 0 && !seen.id.ctime)
		id.ctime = 0;
	return id;
}

static int put_removal(struct applying *a, const struct draft_change *d)
{
	struct stamp was = step_stamp(a, d);

	return intent_log_put(&a->log, d->was.type == NODE_DIR ? OP_RMDIR : OP_REMOVE, d->path,
			      &was, NULL);
}

static int put_arrival(struct applying *a, const struct draft_change *d)
{
	struct stamp was = step_stamp(a, d), will;
	struct stat sb;
	int r = held_stat(&a->tree, d->path, &sb);

	if (r < 0)
		return r;
	stamp_of(&sb, &will);
	return is_removed(d) || !d->was.type ?
		       intent_log_put(&a->log, OP_ADD, d->path, NULL, &will) :
		       intent_log_put(&a->log, OP_EXCHANGE, d->path, &was, &will);
}

/* One that lets its owner in has its mode first, one that does not, last. */
static int put_modes(struct applying *a, bool first)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < a->c->n; i++) {
		const struct draft_change *d = &a->c->v[i];
		bool opens;
		struct stamp was = { .mode = d->was.id.mode }, will = { .mode = d->will.id.mode };

		if (a->along[i] || d->will.type != NODE_DIR)
			continue;
		opens = (will.mode & OWNER_ALL) == OWNER_ALL;
		if (is_new_dir(d))
			was.mode = will.mode | OWNER_ALL;
		if (opens == first && was.mode != will.mode)
			r = intent_log_put(&a->log, OP_CHMOD, d->path, &was, &will);
	}
	return r;
}

static int put_steps(struct applying *a)
{
	int r = put_modes(a, true);

	for (size_t i = a->c->n; r == 0 && i-- > 0;)
		if (is_removed(&a->c->v[i]))
			r = put_removal(a, &a->c->v[i]);
	for (size_t i = 0; r == 0 && i < a->c->n; i++) {
		const struct draft_change *d = &a->c->v[i];

		if (!a->along[i] && d->will.type && !is_chmod(d))
			r = put_arrival(a, d);
	}
	return r == 0 ? put_modes(a, false) : r;
}

static int write_log(struct applying *a)
{
	int fd = openat(a->to->stage, "log", O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			0600);
	int r = fd < 0 ? -errno : intent_log_begin(&a->log, fd, LOG_EXACT);

	if (r == 0)
		r = put_steps(a);
	if (r == 0)
		r = intent_log_end(&a->log);
	intent_log_writer_done(&a->log);
	closep(&fd);
	return r < 0 ? fail_with(a->v, r, NULL, "writing the log") : 0;
}

/* --- doing it -------------------------------------------------------------------------------------------------------- */

static int fail_steps(struct applying *a, int r, const char *path)
{
	if (r == -EBUSY)
		return refuse(a->v, "DRAFT_CONFLICT", path, "the real tree has changed meanwhile");
	if (r == -ENOTRECOVERABLE)
		return fail_as(a->v, "UNDO_INCOMPLETE", path, "not everything could be put back");
	return fail_with(a->v, r, path, "applying a change");
}

static int take_steps(struct applying *a)
{
	char failed[PATH_BYTES_MAX + 1] = "";
	int r = commit_take_steps(a->to->target, a->to->stage, NULL, NULL, failed);

	return r < 0 ? fail_steps(a, r, failed) : 0;
}

static int apply_run(struct applying *a)
{
	int r = stage_all(a);

	if (r == 0)
		r = apply_close_dirs(a);
	if (r == 0)
		r = draft_base_after(a->t, a->c, a->to->base);
	if (r < 0)
		return fail_with(a->v, r, NULL, "the record of the draft");
	r = write_log(a);
	return r == 0 ? take_steps(a) : r;
}

int draft_apply(struct draft_trees *t, const struct draft_changes *c, const struct draft_target *to,
		struct verdict *v)
{
	struct applying a = { .t = t, .c = c, .to = to, .v = v };
	_cleanup_(closep) int tree = -1;
	int r;

	umask(0);
	if (mkdirat(to->stage, "tree", 0700) < 0 || mkdirat(to->stage, "old", 0700) < 0)
		return fail_with(v, -errno, NULL, "making the staging tree");
	tree = held_open_dir_at(to->stage, "tree");
	if (tree < 0)
		return fail_with(v, tree, NULL, "making the staging tree");
	held_init(&a.tree, tree);
	a.along = find_along(c);
	r = apply_run(&a);
	free(a.along);
	held_done(&a.tree);
	return r;
}
