/*
 * extract_recover.c - finds the stages that killed jobs left behind, and finishes or undoes each.
 *
 * A confined process of the tree's user handles a stage, because that user could write in it: it finishes or undoes the
 * log (commit.h), and removes everything in the stage. The keeper then removes the directory of the stage. An unlocked
 * stage belongs to no living process. In the target every such stage belongs to that target. Beside it only those whose
 * name says so (extract_target.h) do; others are removed if they were never committed.
 *
 * The lock on a stage shows whether its job lives: flock(2) locks end with the last process that
 * has the descriptor. A stage belongs to the tree's user, so its content is handled by a confined
 * process of that user. Removing the empty directory needs the rights of the place where it is. A
 * stage of another target is left alone once its rename happened: only its own next job knows the
 * manifest.
 */
#include "unpack/extract/extract_target.h"

#include "tree/held_tree.h"
#include "tree/path_rules.h"
#include "unpack/commit/commit.h"
#include "unpack/job/worker_process.h"

#include <fcntl.h>

#define LOCK_MS 2000

/* --- one stage --------------------------------------------------------------------------------------------- */

struct finishing {
	const struct user *user;
	int stage, target;
};

/* In a process of the tree's user: one of enum recovered. */
static int recover_finish(void *ctx)
{
	const struct finishing *f = ctx;
	int dirs[] = { f->stage, f->target, -1 };
	struct verdict v = { .kind = VERDICT_NONE };
	bool committed = false;
	struct err e;

	if (confine_worker(f->user, &(struct reach){ dirs, NULL }, TREE_MANIFEST_MAX, &v) < 0 ||
	    commit_recover(f->target, f->stage, &committed, &e) < 0)
		return RECOVERED_KEEP;
	held_empty(f->stage);
	return committed ? RECOVERED_NEW : RECOVERED_OLD;
}

/* Finishes or undoes the stage's log, and empties the stage. target: -1 if there is none. */
static enum recovered recover_stage(const struct user *user, int stage, int target)
{
	struct finishing f = { user, stage, target };
	int code = worker_process_run(recover_finish, &f);

	/* once more if it is killed: its work can be repeated */
	if (code == WORKER_KILLED)
		code = worker_process_run(recover_finish, &f);
	return code >= 0 && code <= RECOVERED_KEEP ? (enum recovered)code : RECOVERED_KEEP;
}

enum recovered recover_own_stage(struct extract_target *p)
{
	if (!p->stage_name[0])
		return RECOVERED_OLD;
	return recover_stage(&p->user, p->stage, p->whole ? -1 : p->target);
}

/* --- those of a target ------------------------------------------------------------------------------------ */

struct stage_search {
	struct extract_target *where;
	bool beside; /* in the target's parent, else in the target */
	unsigned old, new;
	bool busy; /* a living job's stage is there: its new manifest is not ours to check */
	struct verdict *v;
};

/* Opened, of the right user, and locked by us now; negative: nothing to do with it. */
static int recover_take(struct stage_search *s, int dir, const char *name, bool ours)
{
	_cleanup_(closep) int fd = held_open_dir_at(dir, name);
	struct stat sb;

	if (fd < 0 || fstat(fd, &sb) < 0)
		return -EBUSY;
	/* One that was killed a moment ago may not have died yet; one whose daemon was killed may be about to end well. */
	if (held_lock(fd, ours ? LOCK_MS : 0) < 0) {
		s->busy |= ours;
		return -EBUSY;
	}
	/* killed before it was given to the tree's user: then it is empty, and only an empty one is removed */
	if (s->beside && sb.st_uid != s->where->user.uid && sb.st_uid == getuid())
		target_unlink_stage(s->where, true, name);
	if (sb.st_uid != s->where->user.uid)
		return -EBUSY;
	return TAKE_FD(fd);
}

static int on_stage(struct stage_search *s, int dir, const char *name)
{
	bool ours = !s->beside || target_is_stage(s->where, name);
	_cleanup_(closep) int fd = recover_take(s, dir, name, ours);
	struct stat sb;

	if (fd < 0)
		return 0;
	/* that of another target, and committed: its own next job must find it */
	if (!ours && fstatat(fd, "tree", &sb, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	switch (recover_stage(&s->where->user, fd, s->beside ? -1 : s->where->target)) {
	case RECOVERED_KEEP:
		return !ours ? 0 :
			       fail_as(s->v, "RECOVERY_FAILED", name,
				       "what a killed job left can be neither finished nor undone");
	case RECOVERED_NEW:
		s->new += ours;
		break;
	case RECOVERED_OLD:
		s->old += ours;
		break;
	}
	target_unlink_stage(s->where, s->beside, name);
	return 0;
}

static int search_dir(struct stage_search *s, int dir)
{
	_cleanup_(held_list_closep) DIR *d = dir < 0 ? NULL : held_list(dir);
	struct dirent *e;
	int r = 0;

	while (r == 0 && d && (e = readdir(d)))
		if (slice_starts(slice_of(e->d_name), STAGE_PREFIX))
			r = on_stage(s, dir, e->d_name);
	return r;
}

static void finish_manifest(const char *manifest, bool committed)
{
	_cleanup_(freep) char *path = NULL;

	if (!manifest)
		return;
	path = xprintf("%s.new", manifest);
	if (committed)
		rename(path, manifest);
	else
		unlink(path);
}

int recover_target(const char *target, const struct user *user, const char *manifest,
		   struct verdict *v)
{
	struct extract_target where;
	struct stage_search s = { .where = &where, .beside = true, .v = v };
	int r = target_open(&where, target, user, v);

	if (r == 0)
		r = search_dir(&s, where.parent);
	s.beside = false;
	if (r == 0)
		r = search_dir(&s, where.target);
	/* no stage at all: it was killed before it had one */
	if (r == 0 && (s.old + s.new || !s.busy))
		finish_manifest(manifest, s.new > 0);
	target_close(&where);
	return r;
}
