/* talk.h - how every adapter of a JSON-RPC program sends a message: it passes it to the host, and keeps a call open
 * until it is answered. */
#pragma once

#include "base/buf.h"
#include "harnesses/harness.h"
#include "rpc/rpc.h"

/* Refuses the block of a prompt, counted from 0, that the protocol cannot hold. Returns -EINVAL. */
int harness_refuse_block(size_t i, struct err *e);
/* One line to the child; -E2BIG if it is too large to write, else the host's result. */
int harness_send(const struct harness_host *host, const struct buf *b);
/* fn gets ctx, tag and the answer. <0: it was not sent, and fn is not called. */
int harness_call(const struct harness_host *host, struct rpc_calls *calls, const char *method,
		 struct slice params, rpc_reply_fn fn, void *ctx, uint64_t tag);
