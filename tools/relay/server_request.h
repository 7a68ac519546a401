/*
 * server_request.h - _meta.acpd.mcp: a client's settings for a session's MCP servers, besides mcpServers itself.
 *
 *	{"builtin": true | {"tools": [name...], "tests": {...}, "interpreters": {...}},
 *			serves the built-in tools (all, or these) to the harness as server "acpd", with the targets of
 *			runTests and the interpreters of runCode (tools/builtin/core/toolbox.h)
 *	 "project": true,	trusts and serves the servers of <cwd>/.mcp.json
 *	 "hosted": [name...],	serves these servers of the daemon's own configuration
 *	 "stdio": "acpd" | "harness",	who runs the programs among mcpServers; acpd unless it says otherwise
 *	 "policy": {...}}	relay/gate/toolgate.h
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "policy/policy.h"

struct server_request {
	bool builtin, project, stdio_by_harness;
	struct slice setup;  /* raw object: members tools, tests, interpreters; empty: none */
	struct slice hosted; /* raw array of strings, or empty */
	struct slice policy; /* raw object, or empty */
};

/* raw: the object, or empty. Slices of ret borrow from it. Errors name the member below "_meta.acpd.mcp". */
int server_request_parse(struct slice raw, struct server_request *ret, struct err *e);
/* Checks that the session's policies, both objects, can be carried out. */
int server_request_check_policy(struct slice mcp_policy, struct slice policy, struct err *e);
/* categories.mcp of _meta.acpd.policy: the verdict for tools that are not built in and have no rule. */
enum policy_verdict server_request_fallback(struct slice policy);
/* The part of _meta.acpd.policy for the built-in tools. */
void server_request_tool_policy(struct buf *out, struct slice policy);
