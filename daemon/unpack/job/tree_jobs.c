/*
 * tree_jobs.c - the jobs recover, remove and skills: one directory, one answer.
 *
 * All three share one frame that decodes the job, runs it and prints a verdict or "done". Reading
 * and deleting happens in a confined process of the tree's user; the parent process only opens the
 * directory as that user, and unlinks the empty one from its parent. A skills worker answers with a
 * whole line through a pipe, so that a crash never yields half an answer.
 */
#include "unpack/job/tree_jobs.h"

#include "base/os/file.h"
#include "json/jdec.h"
#include "skill/skill.h"
#include "tree/dir_names.h"
#include "tree/held_tree.h"
#include "unpack/extract/extract_recover.h"
#include "unpack/job/discard.h"
#include "unpack/job/worker_process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#define ID_MAX 4294967294LL

struct tree_job {
	char *target, *manifest;
	int64_t uid, gid;
	bool single;
	struct user user;
	struct verdict v;
	int dir;	   /* the target, open; -1: absent */
	struct buf answer; /* members of "done", or with whole the line */
	bool whole;
};

static const struct jfield tree_fields[] = {
	JF_STR(struct tree_job, target, "target", JF_REQUIRED, PATH_BYTES_MAX),
	JF_STR(struct tree_job, manifest, "manifest", 0, PATH_BYTES_MAX - 8),
	JF_INT(struct tree_job, uid, "uid", 0, 0, ID_MAX),
	JF_INT(struct tree_job, gid, "gid", 0, 0, ID_MAX),
	JF_END,
};

static const struct jfield skill_fields[] = {
	JF_STR(struct tree_job, target, "directory", JF_REQUIRED, PATH_BYTES_MAX),
	JF_BOOL(struct tree_job, single, "single", 0),
	JF_INT(struct tree_job, uid, "uid", 0, 0, ID_MAX),
	JF_INT(struct tree_job, gid, "gid", 0, 0, ID_MAX),
	JF_END,
};

/* --- the frame -------------------------------------------------------------------------------------------- */

static int decode(struct tree_job *c, struct slice line, const struct jfield *fields)
{
	int r = job_decode(line, fields, c, &c->target, &c->v);

	if (r < 0)
		return r;
	return user_of(&c->user, c->uid, c->gid < 0 ? c->uid : c->gid, &c->v);
}

static enum unpack_exit run(struct slice line, const struct jfield *fields,
			    int (*work)(struct tree_job *c))
{
	struct tree_job c = { .uid = -1, .gid = -1, .dir = -1 };
	_cleanup_(buf_done) struct buf out = { 0 };
	int r = decode(&c, line, fields);

	if (r == 0)
		r = work(&c);
	if (c.whole) {
		buf_add_slice(&out, buf_slice(&c.answer));
	} else if (r == 0) {
		buf_puts(&out, "{\"done\":{");
		buf_add_slice(&out, buf_slice(&c.answer));
		buf_puts(&out, "}}\n");
	} else {
		report_verdict(&out, &c.v);
	}
	file_write_all(STDOUT_FILENO, out.data, out.len);
	closep(&c.dir);
	buf_done(&c.answer);
	jdec_free(fields, &c);
	return r == 0 ? UNPACK_DONE : c.whole ? UNPACK_FAILED : report_exit(&c.v);
}

/* --- recover and remove --------------------------------------------------------------------------------------- */

static int recover(struct tree_job *c)
{
	return recover_target(c->target, &c->user, c->manifest, &c->v);
}

enum unpack_exit tree_job_recover(struct slice line)
{
	return run(line, tree_fields, recover);
}

/* What the tree's user may not remove stays. */
static int empty(struct tree_job *c)
{
	int r = discard_as(&c->user, c->dir, NULL);

	if (r < 0)
		return fail_with(&c->v, r, NULL, "a worker process");
	return r ? fail_as(&c->v, "ACCESS_DENIED", NULL, "not all of it could be removed") : 0;
}

