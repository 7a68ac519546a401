/*
 * endpoints.h - the plain HTTP side, as a table of routes; knows no sockets. net/ checks Host, Origin and token before it
 * calls http_respond, and writes the reply.
 *
 * GET /health is open and free of state: it answers while the daemon is unclaimed and says only that it lives. Everything
 * else needs the token.
 */
#pragma once

#include "base/buf.h"
#include "session/session.h"

#include <stdbool.h>

struct http_context {
	struct store *store;
	struct proc_host *procs;
	const char *incarnation;
	unsigned connections;
	uint64_t started_ms; /* monotonic */
};

struct http_reply {
	int status;
	const char *content_type;
	const char *allow; /* 405: the methods that exist, else NULL */
	struct buf body;
};

/* True if the route may be asked without a token. */
bool http_route_open(const char *method, const char *path);
/* Fills ret whatever is asked; the caller frees body. */
void http_respond(const struct http_context *ctx, const char *method, const char *path,
		  struct http_reply *ret);
/* {"error":{"reason","message"}} */
void http_reply_error(struct http_reply *ret, int status, const char *reason, const char *message);
