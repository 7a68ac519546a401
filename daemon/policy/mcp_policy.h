/*
 * mcp_policy.h - _meta.acpd.mcp.policy: what tools of MCP servers may do.
 *
 * {SERVER or "*": {policy, timeoutMs, maxCalls, maxResultBytes, dryRun, tools: {NAME or glob: the same}}}. For each
 * member, a tool's own rule (exact name before the first glob that matches; its server's before that of "*") takes
 * precedence over its server's, and that over "*"; maxCalls of a tool's rule and of the server both count.
 *
 * The gate in front of each server holds them (tools/relay/gate); for a harness that asks before it calls, the session
 * says beforehand what the gate would (session/rules). Immutable, not counted: they must outlive their gates. NULL: no
 * rules.
 */
#pragma once

#include "policy/policy_rule.h"

struct mcp_policy;

/* raw: the object above; empty: no rules. Errors name the member as a path below field, e.g.
 * "_meta.acpd.mcp.policy.jira.timeoutMs". */
int mcp_policy_parse(struct slice raw, const char *field, struct mcp_policy **ret, struct err *e);
struct mcp_policy *mcp_policy_free(struct mcp_policy *r);
/* False: the rules deny the whole server, tools included; it need not be started or passed to a harness. */
bool mcp_policy_serve(const struct mcp_policy *r, const char *server, enum policy_verdict fallback);
/* The longest timeoutMs of any rule; 0: there is none. */
int64_t mcp_policy_longest(const struct mcp_policy *r);

/* The rules for one tool of one server. */
struct mcp_policy_word {
	struct policy_rule rule;       /* with the fallback's verdict where none is given */
	const struct policy_rule *own; /* the tool's, or NULL: counts its calls */
	int64_t server_calls;	       /* maxCalls of the server; -1: none */
};

/* why (may be NULL): "mcp.policy.jira.tools.get*", "mcp.policy.*"; "" where the fallback holds. */
void mcp_policy_word(const struct mcp_policy *r, const char *server, const char *tool,
		     enum policy_verdict fallback, struct mcp_policy_word *ret,
		     struct policy_reason *why);
/* Each rule once, by that name; said->kind is POLICY_RULE_TOOL or POLICY_RULE_LIMIT. */
void mcp_policy_each_rule(const struct mcp_policy *r, policy_rule_fn fn, void *ctx);
