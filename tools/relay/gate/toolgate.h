/*
 * toolgate.h - the policy of a session in front of one MCP server: a backend (tools/mcp/backend.h) that passes calls
 * on to another one.
 *
 * The rules are those of policy/mcp_policy.h. A denied tool is not listed, and refused when called. A tool that asks is held until
 * toolgate_answer. A tool on dry run is recorded and answered so. All else, and all other methods, pass byte for byte.
 *
 * A refusal of the gate in tools/call is an isError result with structuredContent.error {code, message, tool, limit?}:
 * POLICY_DENIED, PERMISSION_REJECTED, MAX_CALLS, BUDGET_SPENT, TIMEOUT, RESULT_TOO_LARGE, DRY_RUN; and TOOL_CALL_LOST, of a call to
 * the client that may or may not have been carried out. It has structuredContent only if the tool announced no output
 * schema, because clients would check it against that; _meta.acpd.error is there in any case. An error of the server
 * stays an error.
 *
 * A server of ours (builtin) may answer with a question of its policy, an elicitation with _meta.acpd.permission
 * (builtin/core/tool_approval.c), since every call declares that its client can be asked. The gate asks such a question
 * itself, and the answer goes back to the server; the client sees neither. Questions of other servers pass on.
 *
 * Files in its results (_meta.acpd.artifact) go to the session; the client gets a description instead.
 *
 * Everything runs on the loop. Callbacks may not free the gate.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "loop/loop.h"
#include "policy/mcp_policy.h"
#include "tools/mcp/backend.h"

struct toolgate;
struct toolgate_ask; /* one open question; gone after toolgate_answer or unask */

/* What is asked; borrowed for the callback. */
struct toolgate_question {
	const char *tool;
	struct slice title; /* one sentence, plain text */
	struct slice args;  /* raw arguments of the call, or empty */
	struct slice
		permission; /* raw {tool, category, title, paths?, command?} of a built-in tool, or empty */
};

enum toolgate_answer { TOOLGATE_ALLOW, TOOLGATE_REJECT };

struct toolgate_ops {
	/* To be answered by toolgate_answer, also from inside. NULL: every question is rejected. */
	void (*ask)(void *ctx, struct toolgate_ask *a, const struct toolgate_question *q);
	/* The caller is gone: no answer is needed any more. */
	void (*unask)(void *ctx, struct toolgate_ask *a);
	/* A result of our own server brings a file (builtin/core/tool.h): {name, type, text | base64}, from a process
	 * of the session's user. Appends the raw object that replaces it. NULL: files are dropped. */
	void (*artifact)(void *ctx, struct slice artifact, struct buf *ret);
	/* Our own server gets variables (createSandbox), an object that is not checked yet. NULL: as all
	 * others. */
	void (*variables)(void *ctx, struct slice env);
	/* A call is about to be made, or to be asked about: held against the budgets of its session. outside: it does
	 * not come from the harness. Returns what end is given, or NULL: it may not be made, limit says how many may. NULL: there are
	 * no budgets. */
	void *(*begin)(void *ctx, const char *tool, bool outside, uint64_t *limit);
	/* It is over. */
	void (*end)(void *ctx, void *begun);
	/* A call that was not made because of a dry run. */
	void (*recorded)(void *ctx, const char *tool, struct slice args);
};

struct toolgate_config {
	const char *server;		/* its name */
	const struct mcp_policy *rules; /* NULL: none */
	enum policy_verdict fallback;	/* for tools without a rule */
	bool builtin;			/* the gate asks its questions */
	bool upward;			/* it is served by the session's client */
};

/* inner is borrowed and must outlive the gate. The gate is a backend: mcp_backend_free(toolgate_backend(g)) is
 * toolgate_free(g). */
struct toolgate *toolgate_new(struct loop *loop, struct mcp_backend *inner,
			      const struct toolgate_config *config, const struct toolgate_ops *ops,
			      void *ctx);
struct toolgate *toolgate_free(struct toolgate *g);
struct mcp_backend *toolgate_backend(struct toolgate *g);
/* The same for callers that are not the harness; not to be freed. */
struct mcp_backend *toolgate_outside(struct toolgate *g);
void toolgate_answer(struct toolgate_ask *a, enum toolgate_answer answer);
