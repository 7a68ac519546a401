/*
 * upstream_stdio.c - the child process of a stdio server: start, lines, noise, end.
 *
 * The first reason for the end is kept; later ones follow from it. Calls end at once, and down is
 * reported after the exit, so two processes of a server never overlap. A child that exits during
 * the handshake is started once more for the other era. A freed object remains until its child has
 * exited. Lines that are not messages are skipped up to a limit.
 */
#include "tools/upstream/upstream_server.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/strv.h"
#include "proc/output/frames.h"
#include "tools/upstream/upstream.h"

#include <fcntl.h>
#include <inttypes.h>

struct mcp_stdio {
	struct upstream up;
	struct proc_host *procs;
	struct mcp_stdio_config config; /* our own copies */
	struct proc *proc;
	bool stopping; /* proc_stop was called, or the child is at its end anyway */
	bool freed;    /* by its owner, while the child lives */
	bool closed_output;
	struct noise noise;
	struct err why; /* of the end to come; reason "" until there is one */
};

/* --- configuration ---------------------------------------------------------------------------------------- */

/* Copies all that is borrowed, because a restart needs it long after the caller has freed its
 * own. The descriptor is duplicated. */
static void config_copy(struct mcp_stdio_config *to, const struct mcp_stdio_config *from)
{
	*to = *from;
	to->name = xstrdup(from->name);
	to->argv = strv_copy(from->argv);
	to->env = strv_copy(from->env);
	to->cwd = xstrdup(from->cwd);
	to->session = xstrdup(from->session);
	proc_bounds_keep(&to->bounds);
	/* 0 means that there are no data, so the copy must not get one of the numbers 0 to 2. */
	if (from->data)
		to->data = fcntl(from->data, F_DUPFD_CLOEXEC, 3);
	if (!to->start_ms)
		to->start_ms = MCP_START_MS;
}

static void config_free(struct mcp_stdio_config *c)
{
	free((void *)(uintptr_t)c->name);
	strv_free((char **)(uintptr_t)c->argv);
	strv_free((char **)(uintptr_t)c->env);
	free_each((void *)(uintptr_t)c->cwd, (void *)(uintptr_t)c->session);
	proc_bounds_drop(&c->bounds);
	if (c->data > 0)
		close(c->data);
}

/* --- the end ---------------------------------------------------------------------------------------------- */

/* Says why it ends; the first reason counts. */
static void because(struct mcp_stdio *s, const struct err *why)
{
	if (!s->why.reason[0])
		s->why = *why;
}

/* The calls end now, the child as soon as it can. */
static void mcp_stdio_wind_up(struct mcp_stdio *s, const struct err *why)
{
	because(s, why);
	s->stopping = true;
	if (s->proc)
		proc_stop(s->proc);
	upstream_end(&s->up, &s->why);
}

static void mcp_stdio_gone(struct err *e, const struct mcp_stdio *s, const char *reason,
			   const char *how)
{
	err_set(e, -EPIPE, RPC_INTERNAL_ERROR, reason, "the MCP server \"%s\" %s", s->config.name,
		how);
}

/* Describes the end of the child with the tail of its stderr, where servers say why. */
static void end_text(const struct mcp_stdio *s, const struct proc_status *st, struct err *e)
{
	size_t n = strlen(st->stderr_tail);
	const char *tail = st->stderr_tail + (n > 120 ? n - 120 : 0);
	char how[ERR_MSG_SIZE];

	if (s->closed_output && st->signalled && !st->exited) /* by proc_stop */
		snprintf(how, sizeof(how), "closed its standard output%s%s", *tail ? ": " : "",
			 tail);
	else
		snprintf(how, sizeof(how), "%s %d%s%s",
			 st->exited ? "exited with" : "was killed by signal", st->code,
			 *tail ? ": " : "", tail);
	mcp_stdio_gone(e, s, "SERVER_GONE", how);
}

static int mcp_stdio_break(struct mcp_stdio *s, const char *reason, const char *how)
{
	struct err e;

	mcp_stdio_gone(&e, s, reason, how);
	mcp_stdio_wind_up(s, &e);
	return -EPROTO;
}

static int mcp_stdio_spawn(struct mcp_stdio *s, struct err *e);

/* No child of it may run. */
static void object_free(struct mcp_stdio *s)
{
	upstream_done(&s->up);
	config_free(&s->config);
	free(s);
}

