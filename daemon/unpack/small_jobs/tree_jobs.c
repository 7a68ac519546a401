/*
 * tree_jobs.c - the frame of all small jobs, and those on one directory, each in a confined process of the tree's user:
 *
 *	recover	{target, manifest?, uid?, gid?}
 *		finishes or undoes what a killed extract job left there: {"done":{}}
 *	remove	{target, uid?, gid?}
 *		removes the directory with everything in it; missing is success: {"done":{}}
 *	skills	{directory, single?, uid?, gid?}
 *		checks the skills in a directory, or the one that it is (single):
 *		{"done":{"skills":[{"directory", "valid", "usable", "findings", ...}]}}
 *
 * The parent process only opens the directory as that user, and unlinks the empty one from its parent. A skills worker
 * answers with a whole line through a pipe, so that a crash never yields half an answer.
 */
#include "unpack/small_jobs/small_job.h"

#include "base/os/file.h"
#include "skill/skill.h"
#include "tree/dir_names.h"
#include "unpack/extract/extract_target.h"

struct tree_job {
	char *target, *manifest;
	int64_t uid, gid;
	bool single;
	struct user user;
	struct verdict v;
	int dir; /* the target, open */
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

enum unpack_exit small_job_run(struct slice line, const struct jfield *fields, bool absolute,
			       void *job, struct verdict *v, int (*work)(void *job, struct jw *w))
{
	JW_BUF(w, out);
	int r;

	jw_obj(&w, NULL);
	jw_obj(&w, "done");
	r = job_decode(line, fields, absolute, job, v);
	if (r == 0)
		r = work(job, &w);
	if (r == 0) {
		jw_end_obj(&w);
		jw_end_obj(&w);
		buf_putc(&out, '\n');
	} else if (r < 0) {
		buf_reset(&out);
		report_verdict(&out, v);
	}
	file_write_all(STDOUT_FILENO, out.data, out.len);
	jdec_free(fields, job);
	return r > 0 ? UNPACK_FAILED : report_exit(v);
}

static enum unpack_exit tree_job_run(struct slice line, const struct jfield *fields,
				     int (*work)(void *job, struct jw *w))
{
	struct tree_job c = { .uid = -1, .gid = -1, .dir = -1 };

	return small_job_run(line, fields, true, &c, &c.v, work);
}

/* The first step of each: whose the tree is. */
static int tree_job_user(struct tree_job *c)
{
	return user_of(&c->user, c->uid, c->gid < 0 ? c->uid : c->gid, &c->v);
}

/* --- recover and remove --------------------------------------------------------------------------------------- */

static int tree_recover(void *job, struct jw *w _unused_)
{
	struct tree_job *c = job;
	int r = tree_job_user(c);

	return r < 0 ? r : recover_target(c->target, &c->user, c->manifest, &c->v);
}

enum unpack_exit tree_job_recover(struct slice line)
{
	return tree_job_run(line, tree_fields, tree_recover);
}

/* What the tree's user may not remove stays. */
static int tree_empty(struct tree_job *c, int dir)
{
	int r = discard_as(&c->user, dir, NULL);

	if (r < 0)
		return fail_with(&c->v, r, NULL, "a worker process");
	return r ? fail_as(&c->v, "ACCESS_DENIED", NULL, "not all of it could be removed") : 0;
}

static int tree_remove(void *job, struct jw *w _unused_)
{
	struct tree_job *c = job;
	struct extract_target p = { .parent = -1, .target = -1, .stage = -1 };
	int r = tree_job_user(c);

	if (r == 0)
		r = target_open(&p, c->target, &c->user, &c->v);
	if (r == 0 && p.target >= 0)
		r = tree_empty(c, p.target);
	if (r == 0 && p.target >= 0) {
		target_enter(&p);
		if (unlinkat(p.parent, p.name, AT_REMOVEDIR) < 0 && errno != ENOENT)
			r = -errno;
		target_leave(&p);
		if (r < 0)
			fail_with(&c->v, r, NULL, "removing the directory");
	}
	target_close(&p);
	return r;
}

enum unpack_exit tree_job_remove(struct slice line)
{
	return tree_job_run(line, tree_fields, tree_remove);
}

/* --- skills ------------------------------------------------------------------------------------------------------ */

static int skills_check_one(int dir, const char *name, struct jw *w, struct verdict *v)
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

static int skills_want_visible(void *ctx _unused_, const char *name)
{
	return name[0] != '.';
}

static int skills_check_all(int dir, struct jw *w, struct verdict *v)
{
	_cleanup_(dir_names_done) struct dir_names names = { .text.max = TREE_NAMES_MAX };
	int r = dir_names_read(dir, skills_want_visible, NULL, &names);

	if (r < 0)
		return fail_with(v, r, NULL, "reading the skills");
	for (size_t i = 0; r == 0 && i < names.n; i++) {
		const char *name = dir_names_at(&names, i);
		_cleanup_(closep) int fd = held_open_dir_at(dir, name);

		if (fd >= 0)
			r = skills_check_one(fd, name, w, v);
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
		r = c->single ? skills_check_one(c->dir, *name ? name : NULL, &w, &c->v) :
				skills_check_all(c->dir, &w, &c->v);
	jw_end_arr(&w);
	if (r < 0) {
		buf_reset(&b);
		report_verdict(&b, &c->v);
	}
	file_write_all(answer, b.data, b.len);
	_exit(r < 0 ? 1 : 0);
}

/* Adds the worker's answer to w: the member that it found, or the whole line of a verdict. */
static int skills_check(struct tree_job *c, struct jw *w)
{
	struct worker_process p = WORKER_PROCESS_NONE;
	struct verdict v = { .kind = VERDICT_NONE };
	_cleanup_(buf_done) struct buf answer = { 0 };
	int code, r = worker_process_start(&p, skills_worker, c, &v);

	if (p.from < 0)
		return fail_with(&c->v, r, NULL, "opening the directory");
	if (r == 0)
		r = file_read_fd(p.from, 16 * MIB, &answer);
	code = worker_process_wait(&p);
	if (r < 0 || code == WORKER_KILLED || !buf_len(&answer))
		return fail_as(&c->v, "WORKER_DIED", NULL, "the check ended without an answer");
	if (code != 0)
		buf_reset(w->b);
	buf_add_slice(w->b, buf_slice(&answer));
	return code != 0;
}

static int skills_work(void *job, struct jw *w)
{
	struct tree_job *c = job;
	int r = tree_job_user(c);

	if (r < 0)
		return r;
	c->dir = user_open_dir(&c->user, c->target);
	if (c->dir < 0)
		return fail_with(&c->v, -errno, NULL, "opening the directory");
	r = skills_check(c, w);
	close(c->dir);
	return r;
}

enum unpack_exit tree_job_skills(struct slice line)
{
	return tree_job_run(line, skill_fields, skills_work);
}
