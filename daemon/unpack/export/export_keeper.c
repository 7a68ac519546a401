#include "unpack/export/export_keeper.h"

#include "base/clock.h"
#include "base/os/file.h"
#include "unpack/job/confine.h"
#include "unpack/export/export_jobs.h"
#include "unpack/extract/extract_recover.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#define ARCHIVE_FD 3
#define ANSWER_MAX (4 * MIB)
#define POLL_MS 500   /* a signal just before it waits */
#define GRACE_MS 2000 /* the worker ends by itself, unless the file system holds it */

struct export_keeper {
	struct export_job *job;
	struct user user;
	struct verdict v;
	struct buf heard; /* from the worker */
	pid_t worker;
	int from;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	interrupted = sig;
}

/* --- the worker ------------------------------------------------------------------------------------------- */

/* The tree is opened as its user: whoever may move it can move it to where only root gets. */
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

static _noreturn_ void work(struct export_keeper *c, int answer_fd)
{
	struct buf line = { 0 };
	int r = enter(c);

	if (r == 0)
		r = export_job_run(c->job, ARCHIVE_FD, &c->v);
	if (r == 0)
		export_job_done_line(c->job, &line);
	else
		report_verdict(&line, &c->v);
	file_write_all(answer_fd, line.data, line.len);
	_exit(report_exit(&c->v));
}

static int start_worker(struct export_keeper *c)
{
	int answer_fd[2];

	if (pipe2(answer_fd, O_CLOEXEC) < 0)
		return fail_with(&c->v, -errno, NULL, "a pipe");
	c->worker = fork();
	if (c->worker == 0) {
		close(answer_fd[0]);
		work(c, answer_fd[1]);
	}
	close(answer_fd[1]);
	c->from = answer_fd[0];
	return c->worker < 0 ? fail_with(&c->v, -errno, NULL, "a worker process") : 0;
}

/* --- the keeper ------------------------------------------------------------------------------------------- */

static int refuse_time(struct export_keeper *c, uint64_t seconds)
{
	return refuse_over(&c->v, "TIME_LIMIT", NULL, seconds, seconds, "seconds");
}

/* All the worker says, until it ends. */
static int hear(struct export_keeper *c)
{
	struct pollfd pfd = { .fd = c->from, .events = POLLIN };
	uint64_t seconds = export_job_seconds(c->job);
	uint64_t until = clock_mono_ms() + 1000 * seconds + GRACE_MS;

	c->heard.max = ANSWER_MAX;
	for (;;) {
		ssize_t n;

		if (interrupted)
			return fail_as(&c->v, "INTERRUPTED", NULL, "a signal ended the job");
		if (seconds && clock_mono_ms() > until)
			return refuse_time(c, seconds);
		if (poll(&pfd, 1, POLL_MS) <= 0)
			continue;
		if (buf_reserve(&c->heard, 64 * KIB) < 0)
			return fail_with(&c->v, -ENOMEM, NULL, "hearing the worker");
		n = read(c->from, c->heard.data + c->heard.len, 64 * KIB);
		if (n == 0)
			return 0;
		if (n > 0)
			c->heard.len += (size_t)n;
	}
}

/* The worker's exit code; negative: the verdict says why. */
static int await_worker(struct export_keeper *c)
{
	int status = 0, r = hear(c);

	if (r < 0)
		return r;
	while (waitpid(c->worker, &status, 0) < 0 && errno == EINTR)
		;
	c->worker = 0;
	if (!WIFEXITED(status) || !buf_len(&c->heard) || c->heard.data[c->heard.len - 1] != '\n')
		return fail_as(&c->v, "WORKER_DIED", NULL, "the worker ended without an answer");
	return WEXITSTATUS(status);
}

static int run(struct export_keeper *c, const char *verb, struct slice line)
{
	int code, r;

	if (strcmp(verb, "pack") == 0 && fcntl(ARCHIVE_FD, F_GETFD) < 0) {
		fail_as(&c->v, "JOB_INVALID", NULL, "descriptor 3 is not open");
		c->v.kind = VERDICT_BAD_JOB;
		return -EINVAL;
	}
	c->job = export_job_open(verb, line, &c->v);
	if (!c->job)
		return -EINVAL;
	r = user_of(&c->user, export_job_uid(c->job), export_job_gid(c->job), &c->v);
	if (r == 0)
		r = start_worker(c);
	code = r < 0 ? r : await_worker(c);
	if (code == UNPACK_DONE && (r = export_job_commit(c->job, &c->v)) < 0)
		return r;
	if (code >= 0)
		file_write_all(STDOUT_FILENO, c->heard.data, c->heard.len);
	return code;
}

enum unpack_exit export_keeper_run(const char *verb, struct slice line)
{
	struct sigaction act = { .sa_handler = on_signal };
	_cleanup_(buf_done) struct buf answer = { 0 };
	struct export_keeper c = { .from = -1 };
	int code;

	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGHUP, &act, NULL);
	signal(SIGPIPE, SIG_IGN);
	code = run(&c, verb, line);
	closep(&c.from);
	if (c.worker > 0)
		child_end(c.worker);
	if (c.job)
		export_job_free(c.job);
	buf_done(&c.heard);
	if (code >= 0)
		return (enum unpack_exit)code;
	report_verdict(&answer, &c.v);
	file_write_all(STDOUT_FILENO, answer.data, answer.len);
	return report_exit(&c.v);
}
