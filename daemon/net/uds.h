/*
 * uds.h - the two UNIX sockets of the run directory, on our own loop; JSON lines both.
 *
 * control.sock: claim, sessions, doctor. acp.sock: ACP, one client per connection, the same messages as over
 * WebSocket. Both are 0600, and the peer's uid must be 0 or ours (SO_PEERCRED): no token is asked for.
 */
#pragma once

#include "acp/server.h"
#include "http/endpoints.h"
#include "net/gate.h"

struct uds_server;

/* Takes over stale sockets; -EADDRINUSE if a living daemon has them. */
struct uds_server *uds_server_new(struct loop *loop, const char *run_dir, struct acp_server *acp,
				  struct gate *gate, struct http_context *info, struct err *e);
struct uds_server *uds_server_free(struct uds_server *u);
