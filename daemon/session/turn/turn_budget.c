/* turn_budget.c - budgets at work: what a turn has used is held against its limits and the session's, while it runs and
 * before each model call that passes the daemon. */
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

/* What the turn has used, or the session with it. t NULL: between turns. */
static void used_by(const struct session *s, const struct session_turn *t, enum budget_scope scope,
		    struct spending *ret)
{
	*ret = (struct spending){ 0 };
	if (t)
		turn_usage(t, ret);
	if (scope == SCOPE_SESSION)
		spending_add(ret, &s->turn.totals.spent);
}

static const struct budget *budget_of(const struct session *s, enum budget_scope scope)
{
	return scope == SCOPE_TURN ? &s->setup.budgets.turn : &s->setup.budgets.session;
}

static struct budget_stop stop_by(const struct budget *b, enum budget_scope scope, int kind,
				  const struct spending *used)
{
	return (struct budget_stop){ true, scope, (enum budget_kind)kind, b->limit[kind],
				     used->used[kind] };
}

/* t NULL: between turns, when only the session has budgets. */
static enum budget_scope first_scope(const struct session_turn *t)
{
	return t ? SCOPE_TURN : SCOPE_SESSION;
}

static bool find_reached(const struct session *s, const struct session_turn *t, unsigned kinds,
			 struct budget_stop *ret)
{
	struct spending used;

	for (enum budget_scope scope = first_scope(t); scope < SCOPE_MAX; scope++) {
		const struct budget *b = budget_of(s, scope);
		int kind;

		used_by(s, t, scope, &used);
		kind = budget_reached(b, kinds, &used);
		if (kind >= 0) {
			*ret = stop_by(b, scope, kind, &used);
			return true;
		}
	}
	return false;
}

static bool limited(const struct session *s)
{
	return s->setup.budgets.turn.has || s->setup.budgets.session.has;
}

/* --- warnings --------------------------------------------------------------------------------------------- */

static void put_stop(const struct budget_stop *t, struct jw *w)
{
	jw_str(w, "budget", budget_name(t->kind));
	jw_str(w, "scope", t->scope == SCOPE_SESSION ? "session" : "turn");
	budget_put_amount(w, "limit", t->kind, t->limit);
	budget_put_amount(w, "used", t->kind, t->used);
}

static void warn(struct session *s, const struct budget_stop *of)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	jw_str(&w, "kind", "lifecycle");
	jw_str(&w, "event", "budget_warning");
	put_stop(of, &w);
	event_note(s, EVENT_LIFECYCLE, buf_slice(&b));
}

static uint64_t *told_of(struct session *s, struct session_turn *t, enum budget_scope scope)
{
	return scope == SCOPE_TURN ? t->told : s->turn.totals.told;
}

void turn_budget_warn(struct session *s)
{
	struct session_turn *t = s->turn.current;
	struct spending used;

	if (!limited(s))
		return;
	for (enum budget_scope scope = first_scope(t); scope < SCOPE_MAX; scope++) {
		const struct budget *b = budget_of(s, scope);
		int kind;

		used_by(s, t, scope, &used);
		while ((kind = budget_warning(b, &used, told_of(s, t, scope))) >= 0) {
			struct budget_stop of = stop_by(b, scope, kind, &used);

			warn(s, &of);
		}
	}
}

/* --- stops ------------------------------------------------------------------------------------------------ */

void turn_budget_stop(struct session *s, const struct budget_stop *why)
{
	struct session_turn *t = s->turn.current;

	if (!t || t->state != TURN_RUNNING)
		return;
	t->trip = *why;
	turn_cancel_running(s);
}

static void check(struct session *s, unsigned which)
{
	struct session_turn *t = s->turn.current;
	struct budget_stop why;

	if (!limited(s))
		return;
	turn_budget_warn(s);
	if (t && find_reached(s, t, which, &why))
		turn_budget_stop(s, &why);
}

/* A model call's tokens are known when it is over: the next thing the harness does is what they no longer allow. A turn
 * that simply ends there has kept its budget. Where calls pass the daemon the next thing is a call: what the harness
 * still says and does after the last one is allowed. */
