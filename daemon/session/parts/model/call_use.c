/*
 * call_use.c - counts the usage of each attempt of a model call, and records it once in the ledger.
 *
 * The meter sees each chunk before the harness does. The harness can end its turn at the last
 * chunk, so the account must be complete by then. `counted` is the share of the turn's account that
 * this attempt has contributed: newer numbers replace it, and a call that outlives its turn removes
 * it. call_use_forget clears the meter, which makes call_use_end idempotent.
 */
#include "session/core/session_internal.h"

#include "base/clock.h"
#include "base/limits.h"
#include "harnesses/provider.h"
#include "json/jstr.h"
#include "session/parts/model/call_use.h"
#include "session/parts/model/session_model_internal.h"
#include "session/parts/budget/turn_budget.h"
#include "session/parts/usage/usage_record.h"

/* The turn that the call counts in; NULL: none. */
static struct session_turn *call_turn_of(const struct provider_call *c)
{
	struct session_turn *t = c->session->turn.current;

	return c->turn && t && t->no == c->turn ? t : NULL;
}

/* --- an attempt begins ------------------------------------------------------------------------------------------ */

/* Side calls, such as one for a title, have none. */
static bool has_tools(struct slice body)
{
	struct jval tools = jobj_get(body, "tools");
	struct jiter it;
	struct jval v;

	return jiter_init(&it, tools) && jiter_next(&it, NULL, &v);
}

/* A previous attempt that is still open has failed: it is recorded first. */
void call_use_begin(struct provider_call *c)
{
	const struct model_request *r = model_call_request(c->call);
	struct call_use *u = &c->use;

	call_use_end(c, CALL_FAILED);
	if (!model_path_generates(r->api, r->method, r->path))
		return;
	u->meter = call_meter_new(r->api);
	u->model = xstrdup(r->model);
	u->sent = r->body.n;
	u->auxiliary = r->body.n <= MODEL_SIDE_BODY_MAX && !has_tools(r->body);
	u->asked_mono = clock_mono_ms();
}

/* --- what it tells ---------------------------------------------------------------------------------------------- */

/* The cost that the provider told, or that its prices give. */
static void put_price(const struct provider_call *c, struct metered *m)
{
	struct slice prices = c->session->setup.gateway.prices;
	struct harness_usage *u = &m->usage;

	u->source = "provider";
	u->cost_source = "provider";
	if (u->has_cost)
		return;
	u->has_cost = prices_cost(prices, u->model, u, &u->cost) ||
		      prices_cost(prices, c->use.model, u, &u->cost);
	u->cost_source = "prices";
}

static void read_use(const struct provider_call *c, struct metered *ret)
{
	call_meter_read(c->use.meter, ret);
	put_price(c, ret);
	ret->usage.model = ret->usage.model ? ret->usage.model : c->use.model;
	ret->error.provider = session_provider_name(c->session, NULL);
}

static void call_count_usage(struct provider_call *c, struct session_turn *t,
			     const struct metered *m)
{
	struct call_use *u = &c->use;

	account_call(&t->account, &u->counted, &m->usage);
	u->counted = m->usage;
	u->counted.model = u->counted.response_id = u->counted.finish_reason = NULL;
}

static void call_succeed(struct provider_call *c, struct session_turn *t)
{
	if (!c->use.succeeded && t)
		t->account.calls++;
	c->use.succeeded = true;
}

static void call_take_news(struct provider_call *c, struct session_turn *t, struct metered *m)
{
	read_use(c, m);
	if (t)
		call_count_usage(c, t, m);
	c->use.settled |= m->settled;
	if (c->use.settled && !m->failed)
		call_succeed(c, t);
}

/* A model that wants to go on after a tool call would go beyond; one that does not may have kept the budget. */
static void call_check_budgets(struct provider_call *c, const struct metered *m)
{
	if (call_turn_of(c) && c->use.succeeded && m->calls_tools)
		turn_budget_check_calls(c->session);
}

void call_use_head(struct provider_call *c, int status, struct slice headers)
{
	if (!c->use.meter)
		return;
	c->use.first_mono = clock_mono_ms();
	call_meter_head(c->use.meter, status, headers);
}