static void mcp_stdio_on_exit(void *ctx, const struct proc_status *st)
{
	struct mcp_stdio *s = ctx;
	struct err e;

	end_text(s, st, &e);
	s->proc = proc_free(s->proc);
	/* The owner and its context are gone: nothing may be reported. */
	if (s->freed) {
		object_free(s);
		return;
	}
	/* some legacy servers exit at any first message but initialize */
	if (!s->stopping && upstream_may_retry(&s->up) && mcp_stdio_spawn(s, &e) == 0)
		return;
	because(s, &e);
	/* A copy: a callback of a call may start the server again, which clears the reason. */
	e = s->why;
	upstream_end(&s->up, &e);
	if (s->up.events->down)
		s->up.events->down(s->up.ctx, &e);
}

static void mcp_stdio_on_closed(void *ctx, const char *fault)
{
	struct mcp_stdio *s = ctx;

	if (!fault) { /* its end will say more */
		s->closed_output = true;
		proc_stop(s->proc);
	} else {
		mcp_stdio_break(s, "SERVER_PROTOCOL", fault);
	}
}

static struct mcp_stdio *mcp_stdio_of(const struct upstream *u)
{
	return container_of(u, struct mcp_stdio, up);
}

static void mcp_stdio_on_refused(struct upstream *u, const struct err *why)
{
	struct mcp_stdio *s = mcp_stdio_of(u);
	struct err e = *why;

	err_wrap(&e, "the MCP server \"%s\"", s->config.name);
	mcp_stdio_wind_up(s, &e);
}

/* --- messages --------------------------------------------------------------------------------------------- */

static int mcp_stdio_on_send(void *wire, const struct upstream_rpc_out *out)
{
	struct mcp_stdio *s = wire;

	return s->proc ? proc_send(s->proc, out->text) : -EPIPE;
}

/* Does not log every line: noise_shown() limits how often. The counts are totals. */
static void log_odd(struct mcp_stdio *s, const char *what, struct slice line)
{
	struct noise_text first = { "" };

	if (!noise_shown(&s->noise, clock_mono_ms()))
		return;
	if (s->up.events->hide) {
		noise_text_set(&first, line);
		s->up.events->hide(s->up.ctx, first.text, sizeof(first.text));
		first.text[NOISE_SHOWN] = '\0';
	}
	log_warn("mcp", what, "server", s->config.name, "text", first.text, "skipped",
		 NUMBER_TEXT(s->noise.lines.skipped), "cleaned",
		 NUMBER_TEXT(s->noise.lines.cleaned));
}

/* For frames_take: a result below 0 ends it, above 0 means that the frame is not a message. */
static int mcp_stdio_take_frame(void *ctx, struct slice frame)
{
	struct mcp_stdio *s = ctx;

	if (s->freed || s->stopping)
		return -ECANCELED;
	return upstream_rpc_feed(&s->up.rpc, 0, frame) < 0;
}

static int mcp_stdio_skip_line(struct mcp_stdio *s, struct slice line)
{
	bool few = noise_skipped(&s->noise, line.n, clock_mono_ms());

	proc_host_noise(s->procs, NOISE_MCP)->skipped++;
	log_odd(s, "server output skipped", line);
	return few ? 0 :
		     mcp_stdio_break(s, "SERVER_PROTOCOL",
				     "writes too many lines that are not messages");
}

static void mcp_stdio_count_cleaned(struct mcp_stdio *s, struct slice line)
{
	s->noise.lines.cleaned++;
	proc_host_noise(s->procs, NOISE_MCP)->cleaned++;
	log_odd(s, "server output cleaned", line);
}

static int mcp_stdio_on_line(void *ctx, struct slice line)
{
	struct mcp_stdio *s = ctx;

	if (!line.n || s->freed || s->stopping || upstream_rpc_feed(&s->up.rpc, 0, line) == 0)
		return 0;
	switch (frames_take(line, mcp_stdio_take_frame, s)) {
	case FRAMES_TAKEN:
		mcp_stdio_count_cleaned(s, line);
		return 0;
	case FRAMES_BROKEN:
		log_odd(s, "server message broken", line);
		return mcp_stdio_break(s, "SERVER_PROTOCOL",
				       "wrote a message that cannot be parsed");
	default:
		return mcp_stdio_skip_line(s, line);
	}
}

