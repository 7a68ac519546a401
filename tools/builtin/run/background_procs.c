/*
 * background_procs.c - the processes in the background, the ended commands whose output is read on,
 * and their tools.
 *
 * Everything runs on the loop: a call is answered at once or waits in the list of its process. The
 * kernel reuses pids, so background_entry_find() searches from the newest entry. Only an ended process is evicted,
 * never a running one. A kept command (`kept`) is listed nowhere and serves getProcessOutput only.
 */
#include "tools/builtin/run/command_spec.h"

#include "base/limits.h"
#include "json/json.h"

#include <signal.h>

struct background_procs {
	struct toolbox *box;
	struct command_run_host *host;
	struct list all; /* oldest first */
	unsigned count;
};

/* A process in the background. */
struct proc_entry {
	struct list link;
	struct command_run *run;
	char *shown;
	bool ended;
	bool kept; /* not in the background: its output is read on */
	struct command_run_status status;
	struct list waiting;
};

/* A call that waits for its end. */
struct output_waiter {
	struct list link;
	struct builtin_call *call;
	struct proc_entry *entry;
	struct loop_timer timer;
};

/* The run of a process that has not ended belongs to the host, which ends and frees it. */
static void background_entry_free(struct background_procs *ps, struct proc_entry *p)
{
	list_del(&p->link);
	ps->count--;
	if (p->ended)
		command_run_free(p->run);
	free_each(p->shown, p);
}

/* The toolbox ends: waiting calls were cancelled before, and the host ends the processes. */
static void background_procs_free(void *p)
{
	struct background_procs *ps = p;

	list_each(e, &ps->all, struct proc_entry, link)
		background_entry_free(ps, e);
	command_run_host_free(ps->host);
	free(ps);
}

/* Made by the first use, and kept by the toolbox until it ends. */
static struct background_procs *background_procs_of(struct toolbox *b)
{
	struct background_procs *ps = toolbox_kept(b, PART_PROCESSES);

	if (ps)
		return ps;
	ps = new0(struct background_procs);
	ps->box = b;
	ps->host = command_run_host_new(toolbox_loop(b));
	list_init(&ps->all);
	toolbox_keep(b, PART_PROCESSES, ps, background_procs_free);
	return ps;
}

struct command_run_host *background_procs_host(struct toolbox *b)
{
	return background_procs_of(b)->host;
}

/* --- reports --------------------------------------------------------------------------------------- */

static void background_answer(struct builtin_call *c, const struct proc_entry *p)
{
	command_answer(c, p->shown, p->run, p->ended ? &p->status : NULL);
}

/* --- waiting -------------------------------------------------------------------------------------------- */

/* Returns the call, which still needs its answer. */
static struct builtin_call *waiter_free(struct output_waiter *wt)
{
	struct builtin_call *c = wt->call;

	loop_timer_cancel(&wt->timer);
	list_del(&wt->link);
	c->own = NULL;
	free(wt);
	return c;
}

static void background_wait_over(void *ctx)
{
	struct output_waiter *wt = ctx;
	struct proc_entry *p = wt->entry;

	background_answer(waiter_free(wt), p);
}

/* Answers after ms at the latest, or when the process ends. */
static void background_wait_for(struct builtin_call *c, struct proc_entry *p, uint64_t ms)
{
	struct output_waiter *wt = new0(struct output_waiter);

	wt->call = c;
	wt->entry = p;
	c->own = wt;
	list_add_tail(&p->waiting, &wt->link);
	loop_timer_set(toolbox_loop(c->box), &wt->timer, ms, background_wait_over, wt);
}

/* The process goes on; the waiting call is answered with its state. */
static void wait_cancel(struct builtin_call *c, bool timed_out _unused_)
{
	if (c->own)
		background_wait_over(c->own);
}

