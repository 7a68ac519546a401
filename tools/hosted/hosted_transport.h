/* hosted_transport.h - the transport of a hosted server: a child of ours or HTTP, behind one set of functions. Only for
 * hosted_server.c. */
#pragma once

#include "tools/hosted/hosted_server.h"
#include "tools/upstream/http/upstream_http.h"
#include "tools/upstream/upstream_server.h"

struct hosted_transport { /* at most one of both; none: not made */
	struct mcp_stdio *stdio;
	struct mcp_remote *http;
};

/* -errno and e: something that it needs is missing, or it may not be reached. */
int hosted_transport_make(struct hosted_transport *w, const struct hosted_server_config *config,
			  const struct mcp_server_events *events, void *ctx, struct err *e);
bool hosted_transport_made(const struct hosted_transport *w);
void hosted_transport_done(struct hosted_transport *w);
struct mcp_backend *hosted_transport_backend(const struct hosted_transport *w);
int hosted_transport_start(const struct hosted_transport *w, struct err *e);
/* Also ends calls that wait. Harmless if it is not made or down. */
void hosted_transport_stop(const struct hosted_transport *w);
void hosted_transport_kill(const struct hosted_transport *w);
/* 0: none. */
pid_t hosted_transport_pid(const struct hosted_transport *w);
