/*
 * policy_rule.h - {"policy", "timeoutMs", "maxCalls", "maxResultBytes", "dryRun"}: the rule of one tool, or of all
 * tools of a server, and maps of names to rules. Shared by the policy of the built-in tools and the rules of relayed
 * servers. Absent members are distinct from present ones, so that rules can be laid over each other.
 */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "json/jscan.h"
#include "policy/policy.h"

struct policy_rule {
	bool ruled; /* verdict was given */
	enum policy_verdict verdict;
	int64_t timeout_ms, max_calls, max_result_bytes; /* -1: not given; timeout 0: none */
	int dry_run;					 /* -1: not given */
};

#define POLICY_RULE_NONE ((struct policy_rule){ false, POLICY_ALLOW, -1, -1, -1, -1 })

/* path: of the object, for errors. tools: the raw member of that name, empty if absent; NULL where it is not
 * allowed. */
int policy_rule_parse(struct jval object, const char *path, struct policy_rule *ret,
		      struct slice *tools, struct err *e);
/* It says nothing. */
bool policy_rule_is_empty(const struct policy_rule *r);
/* Members that r does not have are taken from under. */
void policy_rule_under(struct policy_rule *r, const struct policy_rule *under);

struct policy_named {
	char *name; /* or a glob */
	struct policy_rule rule;
};

struct policy_rules {
	struct policy_named *v;
	size_t n;
};

/* object: {NAME: rule}. policy_rules_done in any case. */
int policy_rules_parse(struct slice object, const char *path, struct policy_rules *ret,
		       struct err *e);
void policy_rules_done(struct policy_rules *r);
/* The name itself before the first glob that matches; NULL: none. */
const struct policy_named *policy_rules_find(const struct policy_rules *r, const char *name);

/* "allow", "ask" or "deny"; -EINVAL. */
int policy_verdict_parse(struct jval v, enum policy_verdict *ret);
/* Member name of an object, between its quotes, as jiter_next gives it; caller frees. */
int policy_name_decode(struct slice key, char **ret);

/* Calls fn with a rule for a tool, or for all of a server (tool NULL), unless it says nothing. Its name is name and tool. */
void policy_tell_tool(policy_rule_fn fn, void *ctx, const struct policy_rule *r,
		      enum policy_category category, const char *tool, const char *name);
