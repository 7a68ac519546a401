/*
 * session_mcp_internal.h - the MCP servers of a session: what its harness was given, and the requests of servers to the
 * client.
 *
 * This folder owns struct session_mcp . `handle` belongs to the provider of the
 * session (mcp_servers.h); ports are embedded in their connections, requests on the heap until they are answered,
 * exactly once.
 */
#pragma once

#include "session/parts/session_parts.h"
#include "base/list.h"
#include "session/parts/mcp/mcp_servers.h"
#include "session/core/session_host.h"
#include "session/parts/mcp/upcall.h"

/* State of the part. */
struct session_mcp {
	char *given; /* raw: what the harness was started with */
	void *handle;
	int64_t call_ms;
	struct list ports, upcalls;
	unsigned nupcalls;
};

static inline struct session_mcp *mcp_of(const struct session *s)
{
	return s->parts[PART_MCP];
}

/* For all sessions: who serves their servers. */
struct store_mcp {
	const struct mcp_servers_ops *ops; /* NULL: nobody serves any */
	void *ctx;
};

static inline struct store_mcp *store_mcp_of(const struct session_store *st)
{
	return st->parts[PART_MCP];
}

/* upcall.c */
void upcall_ports_drop(struct session *s);

/* mcp_servers.c */
/* Without anybody who serves: all NULL. */
int mcp_servers_place(struct session *s, struct mcp_place *ret, struct err *e);
