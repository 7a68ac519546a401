/*
 * client_backend.h - the backend of an MCP server that the session's client serves: calls travel up as "mcp/message"
 * (session/parts/mcp/upcall.h).
 *
 * The client's side speaks MCP 2026-07-28, as backends do, so payloads pass unchanged. If the caller gave no trace
 * context, that of the running turn is added.
 */
#pragma once

#include "session/core/session.h"
#include "tools/mcp/backend.h"

/* name: of the server in the session's mcpServers. */
struct mcp_backend *client_backend_new(struct session *s, const char *name);
