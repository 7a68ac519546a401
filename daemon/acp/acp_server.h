/*
 * acp_server.h - ACP v1, agent side, for any number of client connections over any transport.
 *
 * A transport (net/) makes one acp_conn per client, feeds it whole messages and pumps frames out of it when it can
 * write. The connection never writes by itself: it calls dirty() of the transport. Output keeps one order:
 * replies and requests wait in a queue, each behind the session events that must precede it; session events stay in
 * the session's log and are taken from there at the pace of the reader.
 *
 * A connection is closed by us through transport->close(code, reason), with the WebSocket close codes of the ACP
 * SDK: 1002 protocol, 1008 policy (ids too long, reader too slow), 1001 shutdown. The transport calls acp_conn_free
 * when the client is gone, in either case.
 */
#pragma once

#include "access/tokens.h"
#include "base/slice.h"
#include "lifecycle/lifecycle.h"
#include "loop/loop.h"
#include "session/core/session.h"

struct acp_config {
	const char *default_harness; /* id; must exist */
	uint64_t backlog_max;	     /* bytes of session output a reader may lag behind */
	const char *workspaces;	     /* announced to clients; may be NULL */
	struct tokens *tokens;	     /* those that were minted; may be NULL in tests */
	struct lifecycle *life; /* clients are told when it changes; may go before us, or be NULL */
};

struct acp_server;
struct acp_conn;

struct acp_transport {
	void (*dirty)(void *ctx); /* there is output: pump when writable */
	void (*close)(void *ctx, int code,
		      const char *reason); /* after what is queued has gone out */
	void *ctx;
	const char *id;		   /* the connection's name in logs; lives as long as it */
	const struct grant *grant; /* what its client may; likewise */
};

struct acp_server *acp_server_new(struct loop *loop, struct session_store *store,
				  const struct acp_config *cfg);
/* Before the first connection: harness and backlog of cfg. */
void acp_server_set(struct acp_server *srv, const struct acp_config *cfg);
/* Every connection must be freed. */
struct acp_server *acp_server_free(struct acp_server *srv);
/* Closes every connection with 1001. */
void acp_server_shutdown(struct acp_server *srv);
/* The machine was away and is back: _acpd/resumed to every client that takes what is ours, now, and to those that come
 * later behind the answer to initialize. at: unix ms. */
void acp_server_resumed(struct acp_server *srv, uint64_t at, uint64_t gap_ms);
unsigned acp_server_count(const struct acp_server *srv);
/* NULL if there is no harness of that id. */
const struct harness_def *acp_server_harness(const struct acp_server *srv, const char *id);

/* harness: id from the URL, or NULL for the default. */
struct acp_conn *acp_conn_new(struct acp_server *srv, const struct acp_transport *t,
			      const char *harness);
struct acp_conn *acp_conn_free(struct acp_conn *c);
/* Its token is over: what it has of sessions is dropped, nothing more goes out or is done, and it is closed (1008). */
void acp_conn_cut(struct acp_conn *c, const char *reason);
/* raw: what a token says of its sessions {level?, network?, limits?}. 0, or -EINVAL with e. */
int acp_ceiling_check(struct slice raw, struct err *e);
/* One whole message. Its bytes are wiped if there may be keys in it. */
void acp_conn_feed(struct acp_conn *c, char *text, size_t n);
/* Hands out whole frames until frame() refuses (false) or nothing is left; true: something is left. */
bool acp_conn_pump(struct acp_conn *c, bool (*frame)(void *ctx, struct slice text), void *ctx);
/* Bits of enum client_cap: what a client announces (raw clientCapabilities). */
unsigned acp_client_caps(struct slice caps);
