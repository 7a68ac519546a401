/*
 * mcp_rig.h - a front between a client and a backend that are both played by the test.
 *
 * Whatever happens is one line of the log, and a test states the whole log since the last look:
 *
 *	> METHOD PARAMS      the backend is called
 *	x METHOD             a call is cancelled
 *	< ID MESSAGE         to the client, belonging to its request ID; "-" for none
 *	<! ID MESSAGE        the same, as that request's answer
 *	gone ID              the client has cancelled it
 */
#pragma once

#include "unit.h"

#include "loop/loop.h"
#include "tools/mcp/backend.h"
#include "tools/mcp/mcp_front.h"
#include "tools/mcp/msg.h"

#define MCP_RIG_CALLS 64

struct mcp_rig_call {
	struct mcp_call base;
	struct mcp_rig *rig;
	const struct mcp_reply_ops *ops;
	void *ctx; /* NULL: answered or cancelled */
	char *method, *params;
};

struct mcp_rig {
	struct mcp_backend backend;
	struct loop *loop;
	struct mcp_front *front;
	struct mcp_rig_call calls[MCP_RIG_CALLS];
	unsigned ncalls;
	struct buf log;
	bool discard; /* calls are never answered, and not kept */
	struct mcp_call discarded;
};

struct mcp_rig *mcp_rig_new(void);
void mcp_rig_free(struct mcp_rig **r);
/* One message of the client. */
void mcp_rig_say(struct mcp_rig *r, const char *message);
/* Answers of the backend to its nth call, from 0. */
void mcp_rig_result(struct mcp_rig *r, unsigned n, const char *result);
void mcp_rig_error(struct mcp_rig *r, unsigned n, const char *error);
void mcp_rig_notify(struct mcp_rig *r, unsigned n, const char *method, const char *params);
/* Deferred work, and timers that are due within ms. */
void mcp_rig_run(struct mcp_rig *r, unsigned ms);
/* An initialized client with these capabilities of 2025-11-25, of a server with those; the log is empty after. */
struct mcp_rig *mcp_rig_legacy(const char *client_capabilities, const char *server_capabilities);
void check_mcp_log(struct mcp_rig *r, const char *want, const char *file, int line);

/* The log since the last look is exactly this. */
#define assert_log(rig, want) check_mcp_log(rig, want, __FILE__, __LINE__)

#define INFO "{\"name\":\"c\",\"version\":\"1\"}"
/* params._meta of what a legacy client with these capabilities asks for. */
#define LEGACY_MEMBERS(capabilities)                                                               \
	"\"" MCP_META_VERSION "\":\"2026-07-28\",\"" MCP_META_CAPABILITIES "\":" capabilities      \
	",\"" MCP_META_CLIENT "\":" INFO
#define LEGACY_META(capabilities) "\"_meta\":{" LEGACY_MEMBERS(capabilities) "}"
#define MODERN_META                                                                                \
	"\"_meta\":{\"" MCP_META_VERSION "\":\"2026-07-28\",\"" MCP_META_CAPABILITIES "\":{}}"