static void background_on_end(void *ctx, const struct command_run_status *st)
{
	struct proc_entry *p = ctx;

	p->ended = true;
	p->status = *st;
	list_each(wt, &p->waiting, struct output_waiter, link)
		background_answer(waiter_free(wt), p);
}

/* --- starting ------------------------------------------------------------------------------------------- */

/* Forgets the oldest that has ended, if there are too many. */
static int background_make_room(struct background_procs *ps, struct err *e)
{
	if (ps->count < RUN_BACKGROUND_MAX)
		return 0;
	list_each(p, &ps->all, struct proc_entry, link)
		if (p->ended) {
			background_entry_free(ps, p);
			return 0;
		}
	return err_set(e, -EAGAIN, 0, "TOO_MANY_PROCESSES",
		       "%d processes run in the background: end one first", RUN_BACKGROUND_MAX);
}

/* Fewer are kept only for their output, because no call has asked for it. */
static void kept_forget(struct background_procs *ps)
{
	unsigned n = 0;

	list_each(p, &ps->all, struct proc_entry, link)
		n += p->kept;
	list_each(p, &ps->all, struct proc_entry, link)
		if (p->kept && n >= RUN_ENDED_MAX) {
			background_entry_free(ps, p);
			n--;
		}
}

bool background_procs_keep(struct toolbox *b, struct command_run *r, const char *shown,
			   const struct command_run_status *st, char pid[PID_TEXT])
{
	struct background_procs *ps = background_procs_of(b);
	struct proc_entry *p;

	kept_forget(ps);
	if (background_make_room(ps, NULL) < 0)
		return false;
	p = new0(struct proc_entry);
	list_init(&p->waiting);
	p->run = r;
	p->shown = xstrdup(shown);
	p->status = *st;
	p->ended = p->kept = true;
	list_add_tail(&ps->all, &p->link);
	ps->count++;
	command_pid(r, pid);
	return true;
}

static const struct command_run_events events = { NULL, background_on_end };

void background_procs_start(struct builtin_call *c, struct command_spec *cmd, struct slice input)
{
	struct background_procs *ps = background_procs_of(c->box);
	struct proc_entry *p;
	bool stay = cmd->input;
	struct err e = { 0 };
	/* Room is made before the policy is asked: a human must not allow what then fails. */
	int r = background_make_room(ps, &e);

	p = new0(struct proc_entry);
	list_init(&p->link);
	list_init(&p->waiting);
	/* A pipe is needed for the first input, even if none comes later. */
	cmd->input = cmd->input || input.n;
	if (r == 0)
		r = command_start(c, cmd, &events, p, &p->run, &e);
	if (r < 0)
		tool_fail(c, &e, SLICE_NONE);
	if (r != 0) {
		free(p);
		return;
	}
	p->shown = TAKE_PTR(cmd->shown);
	list_add_tail(&ps->all, &p->link);
	ps->count++;
	if (input.n)
		command_run_write(p->run, input);
	if (!stay)
		command_run_close_input(p->run);
	background_answer(c, p);
}

/* --- the tools ------------------------------------------------------------------------------------------ */

/* The newest one of that number: a string as we gave it, or a plain number. */
static struct proc_entry *background_entry_find(struct builtin_call *c, struct err *e)
{
	struct jval v = tool_arg(c, "pid");
	_cleanup_(freep) char *text = NULL;
	struct background_procs *ps = background_procs_of(c->box);
	int64_t pid = 0;

	/* 20 bytes: any longer text is not a number of 64 bits. */
	if (v.type == J_STRING && jstr_decode(v, 20, &text) == 0)
		v = (struct jval){ J_NUMBER, slice_of(text) };
	if (v.type != J_NUMBER || jdec_int(v, &pid) < 0) {
		err_field(e, "pid", "INVALID_ARGUMENT", "pid must be what runCommand gave");
		return NULL;
	}
	for (struct list *at = ps->all.prev; at != &ps->all; at = at->prev) {
		struct proc_entry *p = list_entry(at, struct proc_entry, link);

		if (command_run_pid(p->run) == (pid_t)pid)
			return p;
	}
	err_set(e, -ESRCH, 0, "PROCESS_NOT_FOUND", "no process %lld was started in the background",
		(long long)pid);
	return NULL;
}

