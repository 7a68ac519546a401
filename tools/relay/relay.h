/*
 * relay.h - the MCP servers of sessions: it connects each harness with its servers.
 *
 * For each session that uses any it keeps a session socket (session_socket.h) for the harness and a served server
 * (served_server.c) for each server: those that the client serves over ACP, the built-in tools, those hosted in the
 * sandbox, those of a trusted .mcp.json. The harness gets our shim for each of them. A server that the harness reaches
 * by itself is passed on as the client described it, after a check whether it can be reached at all.
 *
 * It implements session/parts/mcp/mcp_servers.h: open before each start of the harness, close when that has ended, forget
 * when the session ends. What runs for the session is kept over a restart of the harness if its settings are the same.
 *
 * The same backends answer the HTTP endpoint /mcp: relay_find.
 */
#pragma once

#include "session/core/session.h"
#include "tools/mcp/backend.h"

struct relay;
struct fetcher;
struct hosted;

struct relay_config {
	const char *run_dir; /* sockets go to <run_dir>/mcp */
	const char *self;    /* absolute path of acpd, for the shim and the built-in tools */
	const char *root;    /* where the built-in tools of /mcp work when no session is named */
	const char *state;   /* directory for their files */
	char *const *env; /* their environment, without the markers of proc/table/process_tree.h */
	struct hosted *hosted;
	struct fetcher *fetcher;
	/* A backend that relay_find returned is about to end. */
	void (*gone)(void *ctx, struct mcp_backend *b);
	void *ctx;
};

struct relay *relay_new(struct loop *loop, struct proc_host *procs, struct session_store *store,
			const struct relay_config *config, struct err *e);
/* All sessions must have been forgotten. */
struct relay *relay_free(struct relay *r);
/* The daemon stops: ends what runs without a session. The rest ends with its session. */
void relay_stop(struct relay *r);
/*
 * The backend for a client of /mcp (name NULL: built-in tools, of that session if one is named) or /mcp/NAME (a server
 * of that session, else a hosted one). The same one each time, as long as the session lives, also over restarts behind
 * it; config.gone reports its end. NULL with SESSION_NOT_FOUND, MCP_SERVER_UNKNOWN, MCP_SERVER_DISABLED, SHUTTING_DOWN.
 */
struct mcp_backend *relay_find(struct relay *r, const char *name, const char *session,
			       struct err *e);
