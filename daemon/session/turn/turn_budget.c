/* turn_budget.c - budgets at work: what a turn has used is held against its limits and the session's. */
#include "session/session_internal.h"

#include "base/clock.h"

static void turn_usage(const struct session_turn *t, struct spending *ret)
{
	uint64_t in, out, now = t->ended_mono ? t->ended_mono : clock_mono_ms();
	int64_t cost;

	account_count(&t->account, COUNT_INPUT, &in);
	account_count(&t->account, COUNT_OUTPUT, &out);
	account_cost(&t->account, &cost);
	*ret = (struct spending){ .used = { [BUDGET_STEPS] = t->account.calls,
					    [BUDGET_TOOL_CALLS] = t->account.tool_calls,
					    [BUDGET_SECONDS] = now - t->started_mono,
					    [BUDGET_TOKENS] = in + out,
					    [BUDGET_COST] = (uint64_t)cost } };
}

/* What model calls use. */
#define CALL_KINDS (1u << BUDGET_STEPS | 1u << BUDGET_TOKENS | 1u << BUDGET_COST)
#define ALL_KINDS ((1u << BUDGET_MAX) - 1)

/* kinds: those that are looked at. */
static bool find_reached(const struct session *s, const struct session_turn *t, unsigned kinds,
			 struct budget_stop *ret)
{
	struct budgets own = s->setup.budgets;
	const struct budgets *b = &own;
	struct spending used;
	int kind;

	own.turn.has &= kinds;
	own.session.has &= kinds;
	turn_usage(t, &used);
	kind = budget_reached(&b->turn, &used);
	if (kind >= 0) {
		*ret = (struct budget_stop){ true, false, (enum budget_kind)kind,
					     b->turn.limit[kind], used.used[kind] };
		return true;
	}
	for (int i = 0; i < BUDGET_MAX; i++)
		used.used[i] += s->turn.totals.spent.used[i];
	kind = budget_reached(&b->session, &used);
	if (kind >= 0)
		*ret = (struct budget_stop){ true, true, (enum budget_kind)kind,
					     b->session.limit[kind], used.used[kind] };
	return kind >= 0;
}

static bool limited(const struct session *s)
{
	return s->setup.budgets.turn.has || s->setup.budgets.session.has;
}

static void check(struct session *s, unsigned kinds)
{
	struct session_turn *t = s->turn.current;

	if (limited(s) && t && t->state == TURN_RUNNING && find_reached(s, t, kinds, &t->trip))
		turn_cancel_running(s);
}

/* A model call's tokens are known when it is over: the next thing the harness does is what they no longer allow. A turn
 * that simply ends there has kept its budget. Where calls pass the daemon the next thing is a call: what the harness
 * still says of the last one is allowed. */
void turn_budget_check(struct session *s)
{
	check(s, session_metered(s) ? ALL_KINDS & ~CALL_KINDS : ALL_KINDS);
}

bool turn_budget_calls(struct session *s)
{
	check(s, CALL_KINDS);
	return !s->turn.current || !s->turn.current->trip.tripped;
}

static void on_time_up(void *ctx)
{
	turn_budget_check(ctx);
}

/* Milliseconds of wall clock that are left; 0: no limit. */
static uint64_t time_left(const struct session *s)
{
	const struct budgets *b = &s->setup.budgets;
	uint64_t left = 0, spent = s->turn.totals.spent.used[BUDGET_SECONDS];

	if (b->turn.has & (1u << BUDGET_SECONDS))
		left = b->turn.limit[BUDGET_SECONDS];
	if (b->session.has & (1u << BUDGET_SECONDS)) {
		uint64_t rest = b->session.limit[BUDGET_SECONDS] - spent;

		left = left ? MIN(left, rest) : rest;
	}
	return left;
}

int64_t turn_budget_calls_left(const struct session *s)
{
	const struct budgets *b = &s->setup.budgets;
	uint64_t spent = s->turn.totals.spent.used[BUDGET_TOOL_CALLS], left = UINT64_MAX, limit;

	if (b->turn.has & (1u << BUDGET_TOOL_CALLS))
		left = b->turn.limit[BUDGET_TOOL_CALLS];
	if (b->session.has & (1u << BUDGET_TOOL_CALLS)) {
		limit = b->session.limit[BUDGET_TOOL_CALLS];
		left = MIN(left, limit - MIN(spent, limit));
	}
	return left == UINT64_MAX ? -1 : (int64_t)left;
}

bool turn_budget_begin(struct session *s)
{
	struct session_turn *t = s->turn.current;

	if (!limited(s))
		return true;
	if (find_reached(s, t, ALL_KINDS, &t->trip)) {
		turn_finish(s, &(struct harness_turn_end){ .stop_reason = "end_turn" });
		return false;
	}
	if (time_left(s))
		loop_timer_set(s->store->loop, &s->turn.budget_timer, time_left(s) + 1, on_time_up,
			       s);
	return true;
}

void turn_budget_end(struct session *s, struct session_turn *t)
{
	struct spending used;

	loop_timer_cancel(&s->turn.budget_timer);
	if (!t->started_ms)
		return;
	turn_usage(t, &used);
	for (int i = 0; i < BUDGET_MAX; i++)
		s->turn.totals.spent.used[i] += used.used[i];
}

void budget_stop_put(const struct budget_stop *t, struct jw *w)
{
	if (!t->tripped)
		return;
	jw_obj(w, "stopDetail");
	jw_str(w, "budget", budget_name(t->kind));
	jw_str(w, "scope", t->of_session ? "session" : "turn");
	budget_put_amount(w, "limit", t->kind, t->limit);
	budget_put_amount(w, "used", t->kind, t->used);
	jw_end_obj(w);
}