static void get_start(struct builtin_call *c)
{
	struct err e = { 0 };
	struct proc_entry *p = background_entry_find(c, &e);

	if (!p)
		tool_fail(c, &e, SLICE_NONE);
	else if (tool_arg_bool(c, "wait", false) && !p->ended)
		background_wait_for(c, p, (uint64_t)tool_arg_int(c, "timeoutMs", RUN_WAIT_MS) + 1);
	else
		background_answer(c, p);
}

static const struct {
	const char *name;
	int signo;
} signals[] = {
	{ "SIGKILL", SIGKILL }, { "SIGTERM", SIGTERM }, { "SIGINT", SIGINT },
	{ "SIGHUP", SIGHUP },	{ "SIGUSR1", SIGUSR1 }, { "SIGUSR2", SIGUSR2 },
};

static int signal_number(const struct builtin_call *c)
{
	_cleanup_(freep) char *name = tool_arg_str(c, "signal");

	for (size_t i = 0; name && i < ARRAY_SIZE(signals); i++)
		if (strcmp(signals[i].name, name) == 0)
			return signals[i].signo;
	return SIGKILL;
}

static void kill_start(struct builtin_call *c)
{
	struct err e = { 0 };
	struct proc_entry *p = background_entry_find(c, &e);
	int signo = signal_number(c);

	if (!p) {
		tool_fail(c, &e, SLICE_NONE);
		return;
	}
	if (p->ended || c->dry_run) {
		background_answer(c, p);
		return;
	}
	if (signo == SIGKILL)
		command_run_kill(p->run);
	else if (signo == SIGTERM)
		command_run_stop(p->run, STOP_TERM_MS);
	else
		command_run_signal(p->run, signo);
	/* Only these two end the process in any case. After another signal it may continue. */
	if (signo == SIGKILL || signo == SIGTERM)
		background_wait_for(c, p, RUN_WAIT_MS);
	else
		background_answer(c, p);
}

static void write_start(struct builtin_call *c)
{
	_cleanup_(buf_done) struct buf data = { 0 };
	struct err e = { 0 };
	struct proc_entry *p = background_entry_find(c, &e);
	int r = p ? 0 : -ESRCH;

	tool_arg_bytes(c, "data", &data);
	if (p && !c->dry_run) {
		r = p->ended ? -EPIPE : command_run_write(p->run, buf_slice(&data));
		if (r == 0 && tool_arg_bool(c, "close", false))
			command_run_close_input(p->run);
		if (r < 0)
			err_set(&e, r, 0, r == -EPIPE ? "STDIN_CLOSED" : "STDIN_FULL",
				r == -EPIPE ? "its stdin is closed" : "it does not read its stdin");
	}
	if (r < 0)
		tool_fail(c, &e, SLICE_NONE);
	else
		background_answer(c, p);
}

static void list_start(struct builtin_call *c)
{
	JW_BUF(w, out);
	struct background_procs *ps = background_procs_of(c->box);
	char pid[PID_TEXT];

	jw_arr(&w, "processes");
	list_each(p, &ps->all, struct proc_entry, link) {
		if (p->kept)
			continue;
		jw_obj(&w, NULL);
		command_pid(p->run, pid);
		jw_str(&w, "pid", pid);
		jw_str(&w, "command", p->shown);
		jw_uint(&w, "executionTime", command_run_elapsed(p->run));
		jw_bool(&w, "success", command_succeeded(p->ended ? &p->status : NULL));
		command_put_end(&w, p->ended ? &p->status : NULL);
		jw_end_obj(&w);
	}
	jw_end_arr(&w);
	tool_done(c, buf_slice(&out));
}

