/*
 * command_run.c - one running command on the loop: its streams, its time limits, its end.
 *
 * The reaper process (command_keeper.h) reports the end of the command, then the end of everything
 * below it. on_exit needs that and the end of both pipes; after STOP_DRAIN_MS the pipes are closed,
 * because an unkillable process may hold them. Signals pass through the reaper, which alone knows
 * that the pid is still the command.
 */
#include "tools/builtin/run/command_run.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/strv.h"
#include "tools/builtin/run/command_keeper.h"

#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin" /* where a child has none */

struct command_run_host {
	struct loop *loop;
	struct list runs;
};

/* In this order: a state is never left for an earlier one. */
enum command_run_state { RUN_ACTIVE, RUN_STOPPING, RUN_KILLED, RUN_ENDED };

struct command_run {
	struct list link;
	struct command_run_host *host;
	const struct command_run_events *ev;
	void *ctx;
	enum command_run_state state;
	pid_t keeper, pid;
	bool has_status; /* the keeper has reported how the command ended */
	bool is_done, input_has_end;
	uint64_t started;
	struct command_run_status status;
	struct loop_io words, in, stream[RUN_STREAMS];
	struct buf in_buf;
	struct command_output output[RUN_STREAMS];
	struct loop_timer timer, kill_timer;
	struct loop_task exit_task;
};

struct command_run_host *command_run_host_new(struct loop *loop)
{
	struct command_run_host *h = new0(struct command_run_host);

	h->loop = loop;
	list_init(&h->runs);
	return h;
}

/* --- how it ends ------------------------------------------------------------------------------------- */

static void command_run_report(void *ctx)
{
	struct command_run *r = ctx;

	r->ev->on_exit(r->ctx, &r->status);
}

/* Three ends make the whole: the keeper's socket and both pipes. Called after each of them. */
static void check_done(struct command_run *r)
{
	if (r->is_done || r->words.fd >= 0 || r->stream[RUN_STDOUT].fd >= 0 ||
	    r->stream[RUN_STDERR].fd >= 0)
		return;
	r->is_done = true;
	loop_timer_cancel(&r->kill_timer);
	/* From the loop, because the owner frees the run in on_exit, and the callers of this
	 * function still use it. */
	loop_defer(r->host->loop, &r->exit_task, command_run_report, r);
}

/* Something that could not be killed still holds a pipe: the output ends with what has been read. */
static void command_run_drain_over(void *ctx)
{
	struct command_run *r = ctx;

	for (int s = 0; s < RUN_STREAMS; s++)
		loop_io_close(r->host->loop, &r->stream[s]);
	check_done(r);
}

/* The command itself has ended; processes that it started may still run, and write. */
static void command_run_ended(struct command_run *r, int status)
{
	r->has_status = true;
	r->state = RUN_ENDED;
	r->status.exited = WIFEXITED(status);
	r->status.code = r->status.exited ? WEXITSTATUS(status) : WTERMSIG(status);
	r->status.ms = clock_mono_ms() - r->started;
	loop_timer_cancel(&r->timer);
	loop_timer_cancel(&r->kill_timer);
	loop_io_close(r->host->loop, &r->in);
}

/* Nothing is left below the keeper. If it never reported how the command ended it was killed itself, and the command
 * died with it (PDEATHSIG): others of its process group may live on. */
static void keeper_gone(struct command_run *r)
{
	loop_io_close(r->host->loop, &r->words);
	if (!r->has_status) {
		kill(-r->pid, SIGKILL);
		command_run_ended(r, SIGKILL);
	}
	RETRY(waitpid(r->keeper, NULL, 0));
	loop_timer_set(r->host->loop, &r->kill_timer, STOP_DRAIN_MS, command_run_drain_over, r);
	check_done(r);
}

static void on_word(void *ctx, uint32_t events _unused_)
{
	struct command_run *r = ctx;
	struct command_keeper_word word;
	int got = command_keeper_read(r->words.fd, &word);

	if (got == -EAGAIN)
		return;
	if (got > 0) {
		keeper_gone(r);
		return;
	}
	r->status.left = word.left;
	r->status.cpu_us = word.cpu_us;
	command_run_ended(r, word.code);
}

void command_run_kill(struct command_run *r)
{
	if (r->state >= RUN_KILLED)
		return;
	r->state = RUN_KILLED;
	r->status.killed = true;
	command_keeper_signal(r->words.fd, SIGKILL);
}

