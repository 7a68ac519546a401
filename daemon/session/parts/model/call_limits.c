/*
 * call_limits.c - admits, delays or refuses a model call before it is sent.
 *
 * The checks run in this order: allowed model, budgets, calls per minute. The last one counts the
 * call, so only a call that passes the others reaches it. A call that fits only after running ones
 * release their reservation waits in model_of(s)->calls. call_limits_ended reviews waiting calls in a
 * deferred task, oldest first, and each review runs all checks again.
 */
#include "session/core/session_internal.h"

#include "base/clock.h"
#include "base/limits.h"
#include "harnesses/provider.h"
#include "json/jstr.h"
#include "session/parts/model/session_model_internal.h"
#include "session/parts/budget/turn_budget.h"
#include "usage/budget.h"

struct model_terms call_limits_terms(void *ctx)
{
	const struct session *s = ctx;

	return (struct model_terms){ .calls_max = (unsigned)s->setup.gateway.limits.concurrency,
				     .quota = s->def->stop == HARNESS_STOP_QUOTA };
}

void call_limits_refused(void *ctx, enum model_refusal why)
{
	struct session *s = ctx;

	if (call_rate_take(&model_of(s)->logged, MODEL_REFUSALS_LOGGED, clock_mono_ms()) == 0)
		session_log(s, "model call refused", "code", model_refusal_word(why), NULL);
}

/* --- models ----------------------------------------------------------------------------------------------------- */

/* The names that its provider has, as they were given: each is a member of one name. */
static const char *const model_members[] = { "model", "smallModel" };

static bool names_models(struct slice provider)
{
	for (size_t i = 0; i < ARRAY_SIZE(model_members); i++)
		if (jobj_get(provider, model_members[i]).type == J_STRING)
			return true;
	return jobj_get(provider, "models").type == J_ARRAY;
}

static bool has_model(struct slice provider, const char *model)
{
	for (size_t i = 0; i < ARRAY_SIZE(model_members); i++)
		if (jstr_is(jobj_get(provider, model_members[i]), model))
			return true;
	jarr_each(v, jobj_get(provider, "models"))
		if (jstr_is(v, model))
			return true;
	return false;
}

/* The model of the session is one as well: a client may choose any where the provider has no list. */
static bool may_use(const struct session *s, const char *model)
{
	const char *own = s->setup.gateway.model;

	return has_model(slice_of(s->setup.provider), model) || (own && strcmp(own, model) == 0);
}

/* Gateways take a list of models as well, of which the next one is asked when the first fails. */
static bool may_use_list(const struct session *s, struct jval list)
{
	if (list.type == J_NONE || list.type == J_NULL)
		return true;
	if (list.type != J_ARRAY)
		return false;
	jarr_each(v, list) {
		_cleanup_(freep) char *model = NULL;

		if (jstr_decode(v, MODEL_NAME_LEN, &model) < 0 || !may_use(s, model))
			return false;
	}
	return true;
}

/* A call without a body, such as GET of the list, names none. */
static bool model_is_allowed(const struct session *s, const struct model_request *r)
{
	if (!r->body.n || !names_models(slice_of(s->setup.provider)))
		return true;
	return r->model && may_use(s, r->model) && may_use_list(s, jobj_get(r->body, "models"));
}

/* --- budgets ---------------------------------------------------------------------------------------------------- */

static void add_reserved(const struct session *s, struct spending ret[SCOPE_MAX])
{
	uint64_t turn = session_running(s);

	list_each(c, (struct list *)&model_of(s)->calls, struct provider_call, link) {
		spending_add(&ret[SCOPE_SESSION], &c->reserved);
		if (c->turn != turn)
			continue;
		spending_add(&ret[SCOPE_TURN], &c->reserved);
		spending_add(&ret[SCOPE_PROMPT], &c->reserved);
	}
}

/* Its cost by the provider's prices, if there are any. */
static bool price(const struct provider_call *c, const struct call_size *size, int64_t *ret)
{
	struct harness_usage u = { .has = 1u << COUNT_INPUT | 1u << COUNT_OUTPUT };

	estimate_tokens(size, &u.count[COUNT_INPUT], &u.count[COUNT_OUTPUT]);
	return prices_cost(c->session->setup.gateway.prices, model_call_request(c->call)->model, &u,
			   ret);
}

static void reserve_for(struct provider_call *c)
{
	const struct model_request *r = model_call_request(c->call);
	struct call_size size = { r->body.n, model_output_asked(r->body) };
	struct spending used;
	int64_t cost;

	turn_budget_used(c->session, &used);
	estimate_call(&size, &used, price(c, &size, &cost) ? &cost : NULL, &c->reserved);
}

/* False: as call_limits_admit. */
static bool budgets_admit(struct provider_call *c)
{
	struct spending reserved[SCOPE_MAX] = { 0 };
	const struct model_request *r = model_call_request(c->call);
	struct session *s = c->session;
	struct budget_stop why;

	if (!model_path_generates(r->api, r->method, r->path))
		return true;
	add_reserved(s, reserved);
	switch (turn_budget_capacity(s, reserved, &why)) {
	case CAPACITY_LEFT:
		break;
	case CAPACITY_RESERVED:
		c->waits = true;
		return false;
	case CAPACITY_SPENT:
		provider_call_refuse(c, MODEL_BUDGET_SPENT, 0);
		turn_budget_stop(s, &why);
		return false;
	}
	if (turn_budget_is_limited(s))
		reserve_for(c);
	return true;
}

/* Those that waited are tried again, the oldest first. */
static void on_review(void *ctx)
{
	struct session *s = ctx;

	list_each(c, &model_of(s)->calls, struct provider_call, link)
		if (c->waits && call_limits_admit(c))
			c->carrier->ask(c);
}

void call_limits_ended(struct session *s)
{
	if (session_is_open(s))
		turn_budget_warn(s);
	list_each(c, &model_of(s)->calls, struct provider_call, link)
		if (c->waits) {
			loop_defer(s->store->loop, &model_of(s)->review, on_review, s);
			return;
		}
}

/* --- calls in a minute -------------------------------------------------------------------------------------------- */

/* Seconds until there may be another one; 0: now, and this is it. */
static unsigned seconds_until_call(struct session *s)
{
	unsigned max = (unsigned)s->setup.gateway.limits.calls_per_minute;
	uint64_t ms = max ? call_rate_take(&model_of(s)->rate, max, clock_mono_ms()) : 0;

	return (unsigned)((ms + 999) / 1000);
}

bool call_limits_admit(struct provider_call *c)
{
	struct session *s = c->session;
	unsigned secs;

	c->waits = false;
	if (!model_is_allowed(s, model_call_request(c->call))) {
		provider_call_refuse(c, MODEL_NOT_ALLOWED, 0);
		return false;
	}
	if (!budgets_admit(c))
		return false;
	/* Last: it counts the call. */
	secs = seconds_until_call(s);
	if (secs)
		provider_call_refuse(c, MODEL_CALLS_PER_MINUTE, secs);
	return !secs;
}
