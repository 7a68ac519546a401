/*
 * turn_budget.h - the budgets of a session at work: what its turns, its prompts and itself have used, held against their
 * limits; and the tool calls that pass the daemon, which are held back before they run.
 */
#pragma once

#include "session/core/session_internal.h"
#include "session/parts/session_parts.h"
#include "usage/budget.h"

/* The narrowest first: where several are reached at once, that one is named. */
enum budget_scope { SCOPE_PROMPT, SCOPE_TURN, SCOPE_SESSION, SCOPE_MAX };

/* The budgets of one prompt, and what the turns that were made of it have used. It is the running turn's; a turn that
 * goes on with the same prompt takes it over (turn_budget_pass). */
struct prompt_budget {
	struct budget limits;
	struct spending before;	   /* by the turns before, but for their time */
	uint64_t since_mono;	   /* its first turn began; 0: not yet */
	uint64_t told[BUDGET_MAX]; /* as in struct session_turn */
};

/* The budget that stopped a turn, or that somebody is warned of. */
struct budget_stop {
	bool tripped;
	enum budget_scope scope;
	enum budget_kind kind;
	uint64_t limit, used;
};

/* State of a turn. */
struct turn_budget {
	struct budget_stop trip;
	bool unheld; /* a tool call beyond a budget may be running: nothing held it back */
	uint64_t told[BUDGET_MAX];	 /* its budgets that were warned of, by their limits */
	struct prompt_budget *of_prompt; /* NULL: the prompt has none */
};

static inline struct turn_budget *turn_budget_of(const struct session_turn *t)
{
	return t->parts[PART_BUDGET];
}

/* State of the part. */
struct session_budget {
	struct list served; /* struct served_call, oldest first */
	unsigned nserved;
	struct loop_timer timer; /* of a budget of seconds */
	struct loop_task review; /* a tool call that passed the daemon has ended */
};

static inline struct session_budget *budget_of(const struct session *s)
{
	return s->parts[PART_BUDGET];
}

/* Whether the harness, with this setup, tells of its model calls, or they pass the daemon. */
extern const struct session_parameter budgets_parameter;
/* Those of a session with this setup. */
const struct budgets *budgets_of(const struct setup *s);
bool setup_counts_calls(const struct harness_def *def, const struct setup *s);

/* Arms the clock; false: the session's budget is used up and the turn has been ended. */
bool turn_budget_begin(struct session *s);
/* Member "budgets": every budget that holds now, and how much of it is used. Nothing if there is none. */
void turn_budget_put(struct jw *w, const struct session *s);
/* After each output: cancels the turn if a budget has been reached. */
void turn_budget_check(struct session *s);
/* The same for what model calls use, where they pass the daemon: the model has said that it wants to go on. */
void turn_budget_check_calls(struct session *s);
/* Tells of each budget of which 80 % are used, once. */
void turn_budget_warn(struct session *s);
/* What is left for a model call that passes the daemon. CAPACITY_RESERVED: all of it, by those that run; it may be asked for
 * again when one of them has ended. why: of CAPACITY_SPENT. */
enum budget_capacity { CAPACITY_LEFT, CAPACITY_RESERVED, CAPACITY_SPENT };
enum budget_capacity turn_budget_capacity(const struct session *s,
					  const struct spending reserved[SCOPE_MAX],
					  struct budget_stop *why);
/* Something bounds what is used now. */
bool turn_budget_is_limited(const struct session *s);
/* By the session, its running turn included. */
void turn_budget_used(const struct session *s, struct spending *ret);
/* When the running turn reaches a budget of seconds, monotonic; 0: there is none. */
uint64_t turn_budget_due(const struct session *s);
/* The running turn ends by this budget. */
void turn_budget_stop(struct session *s, const struct budget_stop *why);
/* Tool calls that the budgets leave to the running turn, or between turns; -1: any number. ret, if not NULL: the budget
 * that leaves the fewest. */
int64_t turn_budget_calls_left(const struct session *s, struct budget_stop *ret);
/* No more tool calls have begun than there may. */
bool turn_budget_keeps_calls(const struct session *s);
/* A tool call beyond the budget was not let run. The turn ends by it, from the loop, when those within it are over. */
void turn_budget_refused(struct session *s);
/* A tool call is over that passed the daemon. */
void turn_budget_call_ended(struct session *s);
void turn_budget_end(struct session *s, struct session_turn *t);
/* The next turn of the same prompt goes on with its budgets; turn_budget_end has been called for the one before. */
void turn_budget_pass(struct session_turn *from, struct session_turn *to);
/* Members stopDetail and unmeasured of the end of a turn: the budget that ended it; those that nothing measured. */
void turn_budget_put_end(const struct session_turn *t, struct jw *w);
void budget_stop_put(const struct budget_stop *t, struct jw *w);
/* raw: what budget_stop_put has written, as it stands in a record; else nothing is tripped. */
void budget_stop_load(struct slice raw, struct budget_stop *ret);

/* served_calls.c */
/* A call is new, by an update or a question: counted, unless it has passed the daemon already. */
void served_calls_announced(struct session *s, struct turn_tool_call *c, struct slice update,
			    enum call_source word);
/* Some that the running turn has counted have not ended. */
bool has_served_calls(const struct session *s);
/* The turn ends: nothing more will be announced of what has passed. */
void served_calls_leave_turn(struct session *s);
