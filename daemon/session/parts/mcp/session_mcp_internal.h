/*
 * session_mcp_internal.h - the MCP servers of a session: what its harness was given, and the requests of servers to the
 * client.
 *
 * This folder owns struct session_mcp (`mcp` in struct session). `handle` belongs to the provider of the
 * session (mcp_servers.h); ports are embedded in their connections, requests on the heap until they are answered,
 * exactly once.
 */
#pragma once

#include "base/list.h"
#include "session/parts/mcp/mcp_servers.h"
#include "session/parts/mcp/upcall.h"

#include <stdint.h>

/* In struct session: mcp. */
struct session_mcp {
	char *given; /* raw: what the harness was started with */
	void *handle;
	int64_t call_ms;
	struct list ports, upcalls;
	unsigned nupcalls;
};

/* In struct session_store: mcp. Who serves the sessions' servers. */
struct store_mcp {
	const struct mcp_servers_ops *ops; /* NULL: nobody serves any */
	void *ctx;
	unsigned hold; /* seconds a request to a client waits for one to come back */
};

struct session_part;
extern const struct session_part mcp_part;

/* upcall.c */
void upcall_ports_drop(struct session *s);

/* mcp_servers.c */
/* What the harness is to be given, to s->mcp.given; nothing may be started if it fails. */
int mcp_servers_open(struct session *s, struct err *e);
/* Without anybody who serves: all NULL. */
int mcp_servers_place(struct session *s, struct mcp_place *ret, struct err *e);
void mcp_servers_close(struct session *s);
void mcp_servers_forget(struct session *s);