/* --- the table ------------------------------------------------------------------------------------------ */

#define PID_IN TF_ANY("pid", TOOL_REQUIRED, "what runCommand gave: a string, or the number in it")
#define TAIL_IN                                                                                    \
	TF_INT("tail", 0,                                                                          \
	       "only so many lines at the end of stdout and of stderr; 0: all that is kept",       \
	       .max = INT32_MAX)

static const char *const stream_words[] = { "stdout", "stderr", NULL };

static const struct tool_field get_in[] = {
	PID_IN,
	TAIL_IN,
	TF_INT("offset", 0,
	       "instead: what it wrote to stream from this byte on, or from the first after it that is kept",
	       .max = SAFE_INT_MAX),
	TF_INT("length", 0, "with offset: most bytes; default: as many as are shown at a time",
	       .min = 1, .max = RUN_KEEP_MAX),
	TF_STRING("stream", 0, "with offset: which", .fallback = "\"stdout\"",
		  .words = stream_words),
	TF_BOOL("wait", 0, "answer when it has ended"),
	TF_INT("timeoutMs", 0, "wait no longer; it goes on running (default 30000)",
	       .max = RUN_TIME_MAX),
	{ 0 },
};

static const char *const signal_words[] = { "SIGKILL", "SIGTERM", "SIGINT", "SIGHUP",
					    "SIGUSR1", "SIGUSR2", NULL };

static const struct tool_field kill_in[] = {
	PID_IN,
	TAIL_IN,
	TF_STRING(
		"signal", 0,
		"SIGKILL: all of its processes at once. SIGTERM: its process group, after 2 s SIGKILL to all. "
		"Others: its process group, and nothing is waited for",
		.fallback = "\"SIGKILL\"", .words = signal_words),
	{ 0 },
};

static const struct tool_field write_in[] = {
	PID_IN,
	TAIL_IN,
	TF_STRING("data", TOOL_BYTES, "text for its stdin; a newline is not added"),
	TF_BOOL("close", 0, "its stdin ends after that"),
	{ 0 },
};

static const struct tool_field list_in[] = { { 0 } };

static const struct tool_field listed[] = {
	TF_STRING("pid", TOOL_REQUIRED, "names it"),
	TF_STRING("command", TOOL_REQUIRED, "what was run"),
	TF_INT("executionTime", TOOL_REQUIRED, "milliseconds"),
	COMMAND_OUT_END,
	{ 0 },
};

static const struct tool_field list_out[] = {
	TF_OBJECTS("processes", TOOL_REQUIRED,
		   "oldest first; those that have ended are kept for a while", .sub = listed),
	{ 0 },
};

const struct builtin_tool process_tools[] = {
	BUILTIN_TOOL(
		"getProcessOutput", "Get output of a process",
		"What a process in the background has written so far, and whether and how it has ended. "
		"With offset it reads on in what runCommand has left out.",
		CATEGORY_READ, HINT_READ_ONLY, get_in, command_out, .start = get_start,
		.cancel = wait_cancel),
	BUILTIN_TOOL(
		"killProcess", "End a process",
		"Ends a process in the background with everything it started, and returns the end of its output.",
		CATEGORY_EXECUTE, HINT_DESTRUCTIVE | HINT_IDEMPOTENT, kill_in, command_out,
		.start = kill_start, .cancel = wait_cancel),
	BUILTIN_TOOL(
		"writeProcessInput", "Write to a process",
		"Writes to the stdin of a process that runCommand started in the background with stdin \"pipe\".",
		CATEGORY_EXECUTE, 0, write_in, command_out, .start = write_start),
	BUILTIN_TOOL("listProcesses", "List processes",
		     "The processes that were started in the background.", CATEGORY_READ,
		     HINT_READ_ONLY | HINT_IDEMPOTENT, list_in, list_out, .start = list_start),
	{ 0 },
};
