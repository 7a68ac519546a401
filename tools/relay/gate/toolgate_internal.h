/* toolgate_internal.h - what the files of the gate share: its own answers, and its lists of
 * tools. */
#pragma once

#include "base/buf.h"
#include "base/limits.h"
#include "digest/digest.h"
#include "policy/policy_rule.h"
#include "tools/relay/gate/toolgate.h"

/* A tool that was listed. */
struct toolgate_tool {
	char *name;
	bool has_schema; /* it announced an output schema */
};

struct toolgate_tally {
	const struct policy_rule *rule;
	uint64_t calls;
};

struct toolgate {
	struct mcp_backend backend; /* first */
	struct mcp_backend outside;
	struct loop *loop;
	struct mcp_backend *inner;
	struct toolgate_config config;
	char *server;
	const struct toolgate_ops *ops;
	void *ctx;
	uint64_t used; /* calls let through */
	struct toolgate_tally *tallies;
	size_t ntallies;
	struct toolgate_tool *tools; /* of the last listing */
	size_t ntools;
	struct sha256 rounds[TOOLGATE_ROUNDS_MAX]; /* calls whose next round may come */
	size_t next_round;
};

/* toolgate_list.c: result of tools/list, to out if something was removed; then true. first: of the first page. */
bool toolgate_list_filter(struct toolgate *g, struct slice result, bool first, struct buf *out);
void toolgate_list_forget(struct toolgate *g);
bool toolgate_list_has_schema(const struct toolgate *g, const char *tool);

/* toolgate_results.c */
struct toolgate_refusal {
	const char *code;
	const char *limit; /* member that set the bound, or NULL */
	int64_t value;
};

/* Writes a result of our own: whether it is an error, and why. */
void toolgate_says(const struct toolgate *g, const char *tool, const struct toolgate_refusal *why,
		   struct buf *out);

/* toolgate_count.c */
struct toolgate_caller {
	const char *tool;
	bool outside; /* it is not the harness */
};

/* A call that the rules allow or ask about: counted, and begun: for ops->end if there is one. False: why says what is used
 * up. */
bool toolgate_count(struct toolgate *g, const struct mcp_policy_word *word,
		    const struct toolgate_caller *c, void **begun, struct toolgate_refusal *why);

/* toolgate_params.c: the texts of calls that the gate changes. */
/* Identifies a call of several rounds: name, arguments and state. False: it does not continue an earlier one. */
bool toolgate_params_continues(struct slice params);
void toolgate_params_round(const char *tool, struct slice params, struct slice state,
			   struct sha256 *ret);
/* Adds elicitation to the client's capabilities: the server may then ask us questions of its policy. */
void toolgate_params_able(struct slice params, struct buf *out);
/* Reports the variables that a call passes to our sandbox, before a command can print them. */
void toolgate_params_variables(const struct toolgate *g, const char *tool, struct slice params);
/* A question of the policy in a result: its key among inputRequests, what it says, and the state to give back. */
struct toolgate_asked {
	struct slice key, permission, state;
};
bool toolgate_params_asked(struct slice result, struct toolgate_asked *ret);
/* Writes the same call again, with the question under key allowed. */
void toolgate_params_allow(struct slice params, struct slice key, struct slice state,
			   struct buf *out);
/* The file that came with a result: J_NONE if there is none. */
struct jval toolgate_result_artifact(struct slice result);
/* Writes the result with a description, or nothing if it is empty, instead of the file. */
void toolgate_result_describe(struct slice result, struct slice described, struct buf *out);