void turn_budget_check(struct session *s)
{
	check(s, session_metered(s) ? BUDGETS_ALL & ~BUDGETS_OF_CALLS : BUDGETS_ALL);
}

void turn_budget_check_calls(struct session *s)
{
	check(s, BUDGETS_OF_CALLS);
}

enum budget_room turn_budget_room(const struct session *s,
				  const struct spending reserved[SCOPE_MAX],
				  struct budget_stop *why)
{
	const struct session_turn *t = s->turn.current;
	struct spending used;

	if (t && t->trip.tripped) {
		*why = t->trip;
		return BUDGET_SPENT;
	}
	if (!limited(s))
		return BUDGET_ROOM;
	if (find_reached(s, t, BUDGETS_ALL, why))
		return BUDGET_SPENT;
	for (enum budget_scope scope = first_scope(t); scope < SCOPE_MAX; scope++) {
		used_by(s, t, scope, &used);
		if (budget_is_reserved(budget_of(s, scope), &used, &reserved[scope]))
			return BUDGET_RESERVED;
	}
	return BUDGET_ROOM;
}

void turn_budget_used(const struct session *s, struct spending *ret)
{
	used_by(s, s->turn.current, SCOPE_SESSION, ret);
}

/* --- the clock -------------------------------------------------------------------------------------------- */

/* Milliseconds until something is to be told or done; 0: never. */
static uint64_t time_left(struct session *s, struct session_turn *t)
{
	uint64_t left = 0;
	struct spending used;

	for (enum budget_scope scope = SCOPE_TURN; scope < SCOPE_MAX; scope++) {
		uint64_t until;

		used_by(s, t, scope, &used);
		until = budget_until(budget_of(s, scope), BUDGET_SECONDS, used.used[BUDGET_SECONDS],
				     told_of(s, t, scope));
		left = left && until ? MIN(left, until) : MAX(left, until);
	}
	return left;
}

static void on_time(void *ctx);

static void set_clock(struct session *s)
{
	uint64_t left = time_left(s, s->turn.current);

	if (left)
		loop_timer_set(s->store->loop, &s->turn.budget_timer,
			       MIN(left + 1, (uint64_t)BUDGET_BEAT_MS), on_time, s);
}

static void on_time(void *ctx)
{
	struct session *s = ctx;

	turn_budget_check(s);
	if (s->turn.current && s->turn.current->state == TURN_RUNNING)
		set_clock(s);
}

uint64_t turn_budget_due(const struct session *s)
{
	const struct session_turn *t = s->turn.current;
	uint64_t left, due = 0;

	if (!t || t->state != TURN_RUNNING)
		return 0;
	for (enum budget_scope scope = SCOPE_TURN; scope < SCOPE_MAX; scope++) {
		const struct budget *b = budget_of(s, scope);
		struct spending before;

		if (!(b->has & (1u << BUDGET_SECONDS)))
			continue;
		used_by(s, NULL, scope, &before);
		left = b->limit[BUDGET_SECONDS] -
		       MIN(b->limit[BUDGET_SECONDS], before.used[BUDGET_SECONDS]);
		due = due ? MIN(due, t->started_mono + left) : t->started_mono + left;
	}
	return due;
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
	if (find_reached(s, t, BUDGETS_ALL, &t->trip)) {
		turn_finish(s, &(struct harness_turn_end){ .stop_reason = "end_turn" });
		return false;
	}
	set_clock(s);
	return true;
}

void turn_budget_end(struct session *s, struct session_turn *t)
{
	struct spending used;

	loop_timer_cancel(&s->turn.budget_timer);
	if (!t->started_ms)
		return;
	if (t == s->turn.current)
		turn_budget_warn(s);
	turn_usage(t, &used);
	spending_add(&s->turn.totals.spent, &used);
}

void budget_stop_put(const struct budget_stop *t, struct jw *w)
{
	if (!t->tripped)
		return;
	jw_obj(w, "stopDetail");
	put_stop(t, w);
	jw_end_obj(w);
}
