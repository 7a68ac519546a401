/*
 * served_server.h - one MCP server as a session's harness sees it: its name, the backend behind it, the policy in front, and what the harness has
 * really listed of it.
 */
#pragma once

#include "session/session.h"
#include "tools/mcp/backend.h"
#include "tools/relay/gate/toolgate.h"
#include "tools/relay/harness/tool_names.h"

struct offer;

/* How the server comes to the session. */
enum offer_via {
	OFFER_ACP,     /* the client serves it */
	OFFER_BUILTIN, /* the built-in tools */
	OFFER_HOSTED,  /* of the daemon's configuration */
	OFFER_PROJECT, /* of <cwd>/.mcp.json */
	OFFER_CLIENT,  /* the client named it, a policy holds for it, so we run it */
};

struct offer_spec {
	const char *name;
	enum offer_via via;
	struct mcp_backend *inner; /* must outlive the offer; owned by it if own */
	bool own;
	bool given; /* to the harness, not only to clients of /mcp */
	const struct toolgate_rules *rules;
	enum policy_verdict fallback; /* for tools that no rule speaks of */
	struct names *names;	      /* of the session's tools; must outlive the offer */
};

struct offer *offer_new(struct loop *loop, struct session *s, const struct offer_spec *spec);
/* Nobody may be connected. */
struct offer *offer_free(struct offer *o);
/* {"name","via","toolsDelivered"?: [names],"toolsRenamed"?: [{tool,as}]}: the last two only if the harness has listed them. */
void offer_put(const struct offer *o, struct jw *w);
