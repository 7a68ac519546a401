/*
 * mcp_front.h - serves one MCP client from a backend, in the era the client speaks; knows no transport.
 *
 * The first message decides: "initialize" makes it a legacy client (2025-06-18 or 2025-11-25), a message with the
 * protocol version in its _meta a modern one (2026-07-28). A modern client's requests pass. A legacy client sees an
 * ordinary legacy server. The front answers initialize, ping, logging/setLevel and resources/subscribe (from one
 * server/discover, one subscriptions/listen). A question of the server ("input_required") goes to the client as
 * elicitation/create, sampling/createMessage or roots/list, and the answers go back with the same request. resultType,
 * ttlMs and subscription ids are taken off. Everything else is passed on as raw text. The reference is MCP 2026-07-28
 * and the tables in daemon/protocol/mcp-eras.md.
 *
 * A transport feeds whole messages (no batches) and writes what send gives it. Everything runs on the loop; both
 * callbacks may be called from inside mcp_front_feed, and may not call back.
 */
#pragma once

#include "base/slice.h"
#include "loop/loop.h"
#include "tools/mcp/backend.h"

struct mcp_front;

struct mcp_front_ops {
	/* One message for the client. request: raw id of the client's request that it belongs to, or empty
	 * (list_changed and the like, for a GET stream). last: it is that request's answer; with an empty request,
	 * that of the message just fed, which had no usable id. */
	void (*send)(void *ctx, struct slice message, struct slice request, bool last);
	/* The client has cancelled this request: there will be no answer. May be NULL. */
	void (*cancelled)(void *ctx, struct slice request);
};

/* The backend must outlive it. */
struct mcp_front *mcp_front_new(struct loop *loop, struct mcp_backend *backend,
				const struct mcp_front_ops *ops, void *ctx);
/* Cancels all open requests. */
struct mcp_front *mcp_front_free(struct mcp_front *f);
/* One message without line breaks; malformed ones are answered or dropped as JSON-RPC requires. */
void mcp_front_feed(struct mcp_front *f, struct slice message);
/* Requests that will be answered; subscriptions, which last until they are ended, do not count. */
unsigned mcp_front_waiting(const struct mcp_front *f);
