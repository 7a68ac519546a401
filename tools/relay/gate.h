/*
 * gate.h - the policy of a session in front of one MCP server: a backend (tools/mcp/backend.h) that passes calls on to another one.
 *
 * Rules (_meta.acpd.mcp.policy): {SERVER or "*": {policy, timeoutMs, maxCalls, maxResultBytes, dryRun, tools: {NAME or glob: the same}}}.
 * A tool's own rule (exact name before the first glob that matches) goes before its server's, that before "*", member by member; maxCalls of
 * a server and of a tool's rule both count. A tool that is denied is not listed and is refused when called; one that asks is held until
 * gate_answer; one on dry run is recorded and answered as such. All else, and all other methods, pass byte for byte.
 *
 * What the gate refuses in tools/call is an isError result with structuredContent.error {code, message, tool, limit?}: POLICY_DENIED,
 * PERMISSION_REJECTED, MAX_CALLS, TIMEOUT, RESULT_TOO_LARGE. An error of the server stays an error.
 *
 * A server of ours (builtin) may answer with a question of its policy (builtin/policy_ask.h): such a question becomes an ask here, and the
 * answer goes back to the server; the client sees neither. Questions of other servers pass on.
 *
 * Everything runs on the loop. Callbacks may not free the gate.
 */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "loop/loop.h"
#include "tools/builtin/policy.h"
#include "tools/mcp/backend.h"

#include <stdbool.h>
#include <stdint.h>

/* Rules of all servers of a session; immutable, counted by nobody: lives longer than its gates. */
struct gate_rules;

/* raw: the object above; empty: no rules. Errors name the member as a path below field, e.g. "_meta.acpd.mcp.policy.jira.timeoutMs". */
int gate_rules_parse(struct slice raw, const char *field, struct gate_rules **ret, struct err *e);
struct gate_rules *gate_rules_free(struct gate_rules *r);
/* False: the rules deny the whole server, tools included; it need not be started or given to a harness. */
bool gate_rules_serve(const struct gate_rules *r, const char *server, enum policy_verdict fallback);

struct gate;
struct gate_ask; /* one open question; gone after gate_answer or unask */

/* What is asked; borrowed for the callback. */
struct gate_question {
	const char *tool;
	struct slice title; /* one sentence, plain text */
	struct slice args;  /* raw arguments of the call, or empty */
	struct slice
		permission; /* raw {tool, category, title, paths?, command?} of a built-in tool, or empty */
};

enum gate_answer { GATE_ALLOW, GATE_REJECT };

struct gate_ops {
	/* A client listed tools: all it has been given since its first page. Raw text of each name, still escaped. */
	void (*listed)(void *ctx, const struct slice *names, size_t n);
	/* To be answered by gate_answer, also from inside. NULL: whatever asks is rejected. */
	void (*ask)(void *ctx, struct gate_ask *a, const struct gate_question *q);
	/* The caller has gone: no answer is wanted any more. */
	void (*unask)(void *ctx, struct gate_ask *a);
	/* A call that was not made because of a dry run. */
	void (*recorded)(void *ctx, const char *tool, struct slice args);
};

struct gate_config {
	const char *server;		/* its name */
	const struct gate_rules *rules; /* NULL: none */
	enum policy_verdict fallback;	/* for tools no rule speaks of */
	bool builtin;			/* questions of policy_ask.h are ours */
};

struct gate_counts {
	uint64_t calls, denied, asked, rejected, recorded, timed_out, too_large, over_calls;
};

/* inner is borrowed and must outlive the gate. The gate is a backend: mcp_backend_free(gate_backend(g)) is gate_free(g). */
struct gate *gate_new(struct loop *loop, struct mcp_backend *inner,
		      const struct gate_config *config, const struct gate_ops *ops, void *ctx);
struct gate *gate_free(struct gate *g);
struct mcp_backend *gate_backend(struct gate *g);
void gate_answer(struct gate_ask *a, enum gate_answer answer);
const struct gate_counts *gate_counts(const struct gate *g);
