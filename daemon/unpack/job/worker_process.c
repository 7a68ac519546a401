/*
 * worker_process.c - forks workers, reads their answers with a time limit, and reaps them.
 *
 * Two forms. worker_process_run is for work that answers with its exit code alone: forked, awaited, done. A struct
 * worker_process has an answer: what the worker writes into its pipe is read piece by piece by worker_process_hear,
 * which also notices the time limit and a signal to us (keeper_signals). Becoming the tree's user and confinement
 * (confine.h) are the work's own first step: it knows what it reaches.
 *
 * The supervisor polls with a short timeout. A signal that arrives between the check of the flag
 * and poll(2) is therefore noticed within POLL_MS. The pipe's end of file, not the exit, ends an
 * answer. Before waiting, the pipe is closed: a worker that still writes then gets EPIPE instead of
 * blocking forever.
 */
#include "unpack/job/worker_process.h"

#include "base/clock.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#define POLL_MS 500 /* a signal just before it waits */

static volatile sig_atomic_t interrupted;

static void keeper_on_signal(int sig)
{
	interrupted = sig;
}

void keeper_signals(void)
{
	struct sigaction act = { .sa_handler = keeper_on_signal };

	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGHUP, &act, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static int worker_reap(pid_t pid)
{
	int status = 0;

	RETRY(waitpid(pid, &status, 0));
	return WIFEXITED(status) ? WEXITSTATUS(status) : WORKER_KILLED;
}

int worker_process_run(int (*work)(void *ctx), void *ctx)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(work(ctx));
	return pid < 0 ? -errno : worker_reap(pid);
}

int worker_process_start(struct worker_process *w, void (*work)(void *ctx, int answer), void *ctx,
			 struct verdict *v)
{
	int ends[2], r;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return fail_with(v, -errno, NULL, "a pipe");
	w->pid = fork();
	if (w->pid == 0) {
		close(ends[0]);
		work(ctx, ends[1]);
		_exit(1);
	}
	r = w->pid < 0 ? -errno : 0;
	close(ends[1]);
	w->from = ends[0];
	return r < 0 ? fail_with(v, r, NULL, "a worker process") : 0;
}

int worker_process_hear(struct worker_process *w, uint64_t until, uint64_t seconds,
			struct verdict *v)
{
	struct pollfd pfd = { .fd = w->from, .events = POLLIN };
	int64_t left = until ? (int64_t)(until - clock_mono_ms()) : POLL_MS;
	ssize_t n;

	if (interrupted)
		return fail_as(v, "INTERRUPTED", NULL, "a signal ended the job");
	if (left <= 0)
		return refuse_over(v, "TIME_LIMIT", NULL, seconds, seconds, "seconds");
	if (poll(&pfd, 1, (int)MIN(left, POLL_MS)) <= 0)
		return 1;
	if (buf_reserve(&w->heard, 64 * KIB) < 0)
		return fail_with(v, -ENOMEM, NULL, "hearing the worker");
	n = read(w->from, w->heard.data + w->heard.len, 64 * KIB);
	if (n > 0)
		w->heard.len += (size_t)n;
	return n != 0;
}

int worker_process_wait(struct worker_process *w)
{
	int code = WORKER_KILLED;

	closep(&w->from);
	if (w->pid > 0)
		code = worker_reap(w->pid);
	w->pid = 0;
	return code;
}

int worker_process_answer(struct worker_process *w, size_t max, uint64_t until, uint64_t seconds,
			  struct verdict *v)
{
	int r;

	w->heard.max = max;
	while ((r = worker_process_hear(w, until, seconds, v)) > 0)
		;
	if (r == 0)
		r = worker_process_wait(w);
	if (r < 0)
		return r;
	/* half an answer is none */
	if (r == WORKER_KILLED || !buf_len(&w->heard) || w->heard.data[w->heard.len - 1] != '\n')
		return fail_as(v, "WORKER_DIED", NULL, "the worker ended without an answer");
	return r;
}

void worker_process_end(struct worker_process *w)
{
	closep(&w->from);
	if (w->pid > 0) {
		kill(w->pid, SIGKILL);
		worker_reap(w->pid);
	}
	w->pid = 0;
	buf_done(&w->heard);
}
