/*
 * reown_job.c - the verb "reown": counts what below some trees belongs to given uids, or gives it to another, as root.
 *
 * Without "to" it only looks: how many entries there are ("entries", at most "max": TOO_MANY_ENTRIES), and whether
 * anything of these uids is in a tree that is named as foreign ("found"). With "to" every file, directory and link of
 * these uids, and of the groups of their numbers, is given to "to". The top itself stays as it is. Links are not
 * followed, what is mounted below is not entered, and the kernel clears setuid bits.
 *
 * chown as root is dangerous in a tree that its user can change. So trees are changed only if their
 * top belongs to root with mode 0700 and, where the caller gives it, has the expected inode (session/parts/users/parked_uids.h):
 * then no other user reaches an entry during the walk. fchownat uses the open directory and never
 * follows links. Foreign trees are only scanned.
 */
#include "unpack/small_jobs/small_job.h"

#include "base/util.h"
#include "base/limits.h"
#include "base/limits_parts.h"
#include "base/os/file.h"
#include "json/json.h"
#include "tree/held_tree.h"

struct reown_tree {
	char *path;
	int64_t ino; /* 0: any */
	bool foreign;
};

struct reown_job {
	struct slice trees, from;
	int64_t to, max;
	uid_t uids[REOWN_UIDS_MAX];
	size_t n;
	const struct reown_tree *tree; /* the one that is walked */
	struct reown_top {
		dev_t dev;
		ino_t ino;
	} * tops; /* of the trees that are not foreign */
	size_t ntops;
	uint64_t entries, found;
	struct verdict v;
};

static const struct jfield reown_fields[] = {
	JF_ARR(struct reown_job, trees, "trees", JF_REQUIRED),
	JF_ARR(struct reown_job, from, "from", JF_REQUIRED),
	JF_INT(struct reown_job, to, "to", 0, 1, UINT32_MAX - 1),
	JF_INT(struct reown_job, max, "max", 0, 1, INT64_MAX),
	JF_END,
};

static const struct jfield reown_tree_fields[] = {
	JF_STR(struct reown_tree, path, "path", JF_REQUIRED, PATH_BYTES_MAX),
	JF_INT(struct reown_tree, ino, "ino", 0, 0, INT64_MAX),
	JF_BOOL(struct reown_tree, foreign, "foreign", 0),
	JF_END,
};

static bool reown_is_of(const struct reown_job *j, uid_t id)
{
	for (size_t i = 0; i < j->n; i++)
		if (j->uids[i] == id)
			return true;
	return false;
}

static bool reown_is_top(const struct reown_job *j, const struct stat *sb)
{
	for (size_t i = 0; i < j->ntops; i++)
		if (j->tops[i].dev == sb->st_dev && j->tops[i].ino == sb->st_ino)
			return true;
	return false;
}

/* A tree that is named itself may lie in a foreign one. */
static int reown_look(void *ctx, const char *path _unused_, int dir _unused_,
		      const char *leaf _unused_, const struct stat *sb)
{
	struct reown_job *j = ctx;

	if (++j->entries > (uint64_t)j->max)
		return -E2BIG;
	if (!j->tree->foreign)
		return 0;
	if (S_ISDIR(sb->st_mode) && reown_is_top(j, sb))
		return 1;
	j->found += reown_is_of(j, sb->st_uid);
	return 0;
}

static int reown_give(void *ctx, const char *path _unused_, int dir, const char *leaf,
		      const struct stat *sb)
{
	struct reown_job *j = ctx;
	uid_t uid = reown_is_of(j, sb->st_uid) ? (uid_t)j->to : (uid_t)-1;
	gid_t gid = reown_is_of(j, sb->st_gid) ? (gid_t)j->to : (gid_t)-1;

	j->entries++;
	if (uid == (uid_t)-1 && gid == (gid_t)-1)
		return 0;
	j->found++;
	return fchownat(dir, leaf, uid, gid, AT_SYMLINK_NOFOLLOW) < 0 && errno != ENOENT ? -errno :
											   0;
}

/* Nobody but us can come into it. */
static bool is_shut(const struct stat *sb, const struct reown_tree *t)
{
	return sb->st_uid == geteuid() && !(sb->st_mode & 077) &&
	       (!t->ino || sb->st_ino == (ino_t)t->ino);
}

static int reown_walk(struct reown_job *j, const struct reown_tree *t)
{
	_cleanup_(closep) int dir =
		open(t->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat sb;
	int r;

	j->tree = t;
	if (dir < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
		return 0;
	if (dir < 0 || fstat(dir, &sb) < 0)
		return fail_with(&j->v, -errno, t->path, "opening the tree");
	if (j->to && !is_shut(&sb, t))
		return 0; /* another one is in its place */
	r = held_walk(dir, j->to ? reown_give : reown_look, j);
	if (r == -E2BIG)
		return fail_as(&j->v, "TOO_MANY_ENTRIES", t->path,
			       "the tree has too many files to be looked through");
	return r < 0 ? fail_with(&j->v, r, t->path, "walking the tree") : 0;
}

static int reown_take_from(struct reown_job *j)
{
	int64_t uid;

	jarr_each(v, j->from) {
		if (j->n == REOWN_UIDS_MAX || jdec_int(v, &uid) < 0 || uid < 1 || uid >= UINT32_MAX)
			return fail_as(&j->v, "PARAM_INVALID", "from", "from: not uids");
		j->uids[j->n++] = (uid_t)uid;
	}
	return 0;
}

static int reown_note_top(struct reown_job *j, const struct reown_tree *t)
{
	struct stat sb;

	if (!t->foreign && lstat(t->path, &sb) == 0)
		*GROW(j->tops, j->ntops) = (struct reown_top){ sb.st_dev, sb.st_ino };
	return 0;
}

static int reown_tree(struct reown_job *j, struct jval v,
		      int (*fn)(struct reown_job *j, const struct reown_tree *t))
{
	struct reown_tree t = { 0 };
	struct err e = { 0 };
	int r;

	if (v.type != J_OBJECT || jdec_object(v.raw, reown_tree_fields, "trees[].", &t, &e) < 0)
		return fail_as(&j->v, "PARAM_INVALID", "trees", "%s",
			       *e.msg ? e.msg : "trees: each must be an object");
	r = fn(j, &t);
	jdec_free(reown_tree_fields, &t);
	return r;
}

static int reown_each_tree(struct reown_job *j,
			   int (*fn)(struct reown_job *j, const struct reown_tree *t))
{
	jarr_each(v, j->trees) {
		int r = reown_tree(j, v, fn);

		if (r < 0)
			return r;
	}
	return 0;
}

static int reown_work(void *job, struct jw *w)
{
	struct reown_job *j = job;
	int r = reown_take_from(j);

	if (r == 0 && geteuid() != 0)
		r = fail_as(&j->v, "ACCESS_DENIED", NULL, "only root can give files away");
	if (r == 0)
		r = reown_each_tree(j, reown_note_top);
	if (r == 0)
		r = reown_each_tree(j, reown_walk);
	jw_uint(w, "entries", j->entries);
	jw_uint(w, "found", j->found);
	return r;
}

enum unpack_exit reown_run(struct slice line)
{
	struct reown_job j = { .max = INT64_MAX, .v = { .kind = VERDICT_NONE } };
	enum unpack_exit code = small_job_run(line, reown_fields, false, &j, &j.v, reown_work);

	free(j.tops);
	return code;
}
