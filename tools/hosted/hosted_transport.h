/* hosted_transport.h - how a hosted server is reached: as a child of ours or over HTTP, behind one set of functions. For hosted_server.c alone. */
#pragma once

#include "tools/hosted/hosted_server.h"
#include "tools/upstream/http/upstream_http.h"
#include "tools/upstream/upstream_stdio.h"

struct hosted_way { /* at most one of both; none: not made */
	struct mcp_stdio *stdio;
	struct mcp_remote *http;
};

/* -errno and e: what it needs is not there, or it cannot be reached from here. */
int way_make(struct hosted_way *w, const struct hosted_server_config *config,
	     const struct mcp_server_events *events, void *ctx, struct err *e);
bool way_made(const struct hosted_way *w);
void way_done(struct hosted_way *w);
struct mcp_backend *way_backend(const struct hosted_way *w);
int way_start(const struct hosted_way *w, struct err *e);
/* Calls that wait end, too. Harmless if it is not made or down. */
void way_stop(const struct hosted_way *w);
void way_kill(const struct hosted_way *w);
/* 0: none. */
pid_t way_pid(const struct hosted_way *w);
