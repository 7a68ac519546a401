/*
 * control.h - the answers of the control socket: JSON-RPC requests, one per line.
 *
 *	claim {digest: "sha256:<hex>", settings?, sandboxId?} -> {}    once per daemon; the same claim again succeeds
 *	claim {digest, replace: true, keepTokens?} -> {}               root only: another token takes the place of the claim's
 *	restart {drainSeconds?} -> {restarts, drainSeconds}            doctor says one more of restarts once it is done
 *	sessions {} -> {sessions: [...]}
 *	doctor {} -> {...}                        the state of the daemon and of what it found on this machine
 */
#pragma once

#include "http/endpoints.h"
#include "net/claim.h"

struct control_context {
	struct claim_desk *claims;
	struct http_context *info;
	bool root; /* the peer's uid is 0 */
};

/* Appends the answer (and newline) to out. */
void control_answer(const struct control_context *ctx, struct slice line, struct buf *out);
/* The answer to a local client that is refused. */
void control_refuse(struct buf *out, const char *reason, const char *message);