static void term_over(void *ctx)
{
	command_run_kill(ctx);
}

/* Asks first, then kills. A second call can shorten the grace, and never lengthens it. */
void command_run_stop(struct command_run *r, uint64_t grace_ms)
{
	if (r->state > RUN_STOPPING)
		return;
	if (r->state == RUN_ACTIVE)
		command_keeper_signal(r->words.fd, SIGTERM);
	r->state = RUN_STOPPING;
	r->status.killed = true;
	if (!r->kill_timer.due || r->kill_timer.due > clock_mono_ms() + grace_ms)
		loop_timer_set(r->host->loop, &r->kill_timer, grace_ms, term_over, r);
}

void command_run_signal(struct command_run *r, int signo)
{
	if (r->state < RUN_KILLED)
		command_keeper_signal(r->words.fd, signo);
}

static void time_over(void *ctx)
{
	struct command_run *r = ctx;

	r->status.timed_out = true;
	command_run_stop(r, STOP_TERM_MS);
}

/* --- its streams ------------------------------------------------------------------------------------- */

static void command_run_read(struct command_run *r, enum command_run_stream s)
{
	/* Static, because it is large for a stack, and commands run on the loop alone. */
	static char chunk[CHILD_READ_BYTES];
	ssize_t n = read(r->stream[s].fd, chunk, sizeof(chunk));
	struct slice bytes = { chunk, n > 0 ? (size_t)n : 0 };

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		loop_io_close(r->host->loop, &r->stream[s]);
		check_done(r);
		return;
	}
	command_output_add(&r->output[s], bytes);
	if (r->ev->on_output)
		r->ev->on_output(r->ctx, s, bytes);
}

static void command_run_on_stdout(void *ctx, uint32_t events _unused_)
{
	command_run_read(ctx, RUN_STDOUT);
}

static void command_run_on_stderr(void *ctx, uint32_t events _unused_)
{
	command_run_read(ctx, RUN_STDERR);
}

static void flush_input(struct command_run *r)
{
	while (buf_len(&r->in_buf)) {
		ssize_t n =
			RETRY(write(r->in.fd, r->in_buf.data + r->in_buf.pos, buf_len(&r->in_buf)));

		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) { /* it reads no more; its end will show why */
			loop_io_close(r->host->loop, &r->in);
			return;
		}
		buf_consume(&r->in_buf, (size_t)n);
	}
	buf_trim(&r->in_buf, CHILD_READ_BYTES);
	/* Without input, EPOLLOUT must be off: an empty pipe is always writable, and the loop would
	 * spin. */
	if (!buf_len(&r->in_buf) && r->input_has_end)
		loop_io_close(r->host->loop, &r->in);
	else
		loop_io_set(r->host->loop, &r->in, buf_len(&r->in_buf) ? EPOLLOUT : 0);
}

static void command_run_on_input(void *ctx, uint32_t events _unused_)
{
	flush_input(ctx);
}

int command_run_write(struct command_run *r, struct slice bytes)
{
	int e;

	if (r->in.fd < 0 || r->input_has_end)
		return -EPIPE;
	e = buf_add_slice(&r->in_buf, bytes);
	if (e == 0)
		flush_input(r);
	return e;
}

void command_run_close_input(struct command_run *r)
{
	r->input_has_end = true;
	if (r->in.fd >= 0)
		flush_input(r);
}

/* --- how it begins ----------------------------------------------------------------------------------- */

/* dir/program if it can be executed; dir is taken from cwd if it is relative. */
static char *executable(const char *cwd, struct slice dir, const char *program)
{
	bool absolute = dir.n && dir.p[0] == '/';
	_cleanup_(freep) char *path = xprintf("%s%s%.*s%s%s", absolute ? "" : cwd,
					      absolute ? "" : "/", (int)dir.n, dir.p,
					      dir.n ? "/" : "", program);
	struct stat st;

	/* A directory can have the execute bit, too, so only a regular file counts. */
	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || access(path, X_OK) < 0)
		return NULL;
	return TAKE_PTR(path);
}

