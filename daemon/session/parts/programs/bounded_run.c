/*
 * bounded_run.c - runs one untrusted program with a time limit and an output limit, and returns its
 * output.
 *
 * Every failure path (timeout, too much output, bounded_run_kill) only kills the process. bounded_on_exit
 * is the single place that calls done, after the process and its descendants have exited. The
 * environment gets the daemon's owner and session markers: without cgroups, descendants are found
 * by them.
 */
#include "session/parts/programs/bounded_run.h"

#include "base/buf.h"
#include "proc/table/process_tree.h"

struct bounded_run {
	struct proc *proc;
	struct loop_timer timer;
	struct buf output;
	struct run_result result;
	void (*done)(void *ctx, const struct run_result *result);
	void *ctx;
};

static void too_much(struct bounded_run *r)
{
	r->result.too_much = true;
	proc_kill(r->proc);
}

static int bounded_on_line(void *ctx, struct slice line)
{
	struct bounded_run *r = ctx;

	if (buf_add_slice(&r->output, line) == 0 && buf_putc(&r->output, '\n') == 0)
		return 0;
	too_much(r);
	return -E2BIG;
}

/* Without a fault it has only closed its output: what it does further is held by the time alone. */
static void bounded_on_closed(void *ctx, const char *fault)
{
	if (fault)
		too_much(ctx);
}

static void bounded_on_exit(void *ctx, const struct proc_status *st)
{
	struct bounded_run *r = ctx;

	loop_timer_cancel(&r->timer);
	r->result.too_much |= buf_add_slice(&r->output, st->rest) < 0;
	r->result.output = buf_slice(&r->output);
	r->result.errors = st->stderr_tail;
	r->result.exited = st->exited;
	r->result.code = st->code;
	r->done(r->ctx, &r->result);
}

static void on_timeout(void *ctx)
{
	struct bounded_run *r = ctx;

	r->result.timed_out = true;
	proc_kill(r->proc);
}

static const struct proc_events events = { bounded_on_line, bounded_on_closed, bounded_on_exit,
					   NULL, NULL };

/* By its markers what it leaves behind is found where there are no cgroups. */
static struct proc *bounded_spawn(struct bounded_run *r, struct proc_host *procs,
				  const struct run_spec *spec, struct err *e)
{
	char owner[sizeof(TREE_OWNER_ENV) + 1 + TREE_OWNER_MARK_MAX], session[64];
	_cleanup_(freep) char **env = NULL;
	static unsigned long count;
	struct proc_spec ps = { .argv = spec->argv,
				.cwd = spec->cwd,
				.session = session + sizeof(TREE_SESSION_ENV),
				.line_max = spec->output_max,
				.no_input = true };
	size_t n = 0;

	snprintf(owner, sizeof(owner), "%s=%s", TREE_OWNER_ENV, tree_owner_mark());
	snprintf(session, sizeof(session), "%s=program-%lu", TREE_SESSION_ENV, ++count);
	while (spec->env[n])
		n++;
	env = xalloc((n + 3) * sizeof(*env));
	memcpy(env, spec->env, n * sizeof(*env));
	env[n] = owner;
	env[n + 1] = session;
	ps.env = env;
	if (spec->bounds)
		ps.bounds = *spec->bounds;
	return proc_spawn(procs, &ps, &events, r, e);
}

struct bounded_run *bounded_run_start(struct loop *loop, struct proc_host *procs,
				      const struct run_spec *spec,
				      void (*done)(void *ctx, const struct run_result *result),
				      void *ctx, struct err *e)
{
	struct bounded_run *r = new0(struct bounded_run);

	r->output.max = spec->output_max;
	r->done = done;
	r->ctx = ctx;
	r->proc = bounded_spawn(r, procs, spec, e);
	if (!r->proc) {
		free(r);
		return NULL;
	}
	loop_timer_set(loop, &r->timer, spec->timeout_ms, on_timeout, r);
	return r;
}

void bounded_run_kill(struct bounded_run *r)
{
	proc_kill(r->proc);
}

struct bounded_run *bounded_run_free(struct bounded_run *r)
{
	if (!r)
		return NULL;
	loop_timer_cancel(&r->timer);
	proc_free(r->proc);
	buf_done(&r->output);
	free(r);
	return NULL;
}
