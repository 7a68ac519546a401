/*
 * relay_process.c - an MCP server that runs as a child for one session, started by its first call.
 *
 * The setup is a sealed memfd, because it holds the policy and the process runs as the agent's user.
 * upstream_stdio.c duplicates and rewinds it at each start, so a restarted process gets the same.
 * struct start_pace delays the restarts of a process that dies at once. `bounds` borrows its references
 * from the server. Output of the process may hold secrets, so the log has it only masked, or not at
 * all.
 */
#include "tools/relay/relay_internal.h"

#include "base/log.h"
#include "base/os/file.h"
#include "base/util.h"
#include "session/core/session_host.h"
#include "tools/upstream/upstream_server.h"
#include "base/clock.h"

#define RESTART_MIN_MS 1000 /* between two starts */

static void start_pace_over(void *ctx)
{
	struct start_pace *p = ctx;

	p->may_start = clock_mono_ms() + RESTART_MIN_MS;
	p->start(p->ctx);
}

void start_pace_want(struct start_pace *p)
{
	uint64_t now = clock_mono_ms();

	loop_timer_set(p->loop, &p->timer, p->may_start > now ? p->may_start - now : 0,
		       start_pace_over, p);
}

void start_pace_cancel(struct start_pace *p)
{
	loop_timer_cancel(&p->timer);
}

/* One child of a session, or of the daemon's own /mcp. The setup is kept for comparison alone:
 * see relay_process_same. */
struct relay_process {
	struct upstream *server;
	char *setup;
	struct proc_bounds bounds; /* server has the references */
	struct start_pace pace;
	const struct session *session;
};

/* A failure is only logged: the next call starts the server again, and then the waiting calls
 * are sent, too. */
static void relay_process_start(void *ctx)
{
	struct relay_process *c = ctx;
	struct err e = { 0 };

	if (mcp_server_start(c->server, &e) < 0)
		log_error("mcp", "a session's MCP server cannot be started", "text", e.msg);
}

/* A call came while it is down. */
static bool relay_process_on_wanted(void *ctx)
{
	struct relay_process *c = ctx;

	start_pace_want(&c->pace);
	return true;
}

/* Its last output may hold secrets of the session: callers get it, the log does not. */
static void relay_process_on_down(void *ctx _unused_, const struct err *why)
{
	log_info("mcp", "a session's MCP server has ended", "reason", why->reason);
}

/* Of a server of no session nobody knows which secrets it may print. */
static void relay_process_hide(void *ctx, char *text, size_t size)
{
	struct relay_process *c = ctx;

	if (c->session)
		session_mask_line(c->session, text, size);
	else
		*text = '\0';
}

static const struct mcp_server_events events = { NULL, relay_process_on_down,
						 relay_process_on_wanted, relay_process_hide };

struct relay_process *relay_process_new(struct loop *loop, struct proc_host *procs,
					const struct relay_process_config *config)
{
	_cleanup_(closep) int fd = config->setup.n ? file_sealed("acpd-tools", config->setup) : -1;
	struct mcp_stdio_config sc = { .name = config->name,
				       .argv = config->argv,
				       .env = config->env,
				       .cwd = config->cwd,
				       .session = config->marker,
				       .bounds = config->bounds,
				       .data = fd > 0 ? fd : 0 };
	struct relay_process *c = new0(struct relay_process);

	c->pace = (struct start_pace){ .loop = loop, .start = relay_process_start, .ctx = c };
	c->bounds = config->bounds;
	c->session = config->session;
	c->setup = xstrndup(config->setup.p, config->setup.n);
	c->server = mcp_stdio_new(loop, procs, &sc, &events, c);
	return c;
}

struct relay_process *relay_process_free(struct relay_process *c)
{
	if (!c)
		return NULL;
	start_pace_cancel(&c->pace);
	mcp_server_free(c->server);
	free_each(c->setup, c);
	return NULL;
}

struct mcp_backend *relay_process_backend(struct relay_process *c)
{
	return mcp_server_backend(c->server);
}

bool relay_process_same(const struct relay_process *c, struct slice setup,
			const struct proc_bounds *bounds)
{
	return slice_is(setup, c->setup) && proc_bounds_same(&c->bounds, bounds);
}
