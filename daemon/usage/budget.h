/*
 * budget.h - bounds on what a prompt, a turn or a session may use, and which of them is reached. turn_budget.c enforces them:
 * the harness is cancelled and the turn ends as "max_tokens" (tokens) or "max_turn_requests" (every other), with
 * _meta.acpd.stopDetail {budget, scope, limit, used}. Pure.
 */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "json/jenc.h"
#include "json/jscan.h"

enum budget_kind {
	BUDGET_STEPS,	   /* model calls that the harness reported */
	BUDGET_TOOL_CALLS, /* tool calls announced */
	BUDGET_SECONDS,	   /* wall clock of turns, milliseconds inside */
	BUDGET_TOKENS,	   /* input + output */
	BUDGET_COST,	   /* as reported, in 1/COST_UNIT */
	BUDGET_MAX,
};

struct budget {
	unsigned has; /* bit per kind */
	uint64_t limit[BUDGET_MAX];
};

/* What model calls use. */
#define BUDGETS_OF_CALLS (1u << BUDGET_STEPS | 1u << BUDGET_TOKENS | 1u << BUDGET_COST)
#define BUDGETS_ALL ((1u << BUDGET_MAX) - 1)

struct budgets {
	struct budget turn, session;
};

struct spending {
	uint64_t used[BUDGET_MAX];
};

/* raw: {"steps":..,"toolCalls":..,"seconds":..,"tokens":..,"cost":..}; field names in errors begin with prefix. Limits are
 * positive. */
int budget_parse(struct slice raw, const char *prefix, struct budget *ret, struct err *e);
/* raw: {"turn": as above, "session": as above}. */
int budgets_parse(struct slice raw, const char *prefix, struct budgets *ret, struct err *e);
void budgets_put(const struct budgets *b, struct jw *w, const char *key);
/* The first of these whose limit is reached, or -1. */
int budget_reached(const struct budget *b, unsigned which, const struct spending *used);
/* Of what model calls use nothing is left, once those that run have used what is reserved for them. */
bool budget_is_reserved(const struct budget *b, const struct spending *used,
			const struct spending *reserved);
/* A kind of which 80 % are used and that nobody has been told of, or -1. told: the limits that were; it is noted there. */
int budget_warning(const struct budget *b, const struct spending *used, uint64_t told[BUDGET_MAX]);
/* How much of it may be used until something is to be told or done; 0: it has no bound. */
uint64_t budget_until(const struct budget *b, enum budget_kind kind, uint64_t used,
		      const uint64_t told[BUDGET_MAX]);
/* Stops at the largest number. */
void spending_add(struct spending *to, const struct spending *more);
const char *budget_name(enum budget_kind kind);
/* -1: there is none of that name. */
int budget_kind_find(struct slice name);
/* A limit or an amount in the unit of the wire, and back from there. */
void budget_put_amount(struct jw *w, const char *key, enum budget_kind kind, uint64_t amount);
bool budget_load_amount(enum budget_kind kind, struct jval v, uint64_t *ret);

/*
 * What a model call may use, before it is made. Calls that run at the same time must not go beyond a budget together. So what each may use is reserved until its real
 * usage is known: one step; a token for every four bytes of the request, and as many as the answer may have, by the request
 * or 4096; the cost of these by the provider's prices, else by what the tokens of the session have cost so far. As
 * long as nobody has told of any cost all of it is reserved: the first call goes alone.
 */
struct call_size {
	uint64_t bytes, output; /* output: tokens that the request allows; 0: it says nothing */
};

void estimate_tokens(const struct call_size *size, uint64_t *input, uint64_t *output);
/* used: by the session so far. cost: of these tokens by prices; NULL: there are none. */
void estimate_call(const struct call_size *size, const struct spending *used, const int64_t *cost,
		   struct spending *ret);
