/*
 * turn_budget.c - compares what is used with the budgets of the prompt, the turn and the session, while a turn runs and
 * before each model call that passes the daemon.
 *
 * No counter is kept for a budget. What a scope has used is computed from the account of the running turn and the sums of
 * the turns before it, so a limit that changes during a turn is valid at the next check. The first budget that is reached is the
 * turn's `trip`, and stays it: it is reported as the reason, also if others are reached while the turn ends.
 *
 * A warning is given once for each limit: `told` has the limit that was warned of, so another limit warns again.
 */

#include "base/clock.h"
#include "json/jstr.h"
#include "session/parts/budget/turn_budget.h"

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

/* With what the turns before it have used of the same prompt; the time is all that has passed since the first began. */
static void prompt_usage(const struct session_turn *t, struct spending *ret)
{
	const struct prompt_budget *p = turn_budget_of(t)->of_prompt;

	turn_usage(t, ret);
	spending_add(ret, &p->before);
	if (p->since_mono)
		ret->used[BUDGET_SECONDS] += t->started_mono - p->since_mono;
}

/* What the turn has used, or its prompt or the session with it. t NULL: between turns. */
static void used_by(const struct session *s, const struct session_turn *t, enum budget_scope scope,
		    struct spending *ret)
{
	*ret = (struct spending){ 0 };
	if (scope == SCOPE_PROMPT && t && turn_budget_of(t)->of_prompt)
		prompt_usage(t, ret);
	else if (t)
		turn_usage(t, ret);
	if (scope == SCOPE_SESSION)
		spending_add(ret, &s->turn.totals.spent);
}

/* t NULL: between turns. */
static const struct budget *scope_limits(const struct session *s, const struct session_turn *t,
					 enum budget_scope scope)
{
	static const struct budget none;

	if (scope == SCOPE_PROMPT)
		return t && turn_budget_of(t)->of_prompt ? &turn_budget_of(t)->of_prompt->limits :
							   &none;
	return scope == SCOPE_TURN ? &budgets_of(&s->setup)->turn : &budgets_of(&s->setup)->session;
}

/* A scope that has budgets now, and what has been used in it. */
struct scope_use {
	enum budget_scope scope, next;
	const struct budget *b;
	struct spending used;
};

/* Before the first: the narrowest. t NULL: between turns, when only the session has budgets. */
static struct scope_use scope_uses(const struct session_turn *t)
{
	return (struct scope_use){ .next = t ? SCOPE_PROMPT : SCOPE_SESSION };
}

/* Goes to the next scope that has a budget. False: there is none. */
static bool scope_use_next(const struct session *s, const struct session_turn *t,
			   struct scope_use *u)
{
	while (u->next < SCOPE_MAX) {
		u->scope = u->next++;
		u->b = scope_limits(s, t, u->scope);
		if (!u->b->has)
			continue;
		used_by(s, t, u->scope, &u->used);
		return true;
	}
	return false;
}

static struct budget_stop stop_by(const struct scope_use *u, int kind)
{
	return (struct budget_stop){ true, u->scope, (enum budget_kind)kind, u->b->limit[kind],
				     u->used.used[kind] };
}

static bool find_reached(const struct session *s, const struct session_turn *t, unsigned kinds,
			 struct budget_stop *ret)
{
	for (struct scope_use u = scope_uses(t); scope_use_next(s, t, &u);) {
		int kind = budget_reached(u.b, kinds, &u.used);

		if (kind < 0)
			continue;
		*ret = stop_by(&u, kind);
		return true;
	}
	return false;
}

bool turn_budget_is_limited(const struct session *s)
{
	const struct session_turn *t = s->turn.current;

	const struct budgets *b = budgets_of(&s->setup);

	return (t && turn_budget_of(t)->of_prompt) || b->turn.has || b->session.has;
}

/* --- warnings --------------------------------------------------------------------------------------------- */

static const char *const scopes[SCOPE_MAX] = { "prompt", "turn", "session" };

static void put_stop(const struct budget_stop *t, struct jw *w)
{
	jw_str(w, "budget", budget_name(t->kind));
	jw_str(w, "scope", scopes[t->scope]);
	budget_put_amount(w, "limit", t->kind, t->limit);
	budget_put_amount(w, "used", t->kind, t->used);
}