char *command_run_which(const char *program, char *const *env, const char *cwd, struct err *e)
{
	const char *path = strv_env(env, "PATH");
	char *found = NULL;

	if (!path)
		path = DEFAULT_PATH;
	if (program[0] == '/') {
		found = executable("", SLICE_NONE, program + 1);
	} else if (strchr(program, '/')) {
		found = executable(cwd, SLICE_NONE, program);
	} else {
		for (const char *p = path; p && *program && !found; p = *p ? p + 1 : NULL) {
			struct slice dir = { p, strcspn(p, ":") };

			/* An empty entry of PATH is the working directory, as in execvp. */
			found = executable(cwd, dir, program);
			p += dir.n;
		}
	}
	if (!found)
		err_set(e, -ENOENT, RPC_INTERNAL_ERROR, "COMMAND_NOT_FOUND",
			"%s: command not found", program);
	return found;
}

static void command_run_watch(struct command_run *r, struct loop_io *io, int fd,
			      void (*fn)(void *, uint32_t))
{
	*io = (struct loop_io){ .fd = fd, .fn = fn, .ctx = r };
	/* Input is watched only while there is something to write. */
	if (fn != command_run_on_input)
		loop_io_set(r->host->loop, io, EPOLLIN);
}

struct command_run *command_run_start(struct command_run_host *h,
				      const struct command_run_spec *spec,
				      const struct command_run_events *ev, void *ctx, struct err *e)
{
	struct proc_spec child = { .argv = spec->argv, .env = spec->env, .cwd = spec->cwd };
	struct command_keeper k;
	struct command_run *r;

	/* Before the start, so the time of a fork under load counts, too. */
	uint64_t started = clock_mono_ms();

	if (command_keeper_start(&child, spec->remove, &k, e) < 0)
		return NULL;
	r = new0(struct command_run);
	*r = (struct command_run){
		.host = h, .ev = ev, .ctx = ctx, .keeper = k.pid, .pid = k.command.pid
	};
	r->started = started;
	r->in_buf.max = CHILD_IN_MAX;
	command_run_watch(r, &r->words, k.sock, on_word);
	command_run_watch(r, &r->in, k.command.in, command_run_on_input);
	command_run_watch(r, &r->stream[RUN_STDOUT], k.command.out, command_run_on_stdout);
	command_run_watch(r, &r->stream[RUN_STDERR], k.command.errout, command_run_on_stderr);
	for (int s = 0; s < RUN_STREAMS; s++)
		command_output_init(&r->output[s], spec->keep);
	if (!spec->input)
		command_run_close_input(r);
	if (spec->timeout_ms)
		loop_timer_set(h->loop, &r->timer, spec->timeout_ms, time_over, r);
	list_add_tail(&h->runs, &r->link);
	return r;
}

struct command_run *command_run_free(struct command_run *r)
{
	if (!r)
		return NULL;
	list_del(&r->link);
	loop_timer_cancel(&r->timer);
	loop_timer_cancel(&r->kill_timer);
	loop_task_cancel(&r->exit_task);
	loop_io_close(r->host->loop, &r->in);
	loop_io_close(r->host->loop, &r->words);
	for (int s = 0; s < RUN_STREAMS; s++) {
		loop_io_close(r->host->loop, &r->stream[s]);
		command_output_done(&r->output[s]);
	}
	buf_done(&r->in_buf);
	free(r);
	return NULL;
}

/* Waits until the end of the keeper's socket: then nothing is left. */
static void await_keeper(struct command_run *r)
{
	struct command_keeper_word word;

	while (r->words.fd >= 0) {
		struct pollfd p = { r->words.fd, POLLIN, 0 };

		/* The keeper kills for this long at most; then it is given up. */
		if (poll(&p, 1, SWEEP_ROUNDS * SWEEP_ROUND_MS) == 0)
			break;
		if (command_keeper_read(r->words.fd, &word) > 0) {
			waitpid(r->keeper, NULL, 0);
			break;
		}
	}
}

struct command_run_host *command_run_host_free(struct command_run_host *h)
{
	if (!h)
		return NULL;
	/* All are notified before the first one is awaited, so they end at the same time. */
	list_each(r, &h->runs, struct command_run, link)
		if (r->words.fd >= 0)
			command_keeper_signal(r->words.fd, SIGKILL);
	list_each(r, &h->runs, struct command_run, link) {
		await_keeper(r);
		command_run_free(r);
	}
	free(h);
	return NULL;
}

pid_t command_run_pid(const struct command_run *r)
{
	return r->pid;
}

const struct command_output *command_run_output(const struct command_run *r,
						enum command_run_stream s)
{
	return &r->output[s];
}

uint64_t command_run_elapsed(const struct command_run *r)
{
	return r->has_status ? r->status.ms : clock_mono_ms() - r->started;
}
