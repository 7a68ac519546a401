/*
 * draft_job.c - runs the four jobs on drafts, each as a supervisor process and a confined worker.
 *
 * The jobs on a draft. A draft is a tree that stands for another, the real one, until its changes are
 * applied: an overlay or a copy, which the daemon makes and mounts (session/draft/). view is where it is seen. The jobs
 * read both as the tree's user, and never what an overlay keeps beneath: its marks (whiteouts, opaque directories,
 * redirects) are the kernel's own business.
 *
 *	draft-begin	{root, base, copy?, maxBytes?, uid?, gid?}	the record of the real tree, and the copy
 *	draft-diff	{root, base, view, overlay?, patch, uid?, gid?}	what the draft changes; nothing is changed
 *	draft-apply	{root, base, view, overlay?, digest, force?, uid?, gid?}	applies it, if that is its digest
 *	draft-measure	{root, uid?, gid?}				bytes on the disk
 *
 * Refused: DRAFT_TOO_LARGE, DRAFT_CONFLICT (conflicts, conflictsTotal), PATCH_DIGEST_MISMATCH, PATH_NOT_CHANGED, TOO_MANY_ENTRIES,
 * TIME_LIMIT. As with extract, an apply that is killed is finished or undone by the next job for the tree.
 *
 * The supervisor opens everything with the rights that each path needs: the record as the daemon,
 * the trees as their user. The worker inherits descriptors only. The new record is written to
 * BASE.new and renamed by the supervisor after the worker succeeded. If an apply dies, clean_stage
 * finishes or undoes its log, and renames the record only if it was finished. settle() waits, so
 * that a change after it gets another ctime.
 */

#include "base/clock.h"
#include "base/os/file.h"
#include "unpack/draft/draft.h"
#include "unpack/extract/extract_target.h"
#include "unpack/small_jobs/small_job.h"

#include <time.h>

#define ANSWER_MAX (4 * MIB)

struct draft_params {
	char *root, *base, *copy, *view, *patch, *digest;
	int64_t max, uid, gid;
	struct slice force;
	bool overlay;
};

struct draft_job {
	const struct draft_verb *verb;
	struct draft_params job;
	struct user user;
	struct extract_target where; /* the real tree */
	struct sha256 digest;
	int view, copy, base, base_new, patch;
	char *new_path; /* of the base that is written */
	bool kept;	/* it is not to be removed */
	uint64_t until;
	struct worker_process worker;
	struct verdict v;
};

struct draft_verb {
	const char *word;
	const struct jfield *fields;
	int (*open)(struct draft_job *j);
	int (*work)(struct draft_job *j, struct jw *w); /* in the worker; 1: w is a whole refusal */
	int (*commit)(struct draft_job *j);
};

#define JOB_ROOT JF_STR(struct draft_params, root, "root", JF_REQUIRED, PATH_BYTES_MAX)
#define JOB_BASE JF_STR(struct draft_params, base, "base", JF_REQUIRED, PATH_BYTES_MAX - 8)
#define JOB_VIEW                                                                                   \
	JF_STR(struct draft_params, view, "view", JF_REQUIRED, PATH_BYTES_MAX),                    \
		JF_BOOL(struct draft_params, overlay, "overlay", 0)
#define JOB_USER                                                                                   \
	JF_INT(struct draft_params, uid, "uid", 0, 0, ID_MAX),                                     \
		JF_INT(struct draft_params, gid, "gid", 0, 0, ID_MAX)

static const struct jfield begin_fields[] = {
	JOB_ROOT,
	JOB_BASE,
	JF_STR(struct draft_params, copy, "copy", 0, PATH_BYTES_MAX),
	JF_INT(struct draft_params, max, "maxBytes", 0, 0, INT64_MAX),
	JOB_USER,
	JF_END,
};
static const struct jfield diff_fields[] = {
	JOB_ROOT, JOB_BASE,
	JOB_VIEW, JF_STR(struct draft_params, patch, "patch", JF_REQUIRED, PATH_BYTES_MAX),
	JOB_USER, JF_END,
};
static const struct jfield apply_fields[] = {
	JOB_ROOT,
	JOB_BASE,
	JOB_VIEW,
	JF_STR(struct draft_params, digest, "digest", JF_REQUIRED, 80),
	JF_ARR(struct draft_params, force, "force", 0),
	JOB_USER,
	JF_END,
};
static const struct jfield measure_fields[] = { JOB_ROOT, JOB_USER, JF_END };