static void warn_of_budget(struct session *s, const struct budget_stop *of)
{
	JW_BUF(w, b);

	jw_str(&w, "kind", "lifecycle");
	jw_str(&w, "event", "budget_warning");
	put_stop(of, &w);
	event_note(s, EVENT_LIFECYCLE, buf_slice(&b));
	buf_reset(&b);
	w = JW(&b);
	jw_uint(&w, "turn", session_running(s));
	put_stop(of, &w);
	event_webhook(s, WEBHOOK_BUDGET_WARNING, NULL, buf_slice(&b));
}

static uint64_t *told_of(struct session *s, struct session_turn *t, enum budget_scope scope)
{
	if (scope == SCOPE_SESSION)
		return s->turn.totals.told;
	return scope == SCOPE_TURN ? turn_budget_of(t)->told : turn_budget_of(t)->of_prompt->told;
}

void turn_budget_warn(struct session *s)
{
	struct session_turn *t = s->turn.current;

	for (struct scope_use u = scope_uses(t); scope_use_next(s, t, &u);) {
		int kind;

		while ((kind = budget_warning(u.b, &u.used, told_of(s, t, u.scope))) >= 0) {
			struct budget_stop of = stop_by(&u, kind);

			warn_of_budget(s, &of);
		}
	}
}

void turn_budget_put(struct jw *w, const struct session *s)
{
	const struct session_turn *t = s->turn.current;

	if (!turn_budget_is_limited(s))
		return;
	jw_arr(w, "budgets");
	for (struct scope_use u = scope_uses(t); scope_use_next(s, t, &u);)
		for (int kind = 0; kind < BUDGET_MAX; kind++) {
			struct budget_stop of = stop_by(&u, kind);

			if (!(u.b->has & 1u << kind))
				continue;
			jw_obj(w, NULL);
			put_stop(&of, w);
			jw_end_obj(w);
		}
	jw_end_arr(w);
}

/* --- stops ------------------------------------------------------------------------------------------------ */

#define OF_TOOL_CALLS (1u << BUDGET_TOOL_CALLS)

/* The budgets that may stop it now. While it is checked its harness does nothing: only time goes on. */
static unsigned stopping_kinds(const struct session_turn *t)
{
	if (t && t->state == TURN_RUNNING)
		return BUDGETS_ALL;
	return t && t->state == TURN_CHECKING ? 1u << BUDGET_SECONDS : 0;
}

void turn_budget_stop(struct session *s, const struct budget_stop *why)
{
	struct session_turn *t = s->turn.current;

	if (!(stopping_kinds(t) & 1u << why->kind))
		return;
	if (!turn_budget_of(t)->trip.tripped)
		turn_budget_of(t)->trip = *why;
	turn_cancel_running(s);
}

/* What is beyond the budget was held back, so what is within it may end. */
static void stop_by_tool_call(struct session *s, const struct budget_stop *why)
{
	struct session_turn *t = s->turn.current;

	if (!turn_budget_of(t)->trip.tripped)
		turn_budget_of(t)->trip = *why;
	if (turn_budget_of(t)->unheld || !has_served_calls(s))
		turn_budget_stop(s, why);
}

static void check_stops(struct session *s, unsigned which)
{
	struct session_turn *t = s->turn.current;
	struct budget_stop why;

	if (!turn_budget_is_limited(s))
		return;
	turn_budget_warn(s);
	which &= stopping_kinds(t);
	if (which && find_reached(s, t, which & ~OF_TOOL_CALLS, &why))
		turn_budget_stop(s, &why);
	else if (which && find_reached(s, t, which & OF_TOOL_CALLS, &why))
		stop_by_tool_call(s, &why);
}

/* A model call's tokens are known when it is over: the next thing the harness does is what they no longer allow. A turn
 * that simply ends there has kept its budget. Where calls pass the daemon the next thing is a call: what the harness
 * still says and does after the last one is allowed. */
void turn_budget_check(struct session *s)
{
	if (turn_budget_is_limited(s)) /* asked with every update */
		check_stops(s, PARTS_FIRST(meters_calls, s) ? BUDGETS_ALL & ~BUDGETS_OF_CALLS :
							      BUDGETS_ALL);
}

void turn_budget_check_calls(struct session *s)
{
	check_stops(s, BUDGETS_OF_CALLS);
}

