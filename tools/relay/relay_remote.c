/*
 * relay_remote.c - an HTTP MCP server of a session, called by acpd-fetch, and its release.
 *
 * A server that was started may keep a session for this client. On release it moves to the list
 * `at`, sends the DELETE of that session, and is freed when it reports down. The event arrives from
 * inside the server, so the free is deferred. Header values are secrets: every copy made here is
 * wiped.
 */
#include "tools/relay/relay_internal.h"

#include "base/util.h"
#include "base/limits.h"
#include "base/log.h"
#include "json/jstr.h"
#include "tools/upstream/http/upstream_http.h"

#include <stdio.h>

/* `started` holds from the first call until the server reports down: in this time the server
 * may have a session to delete. */
struct relay_remote {
	struct list link;
	struct loop *loop;
	struct upstream *server;
	struct start_pace pace;
	struct loop_task free_task;
	bool started, leaving;
};

static void relay_remote_start(void *ctx)
{
	struct relay_remote *c = ctx;
	struct err e = { 0 };

	if (mcp_server_start(c->server, &e) < 0)
		log_error("mcp", "a session's MCP server cannot be called", "text", e.msg);
	else
		c->started = true;
}

static void remote_free(void *ctx)
{
	struct relay_remote *c = ctx;

	list_del(&c->link);
	start_pace_cancel(&c->pace);
	loop_task_cancel(&c->free_task);
	mcp_server_free(c->server);
	free(c);
}

/* --- events of the server -------------------------------------------------------------------------------- */

static void relay_remote_on_down(void *ctx, const struct err *why)
{
	struct relay_remote *c = ctx;

	c->started = false;
	log_info("mcp", "a session's MCP server is not called any more", "reason", why->reason);
	if (c->leaving)
		loop_defer(c->loop, &c->free_task, remote_free, c);
}

static bool relay_remote_on_wanted(void *ctx)
{
	struct relay_remote *c = ctx;

	start_pace_want(&c->pace);
	return true;
}

static const struct mcp_server_events events = { NULL, relay_remote_on_down, relay_remote_on_wanted,
						 NULL };

/* --- life -------------------------------------------------------------------------------------------------- */

/* "Name: value"; NULL: it is none. */
static char *relay_remote_header_line(struct slice pair)
{
	_cleanup_(freep) char *name = NULL, *value = NULL;
	char *line = NULL;

	if (jstr_decode(jobj_get(pair, "name"), HOSTED_STRING_MAX, &name) == 0 &&
	    jstr_decode(jobj_get(pair, "value"), HOSTED_STRING_MAX, &value) == 0 &&
	    asprintf(&line, "%s: %s", name, value) < 0)
		abort();
	secret_text_wipe(value);
	return line;
}

/* Of all of them, with NULL at the end; freed with header_lines_free. */
static int relay_remote_header_lines(struct slice pairs, char ***ret, struct err *e)
{
	size_t n = 0;
	int r = 0;

	jarr_each(v, pairs) {
		char *line = relay_remote_header_line(v.raw);

		if (!line)
			r = err_field(e, "headers", "HEADER_INVALID",
				      "headers: one is too long, or has a byte zero");
		if (r < 0)
			break;
		*GROW(*ret, n) = line;
	}
	/* Ends the list with NULL, also after an error, for header_lines_free. */
	(void)GROW(*ret, n);
	return r;
}

static void header_lines_free(char ***lines)
{
	for (char **line = *lines; line && *line; line++) {
		secret_text_wipe(*line);
		free(*line);
	}
	free(*lines);
}

static struct upstream *remote_new(struct relay_remote *c, const struct relay_remote_config *config,
				   struct err *e)
{
	_cleanup_(header_lines_free) char **headers = NULL;
	struct mcp_remote_config rc = { .name = config->name,
					.url = config->url,
					.fetcher = config->fetcher,
					.fetched = true };

	if (relay_remote_header_lines(config->headers, &headers, e) < 0)
		return NULL;
	rc.headers = headers;
	return mcp_remote_new(c->loop, &rc, &events, c, e);
}

struct relay_remote *relay_remote_new(struct loop *loop, const struct relay_remote_config *config,
				      struct list *at, struct err *e)
{
	struct relay_remote *c = new0(struct relay_remote);

	c->loop = loop;
	c->pace = (struct start_pace){ .loop = loop, .start = relay_remote_start, .ctx = c };
	c->server = remote_new(c, config, e);
	if (!c->server) {
		free(c);
		return NULL;
	}
	list_add_tail(at, &c->link);
	return c;
}

struct mcp_backend *relay_remote_backend(struct relay_remote *c)
{
	return mcp_server_backend(c->server);
}

/* Frees the server, now or after it is down. It is in no list of its session from here on. */
static void relay_remote_leave(struct relay_remote *c, struct list *at)
{
	start_pace_cancel(&c->pace);
	if (!c->started) {
		remote_free(c);
		return;
	}
	list_del(&c->link);
	list_add_tail(at, &c->link);
	/* Before the stop, because the event that follows it frees c only if this is set. */
	c->leaving = true;
	mcp_server_stop(c->server);
}

void relay_remotes_leave(struct list *from, struct list *at)
{
	list_each(c, from, struct relay_remote, link)
		relay_remote_leave(c, at);
}

void relay_remotes_free(struct list *at)
{
	list_each(c, at, struct relay_remote, link)
		remote_free(c);
}
