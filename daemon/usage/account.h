/*
 * account.h - what one turn used: tokens and cost as the harness reported them or as its calls told, model calls, tool
 * calls. Fed while the turn runs, read when it ends.
 *
 * Counts of model calls are added up; a count that the harness gave for the whole turn replaces its sum. A count that
 * nobody reported stays absent. The source names where a number came from: a word of the harness's protocol, or "sum"
 * of its model calls.
 */
#pragma once

#include "harnesses/harness.h"
#include "json/jenc.h"
#include "usage/budget.h"

#define ACCOUNT_TOOLS_MAX                                                                          \
	64 /* different tool names counted in one turn; the rest counts as "other" */

struct tool_count {
	char *name;
	uint64_t ok, failed, ms;
};

struct account {
	struct harness_usage sum, turn; /* of model calls; of the turn */
	uint64_t calls,
		tool_calls;	/* model calls reported, or that succeeded; tool calls announced */
	char *model, *provider; /* of the last report */
	char currency[8];
	const char *
		cost_source; /* static: "harness", "provider", "prices", or "sum" of different ones */
	struct tool_count *tools;
	size_t ntools;
};

/* Adds what is known of u: counts and cost. */
void usage_add(struct harness_usage *to, const struct harness_usage *u);
void account_usage(struct account *a, const struct harness_usage *u);
/* A model call that passes has used now, where it had used was when this was called before. a->calls is the caller's. */
void account_call(struct account *a, const struct harness_usage *was,
		  const struct harness_usage *now);
/* A tool call has ended after so many milliseconds. */
void account_tool(struct account *a, const char *name, bool ok, uint64_t ms);
void account_done(struct account *a);
/* The turn's count; false: unknown. */
bool account_count(const struct account *a, enum harness_count what, uint64_t *ret);
/* The turn's cost in 1/COST_UNIT; false: unknown. */
bool account_cost(const struct account *a, int64_t *ret);
/* ACP's PromptResponse.usage, with what more adds (may be NULL); left out unless input and output are known. */
void account_put_acp(const struct account *a, const struct harness_usage *more, struct jw *w,
		     const char *key);
/* Adds the turn's counts and cost. */
void account_add_to(const struct account *a, struct harness_usage *to);
/* Members usage, sources, cost and modelCalls of a ledger record. */
void account_put_numbers(const struct account *a, struct jw *w);
/* Member toolCalls of a ledger record. */
void account_put_tools(const struct account *a, struct jw *w);
/* Members usage, cost and source of one report. */
void account_put_usage(const struct harness_usage *u, struct jw *w);
/* The other way round: counts and cost of a record's members, for turns whose daemon died. */
void account_load_call(struct slice record, struct harness_usage *ret);

/* What a session has used in all its turns. It is kept in its journal, so that it outlives the daemon. */
struct totals {
	struct spending spent;
	struct harness_usage usage;
	char currency[8];	 /* of the cost; "mixed": of several, so there is no sum */
	const char *cost_source; /* as in struct account */
	uint64_t turns;
	uint64_t told[BUDGET_MAX]; /* budgets of the session that were warned of, by their limits */
};

void totals_add(struct totals *t, const struct account *a);
/* A model call that no turn has. */
void totals_add_call(struct totals *t, const struct harness_usage *u, bool succeeded);
/* Writes it as a member of a ledger record. */
void totals_put(const struct totals *t, struct jw *w, const char *key);
/* Writes the note for the session's journal, with the last turn in it; totals_load reads it back. */
void totals_put_note(const struct totals *t, struct jw *w, uint64_t turn);
void totals_load(struct totals *t, struct slice record);
