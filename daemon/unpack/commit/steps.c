/*
 * steps.c - executes the steps of an intent log, forwards or backwards.
 *
 * A step is idempotent in both directions. The staging directory alone shows whether it was taken: what was staged has
 * left it, or what was displaced is in it. The target does not, because others work in it. So the steps can be
 * taken, or taken back, again from the beginning after any interruption.
 *
 * A job can be killed anywhere, so every step is repeatable: it first determines from inodes and
 * stamps whether it was executed. Content is never copied into the target, only renamed, and what
 * is replaced moves to old/ under the step's number. So each step is atomic and reversible.
 *
 * The tree's user can interfere between a check and its rename. RENAME_NOREPLACE and
 * RENAME_EXCHANGE (renameat2(2)) never overwrite. After the rename the displaced entry is compared
 * with the plan, and moved back if it differs.
 */
#include "unpack/commit/merge.h"

#include "base/clock.h"

#include <fcntl.h>

/* --- places ------------------------------------------------------------------------------------------- */

struct location {
	int dir; /* borrowed */
	const char *leaf;
};

/* The places of the three things of a step. */
struct locations {
	struct location target, staged, old;
	char number[24];
	uint64_t since; /* of the log: what is newer in the target is not ours */
};

/* Errors that mean: others changed the tree since it was checked. */
static int as_changed(int r)
{
	static const int changed[] = { -EEXIST, -ENOENT, -ENOTDIR, -ELOOP, -ENOTEMPTY, -EBUSY };

	for (size_t i = 0; i < ARRAY_SIZE(changed); i++)
		if (r == changed[i])
			return 1;
	return r;
}

static int step_parent(struct held *h, const char *path, struct location *p)
{
	p->dir = held_parent(h, path, &p->leaf);
	if (p->dir >= 0)
		return 0;
	return p->dir == -EXDEV ? 1 : as_changed(p->dir);
}

/* If the directory of a part of the stage is missing, so is that part. If a directory of the target is missing, the
 * target is not as planned. */
static int locate(struct step_dirs *g, size_t i, const struct op *op, struct locations *p)
{
	int r = step_parent(&g->staged, op->path.p, &p->staged);

	if (r < 0)
		return r;
	snprintf(p->number, sizeof(p->number), "%zu", i);
	p->old = (struct location){ g->old, p->number };
	p->since = g->since;
	return step_parent(&g->target, op->path.p, &p->target);
}

