/*
 * setup_check.h - whether a session can be given its parameters, before anything changes: each part checks its own.
 *
 * A budget that nothing can measure is refused (BUDGET_UNMEASURABLE) where that is known in advance: steps, of a harness that
 * does not report each model call and whose calls do not pass the daemon. Of tokens and cost it is known when the turn has
 * ended (turn_budget.c).
 */
#pragma once

#include "session/core/harness/setup.h"
#include "session/core/session.h"

/* have: the setup of the session; NULL: it is new. */
int setup_check(const struct session_store *st, const struct harness_def *def,
		const struct setup *have, const struct setup_params *p, struct err *e);
/* Returns whether the model calls of the session are counted. */
bool setup_counts_calls(const struct harness_def *def, const struct setup *s);
/* Refuses a budget of steps: its field begins with prefix. Returns -EINVAL. */
int setup_refuse_steps(const struct harness_def *def, const char *prefix, struct err *e);
