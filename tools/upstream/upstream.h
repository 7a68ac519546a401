/*
 * upstream.h - what upstream_stdio.c and upstream_http.c share: the backend, calls that wait until the server is up,
 * the handshake that finds out its era, and calls to a modern server. Calls to a legacy one are upstream_legacy.c's.
 *
 * A transport gives what it receives to upstream_rpc_feed(&u->rpc, ...), and says when it is connected (upstream_begin)
 * and when no longer (upstream_end).
 */
#pragma once

#include "json/jscan.h"
#include "loop/loop.h"
#include "tools/mcp/msg.h"
#include "tools/upstream/upstream_rpc.h"
#include "tools/upstream/upstream_server.h"

struct legacy;
struct legacy_call;
struct legacy_subscription;

enum upstream_state { UPSTREAM_DOWN, UPSTREAM_PROBING, UPSTREAM_UP };

/* A transport embeds a struct upstream, by which it is found. */
struct upstream_transport {
	/* As the functions of upstream_server.h. kill NULL: stop does; pid NULL: there is no process. */
	int (*start)(struct upstream *u, struct err *e);
	void (*stop)(struct upstream *u);
	void (*kill)(struct upstream *u);
	pid_t (*pid)(const struct upstream *u);
	void (*free)(struct upstream *u);
	/* Its era cannot be found out: the transport ends the connection, with this reason. From the loop. */
	void (*refused)(struct upstream *u, const struct err *why);
	/* A list of tools of a modern server has passed; may be NULL. */
	void (*listed)(struct upstream *u, struct slice result);
};

/* One call of a caller. */
struct upstream_call {
	struct mcp_call base;
	struct list link; /* in the order of arrival */
	struct upstream *up;
	char *method, *who;	 /* who: _meta.acpd.session, or NULL */
	enum mcp_severity level; /* the least severe messages that it wants */
	struct buf params;	 /* while it waits */
	bool waits;
	struct upstream_rpc_request rq; /* modern */
	struct legacy_call *inner;	/* legacy */
	struct legacy_subscription *listen;
	struct loop_task task; /* an answer of our own, from the loop */
	struct buf result, error;
};

struct upstream {
	struct mcp_backend backend;
	struct upstream_rpc rpc;
	struct loop *loop;
	const char *name;
	const struct mcp_server_events *events;
	void *ctx;
	const struct upstream_transport *transport;
	enum upstream_state state;
	struct list calls;
	/* the handshake */
	struct upstream_rpc_request discover, initialize;
	bool discover_failed, initialize_failed;
	bool legacy_first; /* its era the last time */
	unsigned start_ms;
	uint64_t started;
	struct loop_timer start_timer, probe_timer;
	struct legacy *legacy; /* of a legacy server that is up */
	bool is_legacy;
	char *revision;
};

/* loop, name, events, ctx, transport, start_ms and rpc.send, rpc.wire are set before. */
void upstream_init(struct upstream *u);
void upstream_done(struct upstream *u);
/* Messages can be sent: begins the handshake. */
void upstream_begin(struct upstream *u);
/* Messages cannot be sent any more: all calls end with this error. Harmless when down. */
void upstream_end(struct upstream *u, const struct err *why);
/* The server went away during the handshake: true if the other era may be tried first, once. */
bool upstream_may_retry(struct upstream *u);

/* --- era_probe.c ---------------------------------------------------------------------------------------------- */

void era_probe_init(struct upstream *u);
/* The params of server/discover, and of any request of ours that has no others. */
void era_probe_put_discover(struct buf *b);
/* The params of initialize. */
void era_probe_put_initialize(struct buf *b);
/* Forgets the handshake, at any stage. */
void era_probe_over(struct upstream *u);
/* Sends the calls that waited for the end of the handshake. */
void upstream_flush(struct upstream *u);

/* --- upstream_call.c, for the eras too ------------------------------------------------------------------------ */

/* Frees it without an answer. */
void upstream_call_free(struct upstream_call *c);
/* Ends the call: it is freed, then its caller is notified. */
void upstream_call_done(struct upstream_call *c, struct slice result, struct slice error);
/* The same from the loop, with what is in c->result or c->error. */
void upstream_call_later(struct upstream_call *c);
/* Later, with this error. */
void upstream_call_refuse(struct upstream_call *c, const struct err *e);
