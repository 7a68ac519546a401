/*
 * mcp_http.h - the MCP endpoints /mcp and /mcp/{name}: streamable HTTP, both generations on one path.
 *
 * A modern request (2026-07-28) stands alone: it has a front (tools/mcp/mcp_front.h) of its own, and a client that
 * closes its answer cancels it. "initialize" begins a session of a legacy client (2025-06-18, 2025-11-25). One front
 * serves everything with its Mcp-Session-Id, until DELETE, too long a silence, or a newer session that needs the room.
 * A legacy client that leaves an answer cancels nothing: the call goes on and its answer is dropped. A message that
 * belongs to no request goes to the newest GET stream.
 *
 * An answer that comes at once, and first, is plain JSON, with the status of its error; any other is a stream of
 * events. A reader that is too slow loses its whole stream, never a single message of it.
 *
 * Backends are borrowed from the endpoint. Call mcp_http_forget before a backend is freed.
 */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "loop/loop.h"
#include "tools/mcp/backend.h"

struct mcp_endpoint {
	/* name: the server of /mcp/{name}; empty for /mcp, the built-in tools. session_id: of ?session=, the
	 * built-in tools of that session, or empty. NULL with e: e->reason is *_UNKNOWN or *_NOT_FOUND for what
	 * does not exist (404), any other for what is not available now (503). */
	struct mcp_backend *(*find)(void *ctx, struct slice name, struct slice session_id,
				    struct err *e);
	void *ctx;
};

struct mcp_http;

struct mcp_http *mcp_http_new(struct loop *loop, const struct mcp_endpoint *endpoint);
/* Call it when no socket is served any more. */
struct mcp_http *mcp_http_free(struct mcp_http *m);
/* Ends all sessions and requests that use the backend. Not from inside its callbacks. */
void mcp_http_forget(struct mcp_http *m, const struct mcp_backend *b);