enum budget_capacity turn_budget_capacity(const struct session *s,
					  const struct spending reserved[SCOPE_MAX],
					  struct budget_stop *why)
{
	const struct session_turn *t = s->turn.current;

	if (t && turn_budget_of(t)->trip.tripped) {
		*why = turn_budget_of(t)->trip;
		return CAPACITY_SPENT;
	}
	if (!turn_budget_is_limited(s))
		return CAPACITY_LEFT;
	if (find_reached(s, t, BUDGETS_ALL, why))
		return CAPACITY_SPENT;
	for (struct scope_use u = scope_uses(t); scope_use_next(s, t, &u);)
		if (budget_is_reserved(u.b, &u.used, &reserved[u.scope]))
			return CAPACITY_RESERVED;
	return CAPACITY_LEFT;
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

	for (struct scope_use u = scope_uses(t); scope_use_next(s, t, &u);) {
		uint64_t until = budget_until(u.b, BUDGET_SECONDS, u.used.used[BUDGET_SECONDS],
					      told_of(s, t, u.scope));

		left = left && until ? MIN(left, until) : MAX(left, until);
	}
	return left;
}

static void on_budget_time(void *ctx);

static void set_clock(struct session *s)
{
	uint64_t left = time_left(s, s->turn.current);

	/* At least once a second, whatever is left: the daemon must notice time in which it did not run. */
	if (left)
		loop_timer_set(s->store->loop, &budget_of(s)->timer,
			       MIN(left + 1, (uint64_t)BUDGET_BEAT_MS), on_budget_time, s);
}

static void on_budget_time(void *ctx)
{
	struct session *s = ctx;

	turn_budget_check(s);
	if (stopping_kinds(s->turn.current))
		set_clock(s);
}

uint64_t turn_budget_due(const struct session *s)
{
	const struct session_turn *t = s->turn.current;
	uint64_t due = 0, at;

	if (!stopping_kinds(t))
		return 0;
	for (struct scope_use u = scope_uses(t); scope_use_next(s, t, &u);) {
		if (!(u.b->has & (1u << BUDGET_SECONDS)))
			continue;
		at = clock_mono_ms() + u.b->limit[BUDGET_SECONDS];
		at -= MIN(u.b->limit[BUDGET_SECONDS], u.used.used[BUDGET_SECONDS]);
		due = due ? MIN(due, at) : at;
	}
	return due;
}

/* Runs deferred: it may cancel the turn, on which the caller of turn_budget_call_ended still works. */
static void on_call_ended(void *ctx)
{
	turn_budget_check(ctx);
}

void turn_budget_call_ended(struct session *s)
{
	if (s->turn.current && turn_budget_of(s->turn.current)->trip.tripped)
		loop_defer(s->store->loop, &budget_of(s)->review, on_call_ended, s);
}

void turn_budget_refused(struct session *s)
{
	struct session_turn *t = s->turn.current;
	struct budget_stop why;

	if (t && t->state == TURN_RUNNING && !turn_budget_of(t)->trip.tripped &&
	    find_reached(s, t, OF_TOOL_CALLS, &why))
		turn_budget_of(t)->trip = why;
	turn_budget_call_ended(s);
}

bool turn_budget_keeps_calls(const struct session *s)
{
	struct budget_stop why;

	return !find_reached(s, s->turn.current, OF_TOOL_CALLS, &why);
}

int64_t turn_budget_calls_left(const struct session *s, struct budget_stop *ret)
{
	const struct session_turn *t = s->turn.current;
	uint64_t left = UINT64_MAX;

	for (struct scope_use u = scope_uses(t); scope_use_next(s, t, &u);) {
		uint64_t limit = u.b->limit[BUDGET_TOOL_CALLS];

		if (!(u.b->has & (1u << BUDGET_TOOL_CALLS)))
			continue;
		limit -= MIN(u.used.used[BUDGET_TOOL_CALLS], limit);
		if (limit >= left)
			continue;
		left = limit;
		if (ret)
			*ret = stop_by(&u, BUDGET_TOOL_CALLS);
	}
	return left == UINT64_MAX ? -1 : (int64_t)left;
}

