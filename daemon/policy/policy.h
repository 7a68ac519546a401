/*
 * policy.h - what the tools of a session may do: files by globs, commands by rules on their words, tools by category
 * and name. The built-in tools ask it before each step (tools/builtin); for the tools of a harness the session asks it
 * when the harness wants to know whether it may (session/rules).
 *
 * The object (_meta.acpd.policy, --policy FILE); every member is optional, an unknown or wrong one is an error that
 * names it:
 *	{"read": [glob...], "write": [glob...], "deny": [glob...],
 *	 "commands": [{"prefix": ["git", "status"], "policy": "allow"}, {"argv": ["rm", "-rf", "/"], "policy": "deny"}...],
 *	 "categories": {"read" | "edit" | "execute" | "mcp" | "other": "allow" | "ask" | "deny"},
 *	 "tools": {NAME or glob: {"policy", "timeoutMs", "maxCalls", "maxResultBytes", "dryRun"}}, "dryRun": true}
 *
 * Globs are tree/glob.h's, relative to the root: with a slash inside they start at the root, without one they match a
 * name at any depth, and what matches a directory covers all in it. Deny wins; without "read" ("write") everything
 * else may be read (written).
 *
 * Commands: the rule with most words wins; of two with as many, one whose words the command begins with, then the
 * stricter. Rules that allow are read narrowly: the very words, the program by bare name or in /bin or /usr/bin.
 * Rules that ask or deny are read widely: the program wherever it lies, their other words anywhere, in any order,
 * options alone or together, and "argv" as "prefix". A command that no rule matches gets categories.execute if given,
 * else "ask" if there are rules, else "allow" (a rule with an empty prefix matches every command and stands for
 * that). Programs that run others (env, xargs, find -exec, sh -c...) and shell text are seen through, the strictest
 * part decides; what cannot be understood (substitutions, functions, code given to an interpreter, output into files)
 * counts as "sh": what a rule says of sh, else no better than "ask" as soon as one rule asks or denies.
 *
 * A policy is immutable: every thread may read it. NULL stands for none: everything is allowed. Verdicts other than
 * POLICY_ALLOW fill e: PATH_DENIED (deny glob), PATH_NOT_ALLOWED (outside of the globs), COMMAND_DENIED, COMMAND_ASK,
 * TOOL_DENIED, TOOL_ASK, with a sentence. why (may be NULL) says which rule decided, also one that allows.
 */
#pragma once

#include "base/err.h"
#include "base/slice.h"

/* Ordered: the stricter is further from 0 or negative; policy_stricter knows. */
enum policy_verdict { POLICY_DENY = -1, POLICY_ALLOW = 0, POLICY_ASK = 1 };

enum policy_access { POLICY_READ, POLICY_WRITE };

/* Mastra's categories of tools. */
enum policy_category {
	CATEGORY_READ,
	CATEGORY_EDIT,
	CATEGORY_EXECUTE,
	CATEGORY_MCP,
	CATEGORY_OTHER,
	CATEGORIES
};

const char *policy_category_name(enum policy_category c);

#define POLICY_RULE_SIZE 96

/* The rule that decided, as a path below _meta.acpd: "policy.deny[0]", "policy.write" (the list as a whole leaves it
 * out), "policy.commands[2]", "policy.commands" (none of them speaks of it), "policy.categories.execute",
 * "policy.tools.run*". */
struct policy_reason {
	char rule[POLICY_RULE_SIZE]; /* "": none speaks of it */
	bool unspoken; /* it asks because nothing allows it: what allows that very thing is stronger */
};

struct policy;

/* known (may be NULL): whether some tool has that name, or one that the glob matches; a rule for no tool would silently
 * have no effect, and is TOOL_UNKNOWN. */
int policy_parse(struct slice raw, bool (*known)(const char *glob), struct policy **ret,
		 struct err *e);
struct policy *policy_free(struct policy *p);

static inline void policy_freep(struct policy **p)
{
	policy_free(*p);
}

enum policy_verdict policy_stricter(enum policy_verdict a, enum policy_verdict b);

/* path: relative to the root, as it is after links were resolved ("" or ".": the root itself). One with ".." or a
 * leading slash is denied. ALLOW or DENY; applyDiff alone makes a question of PATH_NOT_ALLOWED. */
enum policy_verdict policy_path(const struct policy *p, const char *path, enum policy_access access,
				struct policy_reason *why, struct err *e);
/* A place outside of the root, by its absolute path: globs that deny a name at any depth hold there too, and a list of
 * what may be read (written) leaves it out. */
enum policy_verdict policy_path_outside(const struct policy *p, const char *path,
					enum policy_access access, struct policy_reason *why,
					struct err *e);
/* True if there are globs for it: what does not say which files it touches cannot be held to them. */
bool policy_has_globs(const struct policy *p, enum policy_access access);
/* True if something below the directory could be allowed: a listing that starts there is not refused as a whole. */
bool policy_path_within(const struct policy *p, const char *dir, enum policy_access access);

/* argv: NULL-terminated. */
enum policy_verdict policy_argv(const struct policy *p, char *const *argv,
				struct policy_reason *why, struct err *e);
/* Text for sh -c. */
enum policy_verdict policy_shell(const struct policy *p, const char *text,
				 struct policy_reason *why, struct err *e);
/* A command whose words are not known. */
enum policy_verdict policy_unread_command(const struct policy *p, struct policy_reason *why,
					  struct err *e);
/* A variable that a call sets for its command: such as make programs run others (LD_PRELOAD, PATH, GIT_SSH_COMMAND)
 * count as "sh". */
enum policy_verdict policy_variable(const struct policy *p, const char *name, struct err *e);

/* The tool itself, before its arguments are checked. name NULL: its category alone. The toolbox asks an "ask" of category execute or edit
 * before the tool runs. */
enum policy_verdict policy_tool(const struct policy *p, enum policy_category category,
				const char *name, struct policy_reason *why, struct err *e);

/* What a rule for tools of that name says, and not their category. */
enum policy_verdict policy_named_tool(const struct policy *p, const char *name,
				      struct policy_reason *why);

/* Of one tool. timeout_ms 0: none of its own; the others -1: no limit. */
struct policy_limits {
	int64_t timeout_ms, max_calls, max_result_bytes;
	bool dry_run;
};

struct policy_limits policy_tool_limits(const struct policy *p, const char *name);

/* What a rule is about, for who has to say where it is held. */
enum policy_rule_kind {
	POLICY_RULE_DENY,
	POLICY_RULE_READ, /* the list */
	POLICY_RULE_WRITE,
	POLICY_RULE_COMMAND,
	POLICY_RULE_CATEGORY, /* category is set */
	POLICY_RULE_TOOL,     /* has a verdict */
	POLICY_RULE_LIMIT,    /* of a tool: time, number, size, dry run, and no verdict */
	POLICY_RULE_DRY_RUN,
};

struct policy_rule_said {
	enum policy_rule_kind kind;
	enum policy_category category;
	enum policy_verdict verdict;
	const char *tool; /* name or glob of a rule for tools */
};

/* Gets a rule by the name that struct policy_reason gives it. */
typedef void (*policy_rule_fn)(void *ctx, const char *rule, const struct policy_rule_said *said);

/* Each rule once. */
void policy_each_rule(const struct policy *p, policy_rule_fn fn, void *ctx);