static int remove_tree(struct tree_job *c)
{
	struct extract_target p = { .parent = -1, .target = -1, .stage = -1 };
	int r = target_open(&p, c->target, &c->user, &c->v);

	c->dir = p.target;
	if (r == 0 && p.target >= 0)
		r = empty(c);
	if (r == 0 && p.target >= 0) {
		target_enter(&p);
		if (unlinkat(p.parent, p.name, AT_REMOVEDIR) < 0 && errno != ENOENT)
			r = -errno;
		target_leave(&p);
		if (r < 0)
			fail_with(&c->v, r, NULL, "removing the directory");
	}
	c->dir = -1;
	target_close(&p);
	return r;
}

enum unpack_exit tree_job_remove(struct slice line)
{
	return run(line, tree_fields, remove_tree);
}

/* --- skills ------------------------------------------------------------------------------------------------------ */

static int check_one(int dir, const char *name, struct jw *w, struct verdict *v)
{
	_cleanup_(skill_report_done) struct skill_report r;
	struct err e;

	skill_report_init(&r);
	if (skill_check_dir(dir, name, &SKILL_LIMITS_DEFAULT, &r, &e) < 0)
		return fail_as(v, e.reason, name, "%s", e.msg);
	jw_obj(w, NULL);
	jw_str(w, "directory", name);
	skill_report_put(&r, w);
	jw_end_obj(w);
	return 0;
}

static int want_visible(void *ctx _unused_, const char *name)
{
	return name[0] != '.';
}

static int check_all(int dir, struct jw *w, struct verdict *v)
{
	_cleanup_(dir_names_done) struct dir_names names = { .text.max = TREE_NAMES_MAX };
	int r = dir_names_read(dir, want_visible, NULL, &names);

	if (r < 0)
		return fail_with(v, r, NULL, "reading the skills");
	for (size_t i = 0; r == 0 && i < names.n; i++) {
		const char *name = dir_names_at(&names, i);
		_cleanup_(closep) int fd = held_open_dir_at(dir, name);

		if (fd >= 0)
			r = check_one(fd, name, w, v);
	}
	return r;
}

/* The worker's half: its answer goes through a pipe, whole or not at all. */
static void skills_worker(void *ctx, int answer)
{
	struct tree_job *c = ctx;
	int dirs[] = { c->dir, -1 };
	struct buf b = { 0 };
	struct jw w = JW(&b);
	const char *name = strrchr(c->target, '/') + 1;
	int r = confine_worker(&c->user, &(struct reach){ NULL, dirs }, 0, &c->v);

	jw_arr(&w, "skills");
	if (r == 0)
		r = c->single ? check_one(c->dir, *name ? name : NULL, &w, &c->v) :
				check_all(c->dir, &w, &c->v);
	jw_end_arr(&w);
	if (r < 0) {
		buf_reset(&b);
		report_verdict(&b, &c->v);
	}
	file_write_all(answer, b.data, b.len);
	_exit(r < 0 ? 1 : 0);
}

static int check_skills(struct tree_job *c)
{
	struct worker_process w = WORKER_PROCESS_NONE;
	struct verdict v = { .kind = VERDICT_NONE };
	int code, r;

	user_enter(&c->user);
	c->dir = open(c->target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	user_leave(&c->user);
	if (c->dir < 0)
		return fail_with(&c->v, -errno, NULL, "opening the directory");
	r = worker_process_start(&w, skills_worker, c, &v);
	if (w.from < 0)
		return fail_with(&c->v, r, NULL, "opening the directory");
	if (r == 0)
		r = file_read_fd(w.from, 16 * MIB, &c->answer);
	code = worker_process_wait(&w);
	if (r < 0 || code == WORKER_KILLED || !buf_len(&c->answer))
		return fail_as(&c->v, "WORKER_DIED", NULL, "the check ended without an answer");
	c->whole = code != 0;
	return c->whole ? -EIO : 0;
}

enum unpack_exit tree_job_skills(struct slice line)
{
	return run(line, skill_fields, check_skills);
}
