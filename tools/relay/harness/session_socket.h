/*
 * session_socket.h - the UNIX socket through which a session's harness reaches its MCP servers:
 * <run>/mcp/<session>/sock in directories that may only be passed through (0711), 0600, owned by the uid that runs
 * the harness. No TCP port is opened: sandboxes publish those.
 *
 * A client (the shim, "acpd mcp") must be of that uid (SO_PEERCRED) and send one line with the name of the server and
 * the session's capability, {"acpd":{"server":NAME,"key":HEX}}. After that the connection is MCP over JSON lines, and
 * nothing else. A wrong line ends it without an answer. At most SESSION_SOCKET_CLIENTS_MAX at a time.
 */
#pragma once

#include "base/err.h"
#include "loop/loop.h"
#include "tools/mcp/backend.h"

struct session_socket;

struct session_socket_ops {
	/* The backend of that server, to be served until the socket closes; NULL: there is none. */
	struct mcp_backend *(*find)(void *ctx, const char *server);
};

/* key: what clients must send. MCP_SOCKET_FAILED. */
struct session_socket *session_socket_new(struct loop *loop, const char *path, uid_t uid, gid_t gid,
					  const char *key, const struct session_socket_ops *ops,
					  void *ctx, struct err *e);
/* Ends all connections, removes the socket. */
struct session_socket *session_socket_free(struct session_socket *d);
/* Ends only the connections: the harness is gone, the servers change. */
void session_socket_clear(struct session_socket *d);
