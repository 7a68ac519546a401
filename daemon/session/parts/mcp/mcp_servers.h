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

#include <sys/types.h>

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
/* Raw: mcpServers, _meta.acpd.mcp, _meta.acpd.policy, _meta.acpd.env; empty if absent. */
struct slice mcp_servers_given(const struct session *s);
struct slice session_mcp(const struct session *s);
struct slice session_policy(const struct session *s);
struct slice session_env(const struct session *s);
/* As whom, and within what, the tools of the daemon's own /mcp run. uid and gid are true without switch_user, too. */
struct proc_bounds store_bounds(const struct session_store *st);
/* Its network is not open: what runs for it does not reach all that the daemon does. */
bool session_is_walled(const struct session *s);
/* A request to an MCP server of the client's, from when it goes on to its answer: NULL where no traces are exported.
 * params raw; context: what its server gets as traceparent, where the caller has none. */
struct relay_span;
struct relay_span *relay_span_begin(struct session *s, const char *server, const char *method,
				    struct slice params);
const char *relay_span_text(const struct relay_span *r, char out[56]);
/* error raw, or empty; isError of a result counts too. Always NULL. */
struct relay_span *relay_span_end(struct relay_span *r, struct slice result, struct slice error);
/* A tool call that comes over /mcp, from its arrival to its answer: an event of its session, a line of the log, a span,
 * and metrics. s: NULL if it is of no session; else it must outlive this. params raw. */
struct outside_call;
struct outside_call *outside_call_begin(struct session_store *st, struct session *s,
					const char *server, struct slice params);
/* What its server gets as traceparent; "": what the caller sent, since no spans are exported. */
const char *outside_call_parent(const struct outside_call *c, char out[56]);
/* As relay_span_end: result or error, raw; both empty: it was cancelled. c may be NULL. Always NULL. */
struct outside_call *outside_call_end(struct outside_call *c, struct slice result,
				      struct slice error);
/* Raw members for the _meta of a request that is passed on: the trace context of the running turn, but for what the
 * caller's own _meta (raw, or empty) has. Empty: there is none. */
void session_trace_put(const struct session *s, const struct relay_span *span, struct slice have,
		       struct buf *members);
/* Variables that the agent has given its sandbox, a raw object: those that hold secrets are hidden from here on. */
void session_learn_env(struct session *s, struct slice env);

/*
 * A tool call that passes the daemon on its way to the server. It is held against the budgets of tool calls before it
 * runs: NULL if none is left, with the limit; the turn then ends by it, unless the call is not the harness's. Else
 * served_call_end follows, when it is over. outside: it is a client's of /mcp. Calls of the harness that it has
 * announced, or will, are counted once.
 */
struct served_call;
struct served_call *served_call_begin(struct session *s, const char *server, const char *tool,
				      bool outside, uint64_t *limit);
void served_call_end(struct served_call *c);

/*
 * A permission of the daemon's own, asked like a harness's: params as of session/request_permission. answered: raw
 * result, once; then it is gone. Returns a handle for question_unask_own. Outside a running turn the answer is
 * "cancelled".
 */
struct session_question;
typedef void (*session_asked_fn)(void *ctx, struct slice result);
void question_ask_own(struct session *s, struct slice params, session_asked_fn answered, void *ctx);
/* Withdraws what was asked with that ctx; it is not answered. */
void question_unask_own(struct session *s, void *ctx);
