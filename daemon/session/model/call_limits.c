#include "session/session_internal.h"

#include "base/clock.h"
#include "base/limits.h"
#include "json/jstr.h"
#include "session/model/call_limits.h"

struct model_terms call_limits_terms(void *ctx)
{
	const struct session *s = ctx;

	return (struct model_terms){ .calls_max = (unsigned)s->setup.gateway.limits.concurrency,
				     .quota = s->def->stop == HARNESS_STOP_QUOTA };
}

void call_limits_refused(void *ctx, enum model_refusal why)
{
	struct session *s = ctx;

	if (call_rate_take(&s->model.logged, MODEL_REFUSALS_LOGGED, clock_mono_ms()) == 0)
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
	struct jiter it;
	struct jval v;

	for (size_t i = 0; i < ARRAY_SIZE(model_members); i++)
		if (jstr_is(jobj_get(provider, model_members[i]), model))
			return true;
	if (!jiter_init(&it, jobj_get(provider, "models")))
		return false;
	while (jiter_next(&it, NULL, &v))
		if (jstr_is(v, model))
			return true;
	return false;
}

/* The model of the session is one as well: a client may choose any where the provider has no list. A call without a body,
 * such as GET of the list, names none. */
static bool model_allowed(const struct session *s, const struct model_request *r)
{
	const struct harness_provider *p = &s->setup.gateway;
	struct slice provider = slice_of(s->setup.provider);

	if (!r->body.n || !names_models(provider))
		return true;
	return r->model &&
	       (has_model(provider, r->model) || (p->model && strcmp(p->model, r->model) == 0));
}

/* --- calls in a minute -------------------------------------------------------------------------------------------- */

/* Seconds until there may be another one; 0: now, and this is it. */
static unsigned minute_is_full(struct session *s)
{
	unsigned max = (unsigned)s->setup.gateway.limits.calls_per_minute;
	uint64_t ms = max ? call_rate_take(&s->model.rate, max, clock_mono_ms()) : 0;

	return (unsigned)((ms + 999) / 1000);
}

/* The turn ends then. */
static bool budget_is_spent(struct session *s, const struct model_request *r)
{
	return model_path_generates(r->api, r->method, r->path) && !turn_budget_calls(s);
}

bool call_limits_admit(struct provider_call *c)
{
	struct session *s = c->session;
	unsigned secs;

	if (budget_is_spent(s, model_call_request(c->call))) {
		provider_call_refuse(c, MODEL_BUDGET_SPENT, 0);
		return false;
	}
	if (!model_allowed(s, model_call_request(c->call))) {
		provider_call_refuse(c, MODEL_NOT_ALLOWED, 0);
		return false;
	}
	secs = minute_is_full(s);
	if (secs)
		provider_call_refuse(c, MODEL_CALLS_PER_MINUTE, secs);
	return !secs;
}
