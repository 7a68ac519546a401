/*
 * rule_judge.h - what rules say of a request: deny before ask before allow, whatever rule it is.
 *
 * Sources are the session's policy (policy/policy.h), its rules for MCP servers (policy/mcp_policy.h) and its people's
 * own rules (own_rules.h). One difference is made within ask: a rule that asks is stronger than all that allows, and
 * that there is merely no rule which allows is weaker than an own rule which does. Globs of paths only restrict; they
 * never allow. A request that does not say what it would do is asked as soon as there is a rule for such things.
 *
 * What a path names is looked up in the file system, as it is then (harnesses/inside.h): links are followed, and a
 * path and its real place are both judged. Beyond that it is pure.
 */
#pragma once

#include "policy/mcp_policy.h"
#include "session/parts/rules/own_rules.h"
#include "session/parts/rules/rule_request.h"

/* The server of the built-in tools, which hold the policy themselves. */
#define RULES_OWN_SERVER "acpd"

struct rule_sources {
	const struct policy *policy;  /* each may be NULL */
	const struct mcp_policy *mcp; /* of servers */
	const struct own_rules *own;
	const char *cwd;  /* root of the globs, as the harness names it */
	const char *tree; /* where it is for us, if a draft is mounted elsewhere; else NULL */
	const char
		*real; /* the tree that a draft is a copy of, a root of the globs, too; else NULL */
	bool gated; /* the request is for a tool that passes the daemon, where its rules hold in any case */
	bool wide; /* it asks for more than its call shows */
};

enum rule_effect {
	RULE_NONE, /* no rule speaks of it */
	RULE_ALLOW,
	RULE_ASK,
	RULE_DENY,
};

struct rule_verdict {
	enum rule_effect effect;
	char rule[POLICY_RULE_SIZE]; /* that decided; "": none */
	bool keeps; /* an answer "from now on" would hold: it can be known again, and no rule wants it asked each time */
	char digest[SHA256_HEX]; /* by which it is; if keeps */
};

void rule_judge(const struct rule_sources *from, const struct rule_request *r,
		struct rule_verdict *ret);

/* What the harness must ask about so that each rule of the policy is held: enum harness_rules bits. */
unsigned rules_need(const struct policy *p, const struct own_rules *own);
