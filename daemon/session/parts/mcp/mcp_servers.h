/*
 * mcp_servers.h - what serves a session's MCP servers. It stands above this layer (tools/relay) and is called from
 * here: before the harness starts, when it is gone, and when the session goes.
 *
 * The session keeps what the client asked for (mcpServers, _meta.acpd.mcp) and one pointer for the code that serves it;
 * what the harness is given instead is for the other side to say.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "json/jenc.h"
#include "session/core/session_host.h"

struct agent_user;
struct netns;
struct session;
struct session_store;

/* What of the file system its servers need. Borrowed. */
struct mcp_place {
	const char *run;     /* the run directory, which sessions do not see; */
	const char *own;     /* of it only this one, where the session's socket is or will be */
	const char *program; /* which the harness starts to reach it */
};

struct mcp_servers_ops {
	/* The session gets namespaces of its own. The directory is there until it is forgotten. */
	int (*place)(void *ctx, struct session *s, struct mcp_place *ret, struct err *e);
	/* The harness is about to start. Appends the array of McpServer that it is given; on error nothing is started:
	 * e names the entry. */
	int (*open)(void *ctx, struct session *s, struct buf *ret, struct err *e);
	/* The harness has ended, or could not be started: nobody is connected from there any more. */
	void (*close)(void *ctx, struct session *s);
	/* The session is closed or freed: nothing of it may stay. */
	void (*forget)(void *ctx, struct session *s);
	/* The tool behind the daemon that these words of a harness are about, as "server/tool", which the caller
	 * frees; NULL: none that is known. */
	char *(*named)(void *ctx, const struct session *s, const char *said);
	/* Member "mcp" of the session's status: each server and what of it has reached the harness. */
	void (*put)(void *ctx, const struct session *s, struct jw *w);
};

void store_set_mcp_servers(struct session_store *st, const struct mcp_servers_ops *ops, void *ctx);
/* As of its ops. */
char *mcp_servers_named(const struct session *s, const char *said);
/* Seconds that a call to a client waits for one to come back. */
unsigned store_mcp_hold(const struct session_store *st);

/* For the ops: */
void *mcp_servers_handle(const struct session *s);
void mcp_servers_set_handle(struct session *s, void *own);
/* What the policy allows the longest call; the harness is to wait for it. 0: it says nothing. */
void mcp_servers_set_call_ms(struct session *s, int64_t ms);
/* Raw mcpServers; empty if absent. */
struct slice mcp_servers_given(const struct session *s);

/* _meta.acpd.mcp. */
extern const struct session_parameter mcp_parameter;
