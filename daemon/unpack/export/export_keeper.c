/*
 * export_keeper.c - the supervisor of an export job: opens files, forks the worker, awaits its
 * answer, commits.
 *
 * The order protects the daemon's files. The job is parsed and opened first, then the worker gives
 * up its rights. Files are renamed only after the worker reported success with a complete line. A
 * worker that is killed or exceeds its time leaves files under temporary names, which
 * export_job_free removes. The answer is printed after the commit.
 */
#include "unpack/export/export_keeper.h"

#include "base/clock.h"
#include "base/os/file.h"
#include "unpack/job/confine.h"
#include "unpack/export/export_jobs.h"
#include "unpack/job/unpack_report.h"
#include "unpack/job/worker_process.h"

#include <errno.h>
#include <fcntl.h>

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
static int enter(struct export_keeper *c)
{
	int tree[2] = { -1, -1 }, r;

	user_enter(&c->user);
	r = export_job_enter(c->job, &c->v);
	user_leave(&c->user);
	tree[0] = export_job_root(c->job);
	return r < 0 ? r :
		       confine_worker(&c->user, &(struct reach){ NULL, tree },
				      export_job_file_max(c->job), &c->v);
}

static void work(void *ctx, int answer)
{
	struct export_keeper *c = ctx;
	struct buf line = { 0 };
	int r = enter(c);

	if (r == 0)
		r = export_job_run(c->job, ARCHIVE_FD, &c->v);
	if (r == 0)
		export_job_done_line(c->job, &line);
	else
		report_verdict(&line, &c->v);
	file_write_all(answer, line.data, line.len);
	_exit(report_exit(&c->v));
}

/* --- the keeper ------------------------------------------------------------------------------------------- */

/* Reads the worker's output until its end. Returns its exit code; negative: the verdict says why. */
static int await_worker(struct export_keeper *c)
{
	struct worker_process *w = &c->worker;
	uint64_t seconds = export_job_seconds(c->job);
	uint64_t until = seconds ? clock_mono_ms() + 1000 * seconds + GRACE_MS : 0;
	int r;

	w->heard.max = ANSWER_MAX;
	while ((r = worker_process_hear(w, until, seconds, &c->v)) > 0)
		;
	if (r == 0)
		r = worker_process_wait(w);
	if (r < 0)
		return r;
	if (r == WORKER_KILLED || !buf_len(&w->heard) || w->heard.data[w->heard.len - 1] != '\n')
		return fail_as(&c->v, "WORKER_DIED", NULL, "the worker ended without an answer");
	return r;
}

static int run(struct export_keeper *c, const char *verb, struct slice line)
{
	int code, r;

	if ((strcmp(verb, "pack") == 0 || strcmp(verb, "bundle") == 0) &&
	    fcntl(ARCHIVE_FD, F_GETFD) < 0) {
		fail_as(&c->v, "JOB_INVALID", NULL, "descriptor 3 is not open");
		c->v.kind = VERDICT_BAD_JOB;
		return -EINVAL;
	}
	c->job = export_job_open(verb, line, &c->v);
	if (!c->job)
		return -EINVAL;
	r = user_of(&c->user, export_job_uid(c->job), export_job_gid(c->job), &c->v);
	if (r == 0)
		r = worker_process_start(&c->worker, work, c, &c->v);
	code = r < 0 ? r : await_worker(c);
	if (code == UNPACK_DONE && (r = export_job_commit(c->job, &c->v)) < 0)
		return r;
	if (code >= 0)
		file_write_all(STDOUT_FILENO, c->worker.heard.data, c->worker.heard.len);
	return code;
}

enum unpack_exit export_keeper_run(const char *verb, struct slice line)
{
	_cleanup_(buf_done) struct buf answer = { 0 };
	struct export_keeper c = { .worker = WORKER_PROCESS_NONE };
	int code;

	keeper_signals();
	code = run(&c, verb, line);
	worker_process_end(&c.worker);
	if (c.job)
		export_job_free(c.job);
	if (code >= 0)
		return (enum unpack_exit)code;
	report_verdict(&answer, &c.v);
	file_write_all(STDOUT_FILENO, answer.data, answer.len);
	return report_exit(&c.v);
}
