/*
 * export_keeper.c - the supervisor of an export job: opens files, forks the worker, awaits its
 * answer, commits.
 *
 * The order protects the daemon's files. The job is parsed and opened first, then the worker gives
 * up its rights. Files are renamed only after the worker reported success with a complete line. A
 * worker that is killed or exceeds its time leaves files under temporary names, which
 * export_job_free removes. The answer is printed after the commit.
 */
#include "unpack/export/export_jobs.h"

#include "base/clock.h"
#include "base/os/file.h"
#include "unpack/job/worker_process.h"

#define ARCHIVE_FD 3
#define ANSWER_MAX (4 * MIB)
#define GRACE_MS 2500 /* the worker ends by itself, unless the file system blocks it */

struct export_keeper {
	struct export_job *job;
	struct user user;
	struct verdict v;
	struct worker_process worker;
};

/* --- the worker ------------------------------------------------------------------------------------------- */

/* The tree is opened as its user: its owner could move it to a place that only root can reach. */
static int export_enter(struct export_keeper *c)
{
	int tree[2] = { -1, -1 }, r;

	user_enter(&c->user);
	r = export_job_enter(c->job, &c->v);
	user_leave(&c->user);
	tree[0] = c->job->tree.root;
	return r < 0 ? r :
		       confine_worker(&c->user, &(struct reach){ NULL, tree },
				      export_job_file_max(c->job), &c->v);
}

static void export_put_done(struct export_job *o, struct buf *line)
{
	struct jw w = JW(line);

	jw_obj(&w, NULL);
	jw_obj(&w, "done");
	o->verb->report(o, &w);
	jw_end_obj(&w);
	jw_end_obj(&w);
	buf_putc(line, '\n');
}

static void export_work(void *ctx, int answer)
{
	struct export_keeper *c = ctx;
	struct buf line = { 0 };
	int r = export_enter(c);

	if (r == 0)
		r = c->job->verb->run(c->job, ARCHIVE_FD, &c->v);
	if (r == 0)
		export_put_done(c->job, &line);
	else
		report_verdict(&line, &c->v);
	file_write_all(answer, line.data, line.len);
	_exit(report_exit(&c->v));
}

/* --- the keeper ------------------------------------------------------------------------------------------- */

/* The descriptor is checked first: with none open, an archive would be written into whatever file is opened as 3. */
static int export_run(struct export_keeper *c, const char *verb, struct slice line)
{
	int code, r;

	if ((strcmp(verb, "pack") == 0 || strcmp(verb, "bundle") == 0) &&
	    fcntl(ARCHIVE_FD, F_GETFD) < 0)
		return bad_job(&c->v, "JOB_INVALID", NULL, "descriptor 3 is not open");
	c->job = export_job_open(verb, line, &c->v);
	if (!c->job)
		return -EINVAL;
	r = user_of(&c->user, c->job->job.uid, c->job->job.gid, &c->v);
	if (r == 0)
		r = worker_process_start(&c->worker, export_work, c, &c->v);
	if (r < 0)
		return r;
	code = worker_process_answer(
		&c->worker, ANSWER_MAX,
		c->job->seconds ? clock_mono_ms() + 1000 * c->job->seconds + GRACE_MS : 0,
		c->job->seconds, &c->v);
	/* Only a worker that has said that all is written makes its files count. */
	if (code == UNPACK_DONE && (r = snapshot_dir_commit(&c->job->state, &c->v)) < 0)
		return r;
	if (code >= 0)
		file_write_all(STDOUT_FILENO, c->worker.heard.data, c->worker.heard.len);
	return code;
}

enum unpack_exit export_keeper_run(const char *verb, struct slice line)
{
	struct export_keeper c = { .worker = WORKER_PROCESS_NONE };
	int code;

	keeper_signals();
	code = export_run(&c, verb, line);
	worker_process_end(&c.worker);
	if (c.job)
		export_job_free(c.job);
	return code >= 0 ? (enum unpack_exit)code : report_print(&c.v);
}
