/*
 * relay_server.c - an MCP server of one session, started by its first call: a child, or one over HTTP (relay_remote.c).
 *
 * The setup of a child is a sealed memfd, because it holds the policy and the process runs as the agent's user.
 * upstream_stdio.c duplicates and rewinds it at each start, so a restarted process gets the same. A server that dies at
 * once is not started again at once. `bounds` borrows its references from the server. Output of a process may hold
 * secrets, so the log has it only masked, or not at all.
 *
 * A server over HTTP may keep a session for this client. On release it moves to the list `at`, sends the DELETE of that
 * session, and is freed when it reports down. The event arrives from inside the server, so the free is deferred.
 */
#include "tools/relay/relay_internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/os/file.h"
#include "base/util.h"
#include "session/core/session_host.h"

#define RESTART_MIN_MS 1000 /* between two starts */

/* A failure is only logged: the next call starts the server again, and then the waiting calls
 * are sent, too. */
static void relay_server_start(void *ctx)
{
	struct relay_server *c = ctx;
	struct err e = { 0 };

	c->may_start = clock_mono_ms() + RESTART_MIN_MS;
	if (mcp_server_start(c->server, &e) == 0)
		c->started = true;
	else
		log_error("mcp",
			  c->remote ? "a session's MCP server cannot be called" :
				      "a session's MCP server cannot be started",
			  "text", e.msg);
}

/* A call came while it is down. */
static bool relay_server_on_wanted(void *ctx)
{
	struct relay_server *c = ctx;
	uint64_t now = clock_mono_ms();

	loop_timer_set(c->loop, &c->timer, c->may_start > now ? c->may_start - now : 0,
		       relay_server_start, c);
	return true;
}

static void relay_server_release(void *ctx)
{
	relay_server_free(ctx);
}

/* Its last output may hold secrets of the session: callers get it, the log does not. */
static void relay_server_on_down(void *ctx, const struct err *why)
{
	struct relay_server *c = ctx;

	c->started = false;
	log_info("mcp",
		 c->remote ? "a session's MCP server is not called any more" :
			     "a session's MCP server has ended",
		 "reason", why->reason);
	if (c->leaving)
		loop_defer(c->loop, &c->free_task, relay_server_release, c);
}

/* Of a server of no session nobody knows which secrets it may print. */
static void relay_server_hide(void *ctx, char *text, size_t size)
{
	struct relay_server *c = ctx;

	if (c->session)
		session_mask_line(c->session, text, size);
	else
		*text = '\0';
}

const struct mcp_server_events relay_server_events = { NULL, relay_server_on_down,
						       relay_server_on_wanted, relay_server_hide };

struct relay_server *relay_server_blank(struct loop *loop)
{
	struct relay_server *c = new0(struct relay_server);

	c->loop = loop;
	list_init(&c->link);
	return c;
}

struct relay_server *relay_server_new(struct loop *loop, struct proc_host *procs,
				      const struct mcp_stdio_config *config, struct slice setup,
				      const struct session *session)
{
	_cleanup_(closep) int fd = setup.n ? file_sealed("acpd-tools", setup) : -1;
	struct relay_server *c = relay_server_blank(loop);
	struct mcp_stdio_config sc = *config;

	sc.data = fd > 0 ? fd : 0;
	c->bounds = config->bounds;
	c->session = session;
	c->setup = xstrndup(setup.p, setup.n);
	c->server = mcp_stdio_new(loop, procs, &sc, &relay_server_events, c);
	return c;
}

struct relay_server *relay_server_free(struct relay_server *c)
{
	if (!c)
		return NULL;
	list_del(&c->link);
	loop_timer_cancel(&c->timer);
	loop_task_cancel(&c->free_task);
	mcp_server_free(c->server);
	free_each(c->setup, c);
	return NULL;
}

struct mcp_backend *relay_server_backend(struct relay_server *c)
{
	return mcp_server_backend(c->server);
}

bool relay_server_same(const struct relay_server *c, struct slice setup,
		       const struct proc_bounds *bounds)
{
	return slice_is(setup, c->setup) && proc_bounds_same(&c->bounds, bounds);
}

/* Frees the server, now or after it is down. It is in no list of its session from here on. */
static void relay_server_leave(struct relay_server *c, struct list *at)
{
	loop_timer_cancel(&c->timer);
	if (!c->remote || !c->started) {
		relay_server_free(c);
		return;
	}
	list_del(&c->link);
	list_add_tail(at, &c->link);
	/* Before the stop, because the event that follows it frees c only if this is set. */
	c->leaving = true;
	mcp_server_stop(c->server);
}

void relay_servers_leave(struct list *from, struct list *at)
{
	list_each(c, from, struct relay_server, link)
		relay_server_leave(c, at);
}

void relay_servers_free(struct list *at)
{
	list_each(c, at, struct relay_server, link)
		relay_server_free(c);
}
