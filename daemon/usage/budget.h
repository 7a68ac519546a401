/*
 * budget.h - bounds on what a turn or a session may use, and which of them is reached. usage/budget.c enforces them:
 * the harness is cancelled and the turn ends as "max_tokens" (tokens) or "max_turn_requests" (every other), with
 * _meta.acpd.stopDetail {budget, scope, limit, used}.
 */
#pragma once

#include "base/slice.h"
#include "json/jenc.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

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

struct budgets {
	struct budget turn, session;
};

struct spending {
	uint64_t used[BUDGET_MAX];
};

/* raw: {"turn":{"steps":..,"toolCalls":..,"seconds":..,"tokens":..,"cost":..},"session":{...}}; field names in
 * errors begin with prefix. Limits are positive. */
int budgets_parse(struct slice raw, const char *prefix, struct budgets *ret, struct err *e);
void budgets_put(const struct budgets *b, struct jw *w, const char *key);
/* The first kind whose limit is reached, or -1. */
int budget_reached(const struct budget *b, const struct spending *used);
const char *budget_name(enum budget_kind kind);
/* A limit or an amount in the unit of the wire. */
void budget_put_amount(struct jw *w, const char *key, enum budget_kind kind, uint64_t amount);