/* A last message needs no newline. One that was cut off says less than the end does. */
static void mcp_stdio_on_rest(void *ctx, struct slice rest)
{
	struct mcp_stdio *s = ctx;

	if (s->freed || s->stopping || upstream_rpc_feed(&s->up.rpc, 0, rest) == 0)
		return;
	if (frames_take(rest, mcp_stdio_take_frame, s) == FRAMES_TAKEN)
		mcp_stdio_count_cleaned(s, rest);
	else
		mcp_stdio_skip_line(s, rest);
}

static const struct proc_events proc_events = {
	.on_line = mcp_stdio_on_line,
	.on_closed = mcp_stdio_on_closed,
	.on_exit = mcp_stdio_on_exit,
	.on_rest = mcp_stdio_on_rest,
};

/* --- interface -------------------------------------------------------------------------------------------- */

static int mcp_stdio_spawn(struct mcp_stdio *s, struct err *e)
{
	const struct mcp_stdio_config *c = &s->config;
	const struct proc_spec spec = { .argv = c->argv,
					.env = c->env,
					.cwd = c->cwd,
					.session = c->session,
					.bounds = c->bounds,
					.data = c->data };

	/* Nothing of the child before holds for this one. */
	s->stopping = s->closed_output = false;
	s->noise = (struct noise){ 0 };
	s->why.reason[0] = '\0';
	/* The child before has read it to the end, and the duplicates share one offset. */
	if (c->data > 0 && lseek(c->data, 0, SEEK_SET) < 0)
		return err_set(e, -errno, RPC_INTERNAL_ERROR, "SERVER_SPAWN_FAILED",
			       "the data of the MCP server \"%s\": %s", c->name, strerror(errno));
	s->proc = proc_spawn(s->procs, &spec, &proc_events, s, e);
	if (!s->proc) {
		/* The reason that proc_spawn gives is that of a harness. */
		if (e && strcmp(e->reason, "HARNESS_SPAWN_FAILED") == 0)
			snprintf(e->reason, sizeof(e->reason), "SERVER_SPAWN_FAILED");
		return -EIO;
	}
	upstream_begin(&s->up);
	return 0;
}

static int mcp_stdio_start(struct upstream *u, struct err *e)
{
	struct mcp_stdio *s = mcp_stdio_of(u);

	if (s->proc)
		return err_set(e, -EALREADY, RPC_INTERNAL_ERROR, "SERVER_RUNNING",
			       "the MCP server \"%s\" is running", s->config.name);
	return mcp_stdio_spawn(s, e);
}

static void mcp_stdio_stop(struct upstream *u)
{
	mcp_stdio_break(mcp_stdio_of(u), "SERVER_GONE", "was stopped");
}

/* Ends the child without the patience of mcp_stdio_stop; down is still reported after its
 * exit. */
static void mcp_stdio_kill(struct upstream *u)
{
	struct mcp_stdio *s = mcp_stdio_of(u);

	mcp_stdio_stop(u);
	if (s->proc)
		proc_kill(s->proc);
}

static pid_t mcp_stdio_pid(const struct upstream *u)
{
	const struct mcp_stdio *s = mcp_stdio_of(u);

	return s->proc ? proc_pid(s->proc) : 0;
}

static void mcp_stdio_free(struct upstream *u)
{
	struct mcp_stdio *s = mcp_stdio_of(u);

	if (!s->proc) {
		object_free(s);
		return;
	}
	/* The child still refers to the object. Its end frees it. */
	s->freed = true;
	upstream_done(&s->up);
	proc_stop(s->proc);
}

static const struct upstream_transport transport = { .start = mcp_stdio_start,
						     .stop = mcp_stdio_stop,
						     .kill = mcp_stdio_kill,
						     .pid = mcp_stdio_pid,
						     .free = mcp_stdio_free,
						     .refused = mcp_stdio_on_refused };

struct upstream *mcp_stdio_new(struct loop *loop, struct proc_host *procs,
			       const struct mcp_stdio_config *config,
			       const struct mcp_server_events *events, void *ctx)
{
	struct mcp_stdio *s = new0(struct mcp_stdio);

	s->procs = procs;
	config_copy(&s->config, config);
	s->up = (struct upstream){
		.loop = loop,
		.name = s->config.name,
		.events = events,
		.ctx = ctx,
		.transport = &transport,
		.start_ms = s->config.start_ms,
		.rpc = { .send = mcp_stdio_on_send, .wire = s },
	};
	upstream_init(&s->up);
	return &s->up;
}
