/*
 * server_request.h - _meta.acpd.mcp: what a client wants of a session's MCP servers besides naming them in mcpServers.
 *
 *	{"builtin": true | {"tools": [name...], "tests": {...}, "interpreters": {...}},
 *	                                           the built-in tools (all, or these) are served to the harness as server "acpd", with the
 *	                                           targets of runTests and the interpreters of runCode (tools/builtin/core/toolbox.h)
 *	 "project": true,                          the servers of <cwd>/.mcp.json are trusted and served
 *	 "hosted": [name...],                      servers of the daemon's own configuration that are served
 *	 "policy": {...}}                          relay/gate/toolgate.h
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "tools/policy/policy.h"

#include <stdbool.h>

struct server_request {
	bool builtin, project;
	struct slice setup;  /* raw object: members tools, tests, interpreters; empty: none */
	struct slice hosted; /* raw array of strings, or empty */
	struct slice policy; /* raw object, or empty */
};

/* raw: the object, or empty. Slices of ret borrow from it. Errors name the member below "_meta.acpd.mcp". */
int server_request_parse(struct slice raw, struct server_request *ret, struct err *e);
/* The session's policies, both objects: whether they can be carried out. */
int server_request_check_policy(struct slice mcp_policy, struct slice policy, struct err *e);
/* categories.mcp of _meta.acpd.policy: what holds for tools that are not the built-in ones, where no rule speaks of
 * them. */
enum policy_verdict server_request_fallback(struct slice policy);
/* What of _meta.acpd.policy is for the built-in tools. */
void server_request_tool_policy(struct buf *out, struct slice policy);