bool turn_budget_begin(struct session *s)
{
	struct session_turn *t = s->turn.current;

	if (!turn_budget_is_limited(s))
		return true;
	/* Only the first turn of a prompt: later ones take the budget over, with the time that has passed. */
	if (turn_budget_of(t)->of_prompt && !turn_budget_of(t)->of_prompt->since_mono)
		turn_budget_of(t)->of_prompt->since_mono = t->started_mono;
	if (find_reached(s, t, BUDGETS_ALL, &turn_budget_of(t)->trip)) {
		turn_finish(s, &(struct harness_turn_end){ .stop_reason = "end_turn" });
		return false;
	}
	set_clock(s);
	return true;
}

void turn_budget_end(struct session *s, struct session_turn *t)
{
	struct spending used;

	loop_timer_cancel(&budget_of(s)->timer);
	if (!t->started_ms)
		return;
	if (t == s->turn.current)
		turn_budget_warn(s);
	turn_usage(t, &used);
	spending_add(&s->turn.totals.spent, &used);
	/* The time of a prompt counts from the start of its first turn (prompt_usage), not as a sum of turns. */
	used.used[BUDGET_SECONDS] = 0;
	if (turn_budget_of(t)->of_prompt)
		spending_add(&turn_budget_of(t)->of_prompt->before, &used);
}

void turn_budget_pass(struct session_turn *from, struct session_turn *to)
{
	/* Moved, not shared: the budget is owned by the turn that counts. */
	free(turn_budget_of(to)->of_prompt);
	turn_budget_of(to)->of_prompt = TAKE_PTR(turn_budget_of(from)->of_prompt);
}

void budget_stop_put(const struct budget_stop *t, struct jw *w)
{
	if (!t->tripped)
		return;
	jw_obj(w, "stopDetail");
	put_stop(t, w);
	jw_end_obj(w);
}

/* --- what nothing measured ---------------------------------------------------------------------------------- */

/* What a call used is known if anything told of it; of none there is nothing to tell. */
static bool is_measured(const struct session_turn *t, int kind)
{
	bool counted = setup_counts_calls(t->session->def, &t->session->setup),
	     idle = counted && !t->account.calls;
	uint64_t tokens;
	int64_t cost;

	if (kind == BUDGET_STEPS)
		return counted;
	if (kind == BUDGET_TOKENS)
		return idle || account_count(&t->account, COUNT_INPUT, &tokens) ||
		       account_count(&t->account, COUNT_OUTPUT, &tokens);
	return kind != BUDGET_COST || idle || account_cost(&t->account, &cost);
}

static void put_unmeasured(const struct session_turn *t, struct jw *w)
{
	unsigned has = 0;

	for (struct scope_use u = scope_uses(t); scope_use_next(t->session, t, &u);)
		has |= u.b->has;
	for (int kind = 0; kind < BUDGET_MAX; kind++)
		if (has & 1u << kind && !is_measured(t, kind))
			jw_str(w, NULL, budget_name((enum budget_kind)kind));
}

void turn_budget_put_end(const struct session_turn *t, struct jw *w)
{
	JW_BUF(names, list);

	budget_stop_put(&turn_budget_of(t)->trip, w);
	if (!t->started_ms || (turn_budget_of(t)->trip.tripped && !t->outputs))
		return;
	put_unmeasured(t, &names);
	if (!list.len)
		return;
	jw_arr(w, "unmeasured");
	jw_raw(w, NULL, buf_slice(&list));
	jw_end_arr(w);
}

/* A record of another daemon may name what this one does not have: then no budget is said to have ended the turn. */
void budget_stop_load(struct slice raw, struct budget_stop *ret)
{
	struct jval name = jobj_get(raw, "budget"), scope = jobj_get(raw, "scope");
	int kind = -1;

	*ret = (struct budget_stop){ 0 };
	if (name.type == J_STRING)
		kind = budget_kind_find((struct slice){ name.raw.p + 1, name.raw.n - 2 });
	if (kind < 0)
		return;
	ret->kind = (enum budget_kind)kind;
	while (ret->scope < SCOPE_MAX && !jstr_is(scope, scopes[ret->scope]))
		ret->scope++;
	ret->tripped = ret->scope < SCOPE_MAX &&
		       budget_load_amount(ret->kind, jobj_get(raw, "limit"), &ret->limit) &&
		       budget_load_amount(ret->kind, jobj_get(raw, "used"), &ret->used);
}
