/*
 * served_server.h - one MCP server as a session's harness sees it: its name, the backend behind it, the policy in
 * front, and what the harness has really listed of it.
 */
#pragma once

#include "session/core/session.h"
#include "tools/mcp/backend.h"
#include "tools/relay/gate/toolgate.h"
#include "tools/relay/harness/tool_names.h"

struct served_server;

/* How the server comes to the session. */
enum served_via {
	SERVED_ACP,	/* the client serves it */
	SERVED_BUILTIN, /* the built-in tools */
	SERVED_HOSTED,	/* of the daemon's configuration */
	SERVED_PROJECT, /* of <cwd>/.mcp.json */
	SERVED_CLIENT,	/* the client named it, and we run it, or call it behind a wall */
};

struct served_server_spec {
	const char *name;
	enum served_via via;
	struct mcp_backend *inner; /* must outlive this; owned by it if own */
	bool own;
	bool for_harness; /* to the harness, not only to clients of /mcp */
	const struct mcp_policy *rules;
	enum policy_verdict fallback; /* for tools without a rule */
	struct tool_names *names;     /* of the session's tools; must outlive this */
};

struct served_server *served_server_new(struct loop *loop, struct session *s,
					const struct served_server_spec *spec);
/* No client may be connected. */
struct served_server *served_server_free(struct served_server *o);
/* {"name","via","toolsDelivered"?: [names],"toolsRenamed"?: [{tool,as}],"toolsOmitted"?: [{tool,reason,message}]}: the
 * last three only if the harness has listed them. */
void served_server_put(const struct served_server *o, struct jw *w);