static bool read_stamp(const struct location *p, struct stamp *id)
{
	struct stat sb;

	*id = (struct stamp){ 0 };
	if (p->dir < 0 || fstatat(p->dir, p->leaf, &sb, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	stamp_of(&sb, id);
	return true;
}

/* Its bytes are those it had; the rest changes with a rename. */
static bool same_bytes(const struct stamp *a, const struct stamp *b)
{
	return a->size == b->size && a->mtime == b->mtime && a->mode == b->mode;
}

static bool is_untouched(const struct stamp *now, const struct stamp *was)
{
	return now->ino == was->ino && same_bytes(now, was) &&
	       (!was->ctime || now->ctime == was->ctime);
}

/* --- moving ------------------------------------------------------------------------------------------- */

static bool is_unsupported(int r)
{
	return r == -EINVAL || r == -ENOSYS || r == -EOPNOTSUPP;
}

static int step_move(const struct location *from, const struct location *to, unsigned flags)
{
	return renameat2(from->dir, from->leaf, to->dir, to->leaf, flags) < 0 ? -errno : 0;
}

static int step_drop(const struct location *p)
{
	return unlinkat(p->dir, p->leaf, 0) < 0 ? -errno : 0;
}

/* For file systems whose rename has no flags: makes a second name, which replaces nothing, then removes the first one.
 * A directory has no second name; a plain rename replaces at most an empty directory. */
static int move_by_link(const struct location *from, const struct location *to)
{
	struct stamp a, b;

	if (linkat(from->dir, from->leaf, to->dir, to->leaf, 0) == 0)
		return step_drop(from);
	if (errno != EPERM && errno != EEXIST && errno != EOPNOTSUPP)
		return -errno;
	if (!read_stamp(from, &a))
		return -ENOENT;
	if (read_stamp(to, &b)) /* by a job that was killed in between? */
		return a.ino == b.ino && !S_ISDIR(b.mode) ? step_drop(from) : -EEXIST;
	return renameat(from->dir, from->leaf, to->dir, to->leaf) < 0 ? -errno : 0;
}

/* If this was interrupted in between, the move looks done. */
static void finish_move(const struct location *from, const struct location *to)
{
	struct stamp a, b;

	if (read_stamp(from, &a) && read_stamp(to, &b) && a.ino == b.ino && !S_ISDIR(b.mode))
		step_drop(from);
}

/* from becomes to, which must not exist. */
static int move_new(const struct location *from, const struct location *to)
{
	int r = step_move(from, to, RENAME_NOREPLACE);

	return is_unsupported(r) ? move_by_link(from, to) : r;
}

/* What was displaced is not what was checked: moves it back. */
static int displaced(const struct op *op, const struct location *where, const struct location *back,
		     unsigned flags)
{
	struct stamp id;

	if (!read_stamp(where, &id) || same_bytes(&id, &op->was))
		return 0;
	if (flags)
		step_move(where, back, flags);
	else
		move_new(where, back);
	return 1;
}

/* --- forward ------------------------------------------------------------------------------------------ */

static int redo_add(struct locations *p, const struct op *op)
{
	struct stamp staged;

	if (!read_stamp(&p->staged, &staged))
		return 0;
	return staged.ino == op->will.ino ? as_changed(move_new(&p->staged, &p->target)) : 1;
}

/* Moves the old one aside, then the new one in. */
static int exchange_by_steps(struct locations *p, const struct op *op)
{
	int r = as_changed(move_new(&p->target, &p->old));

	if (r == 0)
		r = displaced(op, &p->old, &p->target, 0);
	return r == 0 ? as_changed(move_new(&p->staged, &p->target)) : r;
}

static int redo_exchange(struct locations *p, const struct op *op)
{
	struct stamp staged, old, now;
	int r;

	if (!read_stamp(&p->staged, &staged) || staged.ino != op->will.ino)
		return 0;
	finish_move(&p->target, &p->old);
	if (read_stamp(&p->old, &old))
		return as_changed(move_new(&p->staged, &p->target));
	if (!read_stamp(&p->target, &now) || !is_untouched(&now, &op->was))
		return 1;
	r = step_move(&p->staged, &p->target, RENAME_EXCHANGE);
	if (is_unsupported(r))
		return exchange_by_steps(p, op);
	return r == 0 ? displaced(op, &p->staged, &p->target, RENAME_EXCHANGE) : as_changed(r);
}

static int redo_remove(struct locations *p, const struct op *op)
{
	struct stamp old, now;
	int r;

	finish_move(&p->target, &p->old);
	if (read_stamp(&p->old, &old) || !read_stamp(&p->target, &now))
		return 0;
	if (!is_untouched(&now, &op->was))
		return 1;
	r = move_new(&p->target, &p->old);
	return r == 0 ? displaced(op, &p->old, &p->target, 0) : as_changed(r);
}

static int redo_rmdir(struct locations *p, const struct op *op _unused_)
{
	if (unlinkat(p->target.dir, p->target.leaf, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	return as_changed(-errno);
}

/* Makes it with its mode at once, so that there is never a directory with another mode. */
static int step_make_dir(const struct location *at, mode_t mode)
{
	mode_t mask = umask(0);
	int r = mkdirat(at->dir, at->leaf, mode & 07777) < 0 ? -errno : 0;

	umask(mask);
	return r;
}

static int redo_mkdir(struct locations *p, const struct op *op)
{
	struct stamp now;
	int r = step_make_dir(&p->target, (mode_t)op->will.mode);

	if (r == -EEXIST && read_stamp(&p->target, &now) && S_ISDIR(now.mode))
		return 0;
	return as_changed(r);
}

static int set_mode(const struct location *at, uint64_t from, uint64_t to)
{
	_cleanup_(closep) int fd = held_open_dir_at(at->dir, at->leaf);
	struct stat sb;

	if (fd < 0)
		return as_changed(fd);
	if (fstat(fd, &sb) < 0)
		return -errno;
	if (sb.st_mode == to)
		return 0;
	if (sb.st_mode != from)
		return 1;
	return fchmod(fd, (mode_t)to & 07777) < 0 ? -errno : 0;
}

static int redo_chmod(struct locations *p, const struct op *op)
{
	return set_mode(&p->target, op->was.mode, op->will.mode);
}

/* --- back --------------------------------------------------------------------------------------------- */

struct newer {
	uint64_t since;
	bool found;
};

static int visit_newer(void *ctx, const char *path _unused_, int dir _unused_,
		       const char *leaf _unused_, const struct stat *sb)
{
	struct newer *n = ctx;

	/* a change of another name of the file shows in its ctime too */
	if (S_ISDIR(sb->st_mode) || sb->st_nlink == 1)
		n->found |= time_ns(&sb->st_ctim) > n->since;
	return n->found ? -ECANCELED : 0;
}

/* All in a staged directory is older than the log; what is newer was put there by others. */
static bool was_worked_in(const struct location *dir, uint64_t since)
{
	_cleanup_(closep) int fd = held_open_dir_at(dir->dir, dir->leaf);
	struct newer n = { .since = since };

	return fd < 0 || (held_walk(fd, visit_newer, &n) < 0) || n.found;
}

/* True if the target still has what the step brought. */
static bool is_brought(const struct location *target, const struct op *op)
{
	struct stamp now;

	return read_stamp(target, &now) && now.ino == op->will.ino && same_bytes(&now, &op->will);
}

static int undo_add(struct locations *p, const struct op *op)
{
	if (p->staged.dir < 0 || !is_brought(&p->target, op) ||
	    (S_ISDIR(op->will.mode) && was_worked_in(&p->target, p->since)))
		return 0;
	return as_changed(move_new(&p->target, &p->staged));
}

static int undo_exchange(struct locations *p, const struct op *op)
{
	struct stamp staged, old, now;
	bool kept = read_stamp(&p->old, &old);

	if (read_stamp(&p->staged, &staged) && staged.ino != op->will.ino && !kept)
		return is_brought(&p->target, op) ?
			       as_changed(step_move(&p->staged, &p->target, RENAME_EXCHANGE)) :
			       0;
	if (!kept)
		return 0;
	if (is_brought(&p->target, op)) {
		int r = as_changed(move_new(&p->target, &p->staged));

		if (r != 0)
			return r;
	}
	return read_stamp(&p->target, &now) ? 0 : as_changed(move_new(&p->old, &p->target));
}

static int undo_remove(struct locations *p, const struct op *op _unused_)
{
	struct stamp old;

	return read_stamp(&p->old, &old) ? as_changed(move_new(&p->old, &p->target)) : 0;
}

static int undo_rmdir(struct locations *p, const struct op *op)
{
	return as_changed(step_make_dir(&p->target, (mode_t)op->was.mode));
}

static int undo_chmod(struct locations *p, const struct op *op)
{
	return set_mode(&p->target, op->will.mode, op->was.mode);
}

/* --- one and all --------------------------------------------------------------------------------------- */

static const struct {
	enum op_kind kind;
	int (*redo)(struct locations *p, const struct op *op);
	int (*undo)(struct locations *p, const struct op *op);
} kinds[] = {
	{ OP_ADD, redo_add, undo_add },		 { OP_EXCHANGE, redo_exchange, undo_exchange },
	{ OP_REMOVE, redo_remove, undo_remove }, { OP_RMDIR, redo_rmdir, undo_rmdir },
	{ OP_MKDIR, redo_mkdir, redo_rmdir },	 { OP_CHMOD, redo_chmod, undo_chmod },
};

static size_t row_of(enum op_kind kind)
{
	size_t i = 0;

	while (kinds[i].kind != kind)
		i++;
	return i;
}

/* What was removed is not found again where the directory that it was in has gone too, or something else has come. */
static bool was_removed_before(const struct step_dirs *g, const struct locations *p,
			       const struct op *op)
{
	struct stamp now;

	if (!g->again)
		return false;
	if (op->kind == OP_RMDIR)
		return !read_stamp(&p->target, &now) || !S_ISDIR(now.mode);
	return op->kind == OP_REMOVE && read_stamp(&p->old, &now);
}

/* Takes step i. 1: the target is not as it was when the step was planned; nothing was done. */
static int step_redo(struct step_dirs *g, size_t i, const struct op *op)
{
	struct locations p;
	int r = locate(g, i, op, &p);

	if (op->kind == OP_RMDIR || op->kind == OP_MKDIR)
		/* The cached descriptor would still refer to the directory that the step
		 * replaces. */
		held_forget(&g->target, op->path.p);
	r = r == 0 ? kinds[row_of(op->kind)].redo(&p, op) : r;
	return r > 0 && was_removed_before(g, &p, op) ? 0 : r;
}

/* Undoes step i if it was taken, and if what it brought is still there as it was. */
static int step_undo(struct step_dirs *g, size_t i, const struct op *op)
{
	struct locations p;
	int r = locate(g, i, op, &p);

	held_forget(&g->target, op->path.p);
	r = r == 0 ? kinds[row_of(op->kind)].undo(&p, op) : r;
	return r > 0 ? 0 : r; /* what others changed since stays */
}

int steps_back(struct step_dirs *g, struct intent_log *log, size_t n)
{
	char line[INTENT_LOG_LINE_MAX];
	struct op op;
	int failed = 0;

	while (n-- > 0) {
		int r = intent_log_step(log, n, line, &op);

		if (r == 0)
			r = step_undo(g, n, &op);
		if (r < 0)
			failed = r;
	}
	return failed < 0 ? -ENOTRECOVERABLE : 0;
}

int steps_run(struct step_dirs *g, struct intent_log *log, step_skipped_fn skipped, void *ctx,
	      char failed[PATH_BYTES_MAX + 1])
{
	char line[INTENT_LOG_LINE_MAX];
	struct op op = { 0 };
	size_t i = 0;
	int r = 0, back;

	*failed = '\0';
	for (; r == 0 && i < log->n; i++) {
		r = intent_log_step(log, i, line, &op);
		if (r == 0)
			r = step_redo(g, i, &op);
		if (r > 0 && log->kind == LOG_EXACT)
			r = -EBUSY;
		if (r < 0)
			snprintf(failed, PATH_BYTES_MAX + 1, "%s", op.path.p ? op.path.p : "log");
		if (r > 0 && skipped)
			skipped(ctx, &op);
		r = MIN(r, 0);
	}
	if (r == 0) {
		intent_log_set(log, LOG_DONE); /* if not: the steps may be taken again */
		return 0;
	}
	/* Before the first step back: after a crash, recovery must continue backwards. */
	back = intent_log_set(log, LOG_UNDO);
	return back < 0 || steps_back(g, log, g->again ? log->n : i) < 0 ? -ENOTRECOVERABLE : r;
}

int step_dirs_open(struct step_dirs *g, int target, int stage)
{
	*g = (struct step_dirs){ .tree = held_open_dir_at(stage, "tree"),
				 .old = held_open_dir_at(stage, "old") };
	held_init(&g->target, target);
	held_init(&g->staged, g->tree);
	return g->tree < 0 ? g->tree : MIN(g->old, 0);
}

void step_dirs_close(struct step_dirs *g)
{
	held_done(&g->target);
	held_done(&g->staged);
	closep(&g->tree);
	closep(&g->old);
}