void call_use_data(struct provider_call *c, struct slice bytes)
{
	struct metered m;

	if (!c->use.meter)
		return;
	c->use.received += bytes.n;
	if (!call_meter_feed(c->use.meter, bytes))
		return;
	call_take_news(c, call_turn_of(c), &m);
	call_check_budgets(c, &m);
}

int call_use_error_status(const struct provider_call *c)
{
	struct metered m;

	if (!c->use.meter)
		return 0;
	call_meter_read(c->use.meter, &m);
	if (!m.failed)
		return 0;
	return m.error.http_status ? m.error.http_status : 502;
}

void call_use_request_id(struct provider_call *c, struct jval id)
{
	if (c->use.meter && !c->use.request_id)
		jstr_decode(id, MODEL_NAME_LEN, &c->use.request_id);
}

/* --- its record ------------------------------------------------------------------------------------------------- */

static void call_use_forget(struct call_use *u)
{
	u->meter = call_meter_free(u->meter);
	free_each(u->model, u->request_id);
	memset(u, 0, sizeof(*u));
}

/* Not what the answer told, but that there was none, or not all. */
static void set_failed(struct metered *m)
{
	m->failed = true;
	m->error.cls = "provider";
	m->error.retryable = true;
	snprintf(m->error.message, sizeof(m->error.message), "%s",
		 m->status ? "the provider's answer was cut" : "the call to the provider failed");
}

/* What the turn will have failed of, if its harness reports no success of a model after it. Side calls say nothing of
 * that, unless there are no others. */
static void note_outcome(struct provider_call *c, struct session_turn *t, const struct metered *m)
{
	if (c->use.auxiliary && t->main_calls)
		return;
	t->main_calls |= !c->use.auxiliary;
	t->call_failed = m->failed;
	if (!m->failed)
		return;
	t->call_error = m->error;
	t->failed_outputs = t->outputs;
}

static void call_use_record(struct provider_call *c, struct session_turn *t,
			    const struct metered *m, bool cancelled)
{
	const struct call_use *u = &c->use;
	struct call_report r = { .use = m,
				 .model_asked = u->model,
				 .call_id = c->id,
				 .attempt = c->attempt,
				 .request_id = m->request_id ? m->request_id : u->request_id,
				 .sent = u->sent,
				 .received = u->received,
				 .auxiliary = u->auxiliary,
				 .cancelled = cancelled,
				 .succeeded = u->succeeded };
	uint64_t now = clock_mono_ms();

	r.duration_ms = now - u->asked_mono;
	r.answered = u->first_mono;
	r.ttfb_ms = u->first_mono ? u->first_mono - u->asked_mono : 0;
	usage_record_metered(c->session, t, &r);
}

void call_use_end(struct provider_call *c, enum call_end how)
{
	struct session_turn *t = call_turn_of(c);
	struct call_use *u = &c->use;
	struct metered m;

	if (!u->meter)
		return;
	if (how == CALL_ENDED)
		call_meter_end(u->meter);
	call_take_news(c, t, &m);
	m.complete |= u->settled;
	if (how == CALL_FAILED && !m.failed && !u->settled)
		set_failed(&m);
	if (how == CALL_ENDED && !m.failed)
		call_succeed(c, t);
	/* Before the message reaches the turn or the ledger: it is the provider's text. */
	session_mask_line(c->session, m.error.message, sizeof(m.error.message));
	if (t && (m.failed || u->succeeded))
		note_outcome(c, t, &m);
	call_use_record(c, t, &m, !m.failed && !u->succeeded);
	if (how == CALL_ENDED)
		call_check_budgets(c, &m);
	call_use_forget(u);
}

/* The turn's account lets go of it. */
static void call_leave_turn(struct provider_call *c, struct session_turn *t)
{
	account_call(&t->account, &c->use.counted, &(struct harness_usage){ 0 });
	c->use.counted = (struct harness_usage){ 0 };
	c->turn = 0;
}

void calls_leave_turn(struct session *s, struct session_turn *t, bool stopped)
{
	list_each(c, &model_of(s)->calls, struct provider_call, link) {
		if (c->turn != t->no || !c->use.meter)
			continue;
		if (c->use.settled || stopped)
			call_use_end(c, CALL_CANCELLED);
		else
			call_leave_turn(c, t);
	}
}
