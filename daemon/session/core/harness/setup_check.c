#include "session/core/harness/setup_check.h"

#include "session/parts/secrets/session_env.h"
#include "session/parts/confinement/session_level.h"
#include "session/parts/confinement/session_limits.h"
#include "session/parts/network/session_network.h"

#include <stdio.h>

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

	if (!p->provider.n)
		return setup_counts_calls(def, have);
	passes = harness_provider_parse(p->provider, &provider, NULL) == 0 &&
		 provider.via != PROVIDER_ENVIRONMENT;
	harness_provider_done(&provider);
	return passes || def->ops->reports_calls;
}

int setup_refuse_steps(const struct harness_def *def, const char *prefix, struct err *e)
{
	char field[64];

	snprintf(field, sizeof(field), "%s.steps", prefix);
	return err_field(e, field, "BUDGET_UNMEASURABLE",
			 "%s: cannot count the model calls of %s: give a provider with via direct "
			 "or tunnel, or a budget of toolCalls or seconds",
			 field, def->id);
}

static int check_budgets(const struct harness_def *def, const struct setup *have,
			 const struct setup_params *p, struct err *e)
{
	const struct budgets *b = p->budgets ? p->budgets : &have->budgets;
	const unsigned steps = 1u << BUDGET_STEPS;

	if ((!p->budgets && !p->provider.n) || !((b->turn.has | b->session.has) & steps) ||
	    will_count_calls(def, have, p))
		return 0;
	return setup_refuse_steps(
		def, b->turn.has & steps ? "_meta.acpd.budgets.turn" : "_meta.acpd.budgets.session",
		e);
}

int setup_check(const struct session_store *st, const struct harness_def *def,
		const struct setup *have, const struct setup_params *p, struct err *e)
{
	static const struct setup none;
	const struct setup *s = have ? have : &none;
	int r = session_env_check(s, p, e);

	if (r == 0)
		r = session_level_check(st, have, p, e);
	if (r == 0)
		r = session_network_check(st, have, p, e);
	if (r == 0)
		r = session_limits_check(st, p, e);
	return r == 0 ? check_budgets(def, s, p, e) : r;
}
