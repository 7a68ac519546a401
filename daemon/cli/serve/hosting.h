/*
 * hosting.h - the MCP side of the daemon, built from its options: servers that it hosts, the relay of its sessions, and
 * the sessions of clients over HTTP. It decides the user of all of it, and what it sees of the daemon's environment.
 */
#pragma once

#include "cli/options/cli_options.h"
#include "http/mcp/mcp_http.h"
#include "loop/loop.h"
#include "session/core/session.h"
#include "tools/hosted/hosted.h"
#include "tools/relay/relay.h"

struct hosting {
	struct hosted *hosted;
	struct relay *relay;
	struct mcp_http *http;
	struct loop *loop;
	const struct session_store *store; /* from hosting_begin on */
	struct loop_timer ready;
	bool begun;
};

/* agent-user has been checked. There are no servers yet. */
int hosting_open(struct hosting *h, const struct config *c, struct loop *loop,
		 struct proc_host *procs, struct fetcher *fetcher, struct session_store *store,
		 struct err *e);
/* The daemon is claimed: reads the configuration of servers and starts them. A copy that is claimed again has them. */
void hosting_begin(struct hosting *h, const struct config *c, const struct session_store *store);
/* Call before the store is freed, which holds sessions that are served; all processes are gone by then. */
void hosting_close_http(struct hosting *h);
void hosting_close(struct hosting *h);
/* Gets what is odd in the file of MCP servers, and does not matter to a start. */
typedef void (*hosting_warn_fn)(void *ctx, const char *text);
/* Prints it to standard error. */
void hosting_warn_user(void *ctx, const char *text);
/* For --check: how many servers the configuration has, or what is wrong with it. */
int hosting_check(const struct config *c, hosting_warn_fn warn, void *ctx, struct err *e);
