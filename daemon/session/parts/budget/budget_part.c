/*
 * budget_part.c - the part budget in the life of a session: which budgets it can have, and at which points of a turn they
 * are looked at. turn_budget.c counts; served_calls.c holds tool calls back.
 *
 * A budget that nothing can measure is refused (BUDGET_UNMEASURABLE) where that is known in advance: steps, of a harness
 * that does not report each model call and whose calls do not pass the daemon. Of tokens and cost it is known when the turn
 * has ended (turn_budget.c).
 */
#include "session/parts/budget/turn_budget.h"

#include "session/core/activity.h"

/* --- the parameter ----------------------------------------------------------------------------------------- */

static int parse_budgets(struct jval v, const char *field, void *ret, struct err *e)
{
	return budgets_parse(v.raw, field, ret, e);
}

static void put_budgets(const void *value, struct jw *w, const char *key)
{
	budgets_put(value, w, key);
}

const struct session_parameter budgets_parameter = {
	PARAMETER("budgets", OBJ, "limits for a turn and for the session"),
	.order = { .checked = 150, .stored = 250 },
	.size = sizeof(struct budgets),
	.parse = parse_budgets,
	.put = put_budgets,
};

const struct budgets *budgets_of(const struct setup *s)
{
	return setup_value(s, &budgets_parameter);
}

/* --- what can be measured ---------------------------------------------------------------------------------- */

bool setup_counts_calls(const struct harness_def *def, const struct setup *s)
{
	return def->ops->reports_calls || (s->provider && s->gateway.via != PROVIDER_ENVIRONMENT);
}

/* With the provider that p gives. */
static bool will_count_calls(const struct harness_def *def, const struct setup *have,
			     const struct setup_params *p)
{
	struct harness_provider provider = { 0 };
	bool passes;

	if (!setup_given(p, &provider_parameter))
		return setup_counts_calls(def, have);
	passes = harness_provider_parse(setup_given_text(p, &provider_parameter), &provider,
					NULL) == 0 &&
		 provider.via != PROVIDER_ENVIRONMENT;
	harness_provider_done(&provider);
	return passes || def->ops->reports_calls;
}

static int setup_refuse_steps(const struct harness_def *def, const char *prefix, struct err *e)
{
	const char *field = SHORT_TEXT(64, "%s.steps", prefix);

	return err_field(e, field, "BUDGET_UNMEASURABLE",
			 "%s: cannot count the model calls of %s: give a provider with via direct "
			 "or tunnel, or a budget of toolCalls or seconds",
			 field, def->id);
}

/* Only if budgets or provider change: what was accepted once is not refused when something else is changed. */
static int check_setup_budgets(const struct setup_request *r, struct err *e)
{
	static const struct setup none;
	const struct harness_def *def = r->harness;
	const struct setup *have = r->have ? r->have : &none;
	const struct setup_params *p = r->params;
	const unsigned steps = 1u << BUDGET_STEPS;
	struct budgets b = *budgets_of(have);
	bool given = setup_given_value(p, &budgets_parameter, &b);

	if ((!given && !setup_given(p, &provider_parameter)) ||
	    !((b.turn.has | b.session.has) & steps) || will_count_calls(def, have, p))
		return 0;
	return setup_refuse_steps(
		def, b.turn.has & steps ? "_meta.acpd.budgets.turn" : "_meta.acpd.budgets.session",
		e);
}

static int check_prompt_budget(const struct session *s, const struct prompt_params *p,
			       struct err *e)
{
	if (p->budget && p->budget->has & 1u << BUDGET_STEPS &&
	    !setup_counts_calls(s->def, &s->setup))
		return setup_refuse_steps(s->def, "_meta.acpd.budgets", e);
	return 0;
}

static void create_budget(struct session *s)
{
	list_init(&budget_of(s)->served);
}

static void drop_budget(struct session *s)
{
	loop_timer_cancel(&budget_of(s)->timer);
	loop_task_cancel(&budget_of(s)->review);
}

static void queue_budget(struct session_turn *t, const struct prompt_params *p)
{
	if (!p->budget || !p->budget->has)
		return;
	turn_budget_of(t)->of_prompt = new0(struct prompt_budget);
	turn_budget_of(t)->of_prompt->limits = *p->budget;
}

/* Some harnesses keep the limit of tool calls themselves. */
static int start_budget(struct session *s, struct session_turn *t _unused_)
{
	if (!turn_budget_begin(s))
		return 1;
	if (s->def->ops->limit)
		s->def->ops->limit(s->harness.adapter, turn_budget_calls_left(s, NULL));
	return 0;
}

static void put_budget_end(const struct session_turn *t, struct jw *w, enum turn_end_place at)
{
	if (at == END_ANSWER || at == END_KEPT || at == END_EVENT)
		turn_budget_put_end(t, w);
	else if ((at == END_WEBHOOK || at == END_RECORD) && !t->end.failed)
		budget_stop_put(&turn_budget_of(t)->trip, w);
}

/* The two reasons that ACP has for a limit; stopDetail names the budget. */
static const char *budget_stop_reason(const struct session_turn *t)
{
	const struct budget_stop *trip = &turn_budget_of(t)->trip;

	if (!trip->tripped)
		return NULL;
	return trip->kind == BUDGET_TOKENS ? "max_tokens" : "max_turn_requests";
}

/* The copy tells of the end alone; the budget of the prompt stays with the turn that counts. */
static void copy_budget(struct session_turn *to, const struct session_turn *from)
{
	turn_budget_of(to)->trip = turn_budget_of(from)->trip;
}

static void load_budget(struct session_turn *t, struct slice record, bool ended)
{
	if (ended)
		budget_stop_load(jobj_get(record, "stopDetail").raw, &turn_budget_of(t)->trip);
}

static void free_turn_budget(struct session_turn *t)
{
	free(turn_budget_of(t)->of_prompt);
}

static void put_budget_work(const struct session *s, struct store_work *ret)
{
	deadline_note(&ret->next, "turnSeconds", turn_budget_due(s), s->id);
}

const struct session_part budget_part = {
	.name = "budget",
	.size = sizeof(struct session_budget),
	.parameters = PARAMETERS(&budgets_parameter),
	.create = create_budget,
	.check_setup = check_setup_budgets,
	.put_work = put_budget_work,
	.put_use = turn_budget_put,
	.drop = drop_budget,
	.turn_size = sizeof(struct turn_budget),
	.check_prompt = check_prompt_budget,
	.turn_queued = queue_budget,
	.turn_start = start_budget,
	.put_end = put_budget_end,
	.output_told = turn_budget_check,
	.tool_call_announced = served_calls_announced,
	.tool_calls_left = served_calls_leave_turn,
	.stop_reason = budget_stop_reason,
	.turn_closing = turn_budget_end,
	.turn_copy = copy_budget,
	.turn_load = load_budget,
	.turn_free = free_turn_budget,
};