/* --- opening ------------------------------------------------------------------------------------------------- */

static int open_as_user(struct draft_job *j, const char *path, int *ret)
{
	*ret = user_open_dir(&j->user, path);
	return *ret < 0 ? fail_with(&j->v, -errno, NULL, path) : 0;
}

static int open_base(struct draft_job *j)
{
	j->base = open(j->job.base, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (j->base >= 0)
		return 0;
	return errno == ENOENT ?
		       fail_as(&j->v, "STATE_DAMAGED", NULL, "the record of the draft is missing") :
		       fail_with(&j->v, -errno, NULL, "the record of the draft");
}

static int open_new_base(struct draft_job *j)
{
	j->new_path = xprintf("%s.new", j->job.base);
	j->base_new =
		open(j->new_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	return j->base_new < 0 ? fail_with(&j->v, -errno, NULL, "the new record of the draft") : 0;
}

/* Whatever an earlier one left there goes. */
static int open_copy(struct draft_job *j)
{
	int r;

	user_enter(&j->user);
	r = mkdir(j->job.copy, 0700) < 0 && errno != EEXIST ? -errno : 0;
	user_leave(&j->user);
	r = r < 0 ? fail_with(&j->v, r, NULL, "making the copy's directory") :
		    open_as_user(j, j->job.copy, &j->copy);
	if (r == 0 && discard_as(&j->user, j->copy, NULL) != 0)
		r = fail_as(&j->v, "ACCESS_DENIED", NULL, "an earlier copy cannot be removed");
	return r;
}

/* Stat data of what changed a moment ago prove nothing: another change could have the same. */
static void draft_settle(void)
{
	struct timespec pause = { 0, DRAFT_SETTLE_MS * NS_PER_MS };

	nanosleep(&pause, NULL);
}

static int open_begin(struct draft_job *j)
{
	int r = open_as_user(j, j->job.root, &j->where.target);

	if (r == 0 && j->job.copy)
		r = open_copy(j);
	draft_settle();
	return r == 0 ? open_new_base(j) : r;
}

static int draft_open_diff(struct draft_job *j)
{
	int r = open_as_user(j, j->job.root, &j->where.target);

	if (r == 0)
		r = open_as_user(j, j->job.view, &j->view);
	if (r == 0)
		r = open_base(j);
	if (r < 0 || !j->job.patch)
		return r;
	j->patch = open(j->job.patch, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	return j->patch < 0 ? fail_with(&j->v, -errno, NULL, "the patch") : 0;
}

static int draft_open_apply(struct draft_job *j)
{
	int r = recover_target(j->job.root, &j->user, j->job.base, &j->v);

	if (r == 0 && sha256_parse(slice_of(j->job.digest), &j->digest) < 0)
		r = bad_job(&j->v, "PARAM_INVALID", "digest", "not sha256: and 64 hex digits");
	if (r == 0)
		r = target_open(&j->where, j->job.root, &j->user, &j->v);
	if (r == 0 && j->where.target < 0)
		r = fail_as(&j->v, "TARGET_NOT_DIRECTORY", NULL, "the real tree is gone");
	j->where.whole = false; /* an empty one is worked on path by path, too */
	if (r == 0)
		r = open_as_user(j, j->job.view, &j->view);
	if (r == 0)
		r = open_base(j);
	draft_settle();
	if (r == 0)
		r = open_new_base(j);
	return r == 0 ? target_make_stage(&j->where, &j->v) : r;
}

static int open_measure(struct draft_job *j)
{
	return open_as_user(j, j->job.root, &j->where.target);
}

/* --- the worker ---------------------------------------------------------------------------------------------- */

static void put_begun(struct jw *w, const struct draft_begun *b)
{
	jw_uint(w, "entries", b->entries);
	jw_uint(w, "bytes", b->bytes);
	jw_uint(w, "leftOut", b->left_out);
}

static int work_begin(struct draft_job *j, struct jw *w)
{
	struct draft_begun begun;
	int r = draft_begin(j->where.target, j->copy, j->base_new, (uint64_t)j->job.max, j->until,
			    &begun, &j->v);

	put_begun(w, &begun);
	return r;
}

static int work_measure(struct draft_job *j, struct jw *w)
{
	struct draft_begun begun;
	int r = draft_measure(j->where.target, j->until, &begun, &j->v);

	put_begun(w, &begun);
	return r;
}

static int read_changes(struct draft_job *j, struct draft_trees *t, struct draft_changes *c)
{
	int r = draft_trees_open(t, j->view, j->where.target, j->base, j->job.overlay, j->until,
				 &j->v);

	*c = (struct draft_changes){ 0 };
	if (r == 0)
		draft_compare(t, c);
	return r;
}

static int work_diff(struct draft_job *j, struct jw *w)
{
	struct patch_stat stat = { 0 };
	struct draft_changes c;
	struct draft_trees t;
	uint64_t bytes = 0;
	int r = read_changes(j, &t, &c);

	if (r == 0)
		r = draft_patch(&t, &c, j->patch, &stat, &bytes, &j->v);
	draft_report(w, &c);
	patchfile_report(w, bytes, &stat);
	draft_changes_done(&c);
	draft_trees_close(&t);
	return r;
}

static int refuse_conflicts(struct jw *w, const struct draft_changes *c)
{
	jw_str(w, "reason", "DRAFT_CONFLICT");
	jw_str(w, "message", "the real tree has changed meanwhile where the draft has, too");
	draft_report_conflicts(w, c);
	return 1;
}

static int apply_changes(struct draft_job *j, struct draft_trees *t, struct draft_changes *c,
			 struct jw *w)
{
	const struct draft_target to = { j->where.target, j->where.stage, j->base_new };

	/* what is forced is what was seen under the digest */
	if (c->conflicts && !j->job.force.n)
		return refuse_conflicts(w, c);
	if (!sha256_equal(&c->digest, &j->digest))
		return refuse(&j->v, "PATCH_DIGEST_MISMATCH", NULL,
			      "this is not what the draft changes now");
	if (draft_force(c, j->job.force, &j->v) < 0)
		return -EINVAL;
	if (c->conflicts)
		return refuse_conflicts(w, c);
	return draft_apply(t, c, &to, &j->v);
}

static int work_apply(struct draft_job *j, struct jw *w)
{
	struct draft_changes c;
	struct draft_trees t;
	int r = read_changes(j, &t, &c);

	if (r == 0)
		r = apply_changes(j, &t, &c, w);
	draft_changes_done(&c);
	draft_trees_close(&t);
	return r;
}

/* What it reads and what it writes. */
static int draft_confine(struct draft_job *j)
{
	bool applies = j->where.stage >= 0;
	int write[] = { j->copy, -1, -1 }, read[] = { -1, -1, -1 };
	struct reach reach = { write, read };

	if (applies) {
		write[0] = j->where.stage;
		write[1] = j->where.target;
		read[0] = j->view;
	} else {
		read[0] = j->where.target;
		read[1] = j->view;
	}
	return confine_worker(&j->user, &reach, UINT64_MAX, &j->v);
}

static void draft_work(void *ctx, int answer)
{
	struct draft_job *j = ctx;
	struct buf members = { .max = ANSWER_MAX }, line = { .max = ANSWER_MAX };
	struct jw w = JW(&members);
	int r = draft_confine(j);

	if (r == 0)
		r = j->verb->work(j, &w);
	if (r < 0)
		report_verdict(&line, &j->v);
	else
		buf_printf(&line, "{\"%s\":{%.*s}}\n", r ? "refused" : "done", (int)members.len,
			   members.data ? members.data : "");
	file_write_all(answer, line.data, line.len);
	_exit(r > 0 ? UNPACK_REFUSED : r < 0 ? report_exit(&j->v) : UNPACK_DONE);
}

/* --- the keeper -------------------------------------------------------------------------------------------------- */

static int keep_base(struct draft_job *j)
{
	if (rename(j->new_path, j->job.base) < 0)
		return fail_with(&j->v, -errno, NULL, "the record of the draft");
	j->kept = true;
	return 0;
}

static int commit_begin(struct draft_job *j)
{
	struct stat sb;

	draft_settle();
	if (j->copy >= 0 && fstat(j->where.target, &sb) == 0) {
		user_enter(&j->user);
		(void)fchmod(j->copy, (sb.st_mode & 0777) | 0700);
		user_leave(&j->user);
	}
	return keep_base(j);
}

/* After any end of the worker: the log is finished or undone. If that fails, all stays for the next job. */
static void draft_clean_stage(struct draft_job *j)
{
	enum recovered end = recover_own_stage(&j->where);

	if (end == RECOVERED_NEW && !j->kept)
		(void)keep_base(j);
	j->kept |= end == RECOVERED_KEEP;
	if (end != RECOVERED_KEEP)
		target_remove_stage(&j->where);
}

static int draft_run(struct draft_job *j, struct slice line)
{
	int code, r = job_decode(line, j->verb->fields, true, &j->job, &j->v);

	if (r == 0)
		r = user_of(&j->user, j->job.uid, j->job.gid < 0 ? j->job.uid : j->job.gid, &j->v);
	if (r == 0)
		r = j->verb->open(j);
	if (r == 0)
		r = worker_process_start(&j->worker, draft_work, j, &j->v);
	code = r < 0 ? r :
		       worker_process_answer(&j->worker, ANSWER_MAX + KIB, j->until, DRAFT_SECS_MAX,
					     &j->v);
	if (code == UNPACK_DONE && j->verb->commit && (r = j->verb->commit(j)) < 0)
		return r;
	return code;
}

static void draft_clean_up(struct draft_job *j)
{
	int *const fds[] = { &j->view, &j->copy, &j->base, &j->base_new, &j->patch };

	worker_process_end(&j->worker);
	draft_clean_stage(j);
	if (j->new_path && !j->kept)
		unlink(j->new_path);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		closep(fds[i]);
	target_close(&j->where);
	free(j->new_path);
	jdec_free(j->verb->fields, &j->job);
}

static const struct draft_verb verbs[] = {
	{ "draft-begin", begin_fields, open_begin, work_begin, commit_begin },
	{ "draft-diff", diff_fields, draft_open_diff, work_diff, NULL },
	{ "draft-apply", apply_fields, draft_open_apply, work_apply, keep_base },
	{ "draft-measure", measure_fields, open_measure, work_measure, NULL },
};

static const struct draft_verb *verb_of(const char *word)
{
	const struct draft_verb *v = verbs;

	while (strcmp(v->word, word) != 0)
		v++;
	return v;
}

enum unpack_exit draft_job_run(const char *verb, struct slice line)
{
	_cleanup_(buf_done) struct buf answer = { .max = ANSWER_MAX + KIB };
	struct draft_job j = { .verb = verb_of(verb),
			       .job = { .uid = -1, .gid = -1, .max = INT64_MAX },
			       .where = { .parent = -1, .target = -1, .stage = -1 },
			       .view = -1,
			       .copy = -1,
			       .base = -1,
			       .base_new = -1,
			       .patch = -1,
			       .until = clock_mono_ms() + DRAFT_SECS_MAX * 1000ul,
			       .worker = WORKER_PROCESS_NONE };
	int code;

	keeper_signals();
	code = draft_run(&j, line);
	if (code >= 0)
		buf_add_slice(&answer, buf_slice(&j.worker.heard));
	else
		report_verdict(&answer, &j.v);
	if (code == UNPACK_DONE) /* what is reported is done; what follows only cleans up */
		file_write_all(STDOUT_FILENO, answer.data, answer.len);
	draft_clean_up(&j);
	if (code != UNPACK_DONE)
		file_write_all(STDOUT_FILENO, answer.data, answer.len);
	return code >= 0 ? (enum unpack_exit)code : report_exit(&j.v);
}
