/*
 * upstream_http.h - an MCP server at http://host:port/path, or https, streamable HTTP in both eras (upstream_server.h for
 * what holds for all).
 *
 * Every message is a POST on a connection of its own; answers are JSON or an event stream. A modern request is
 * cancelled by closing its connection. A legacy one has a session if the server starts one (404: a new one is begun,
 * and the refused requests are sent again) and a GET stream if the server has one. A stream that ends before its answer
 * is resumed if the server numbers its events.
 *
 * A server that cannot be reached is down. https, and http if asked, goes through acpd-fetch (http_exchange.c). Redirects are not
 * followed. The older transport with a GET stream and a POST address of its own (2024-11-05) is not supported.
 */
#pragma once

#include "loop/loop.h"
#include "tools/upstream/http/http_exchange.h"
#include "tools/upstream/upstream_server.h"

struct fetcher;

struct mcp_remote_config {
	const char *name; /* of the server, for the log and errors */
	const char *url;
	char *const *
		/* "Name: value", ends with NULL; may be NULL. For authorization and the like: not those of HTTP or
		 * MCP itself */
		headers;
	/* For a configuration that is not the operator's: http to the loopback only, https to public addresses only. */
	bool local_only;
	struct fetcher *fetcher; /* for https; NULL: https is refused */
	bool fetched;		 /* it makes the requests of http as well */
	struct socket_user as;	 /* whose connections and look-ups they are */
	unsigned start_ms;	 /* from the start until up; 0: MCP_START_MS */
};

/* Copies the configuration; starts nothing. NULL with e naming url or headers. */
struct upstream *mcp_remote_new(struct loop *loop, const struct mcp_remote_config *config,
				const struct mcp_server_events *events, void *ctx, struct err *e);
