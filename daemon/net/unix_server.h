/*
 * unix_server.h - the two UNIX sockets of the run directory, on our own loop; JSON lines both.
 *
 * control.sock: claim, sessions, doctor. acp.sock: ACP, one client per connection, the same messages as over
 * WebSocket; a client that begins with an HTTP request instead is passed on to the HTTP server. Both are 0600,
 * and the peer's uid must be 0 or ours (SO_PEERCRED): no token is required. A process that we started, or a descendant
 * of one, is refused in any case (proc/table/ancestry.h): a harness may run as our own uid, and would answer its own
 * questions.
 *
 * A connection that sends nothing is closed after HANDSHAKE_SECS. Each socket keeps LOCAL_SILENT_MAX of those; at the
 * next the oldest is closed.
 */
#pragma once

#include "acp/acp_server.h"
#include "http/endpoints.h"
#include "net/claim/claim.h"

struct unix_server;

/* Takes over stale sockets; -EADDRINUSE if a living daemon has them. */
struct unix_server *unix_server_new(struct loop *loop, const char *run_dir, struct acp_server *acp,
				    struct claim_desk *claims, struct http_context *info,
				    struct err *e);
/* adopt takes the descriptor of a client of acp.sock that speaks HTTP; nothing was read from it. */
void unix_server_serve_http(struct unix_server *u, void (*adopt)(void *ctx, int fd), void *ctx);
/* Nothing is accepted, read or sent meanwhile. */
void unix_server_hold(struct unix_server *u, bool hold);
/* Ends all connections, without a word. */
void unix_server_drop(struct unix_server *u);
struct unix_server *unix_server_free(struct unix_server *u);

/* --- control.c: the answers of the control socket: JSON-RPC requests, one per line.
 *
 *	claim {digest: "sha256:<hex>", settings?, sandboxId?} -> {}    once per daemon; the same claim again succeeds
 *	claim {digest, replace: true, keepTokens?} -> {}               root only: another token takes the place of the claim's
 *	restart {drainSeconds?} -> {restarts, drainSeconds}            doctor says one more of restarts once it is done
 *	sessions {} -> {sessions: [...]}
 *	doctor {} -> {...}                        the state of the daemon and of what it found on this machine */

struct control_context {
	struct claim_desk *claims;
	struct http_context *info;
	bool is_root; /* the peer's uid is 0 */
};

/* Appends the answer (and newline) to out. */
void control_answer(const struct control_context *ctx, struct slice line, struct buf *out);
/* The answer to a local client that is refused. */
void control_refuse(struct buf *out, const char *reason, const char *message);
