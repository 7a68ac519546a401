/* totals.h - what a session has used in all its turns. It is kept in its journal, so that it outlives the daemon. */
#pragma once

#include "usage/account.h"
#include "usage/budget.h"

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
