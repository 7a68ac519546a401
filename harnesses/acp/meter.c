/*
 * meter.c - usage of a turn from the agent's own numbers, in any scope; see quirks.h.
 *
 * Agents count the turn, their last model call, or everything since they started; cost comes apart from tokens, as a sum of
 * the session. Of sums the turn is the difference to what was known before it. Cache and reasoning are brought to the meaning
 * of struct harness_usage.
 */
#include "harnesses/acp/internal.h"

#include "harnesses/adapter.h"

#include "json/jstr.h"

static const struct usage_field usage_fields[] = {
	{ "inputTokens", COUNT_INPUT },
	{ "outputTokens", COUNT_OUTPUT },
	{ "cachedReadTokens", COUNT_CACHE_READ },
	{ "cachedWriteTokens", COUNT_CACHE_WRITE },
	{ "thoughtTokens", COUNT_REASONING },
	{ "totalTokens", COUNT_TOTAL },
	{ NULL, COUNT_MAX },
};

static const struct usage_field quota_fields[] = {
	{ "input_tokens", COUNT_INPUT },
	{ "output_tokens", COUNT_OUTPUT },
	{ NULL, COUNT_MAX },
};

static const struct usage_field *usage_place_find(const struct acp_quirks *q, struct slice result,
						  struct jval *ret, const char **source)
{
	if (q->usage_place == ACP_USAGE_IN_QUOTA) {
		*ret = jobj_get(jobj_get(jobj_get(result, "_meta").raw, "quota").raw,
				"token_count");
		*source = "session/prompt._meta.quota.token_count";
		return quota_fields;
	}
	*ret = jobj_get(result, "usage");
	*source = q->usage == ACP_USAGE_LAST_CALL ? "session/prompt.usage (last call)" :
						    "session/prompt.usage";
	return usage_fields;
}

/* adds a part that the whole does not hold; the whole is unknown if the part is */
static void include_part(struct harness_usage *u, enum harness_count whole, enum harness_count part,
			 bool needed)
{
	if (u->has & (1u << part))
		u->count[whole] += u->count[part];
	else if (needed)
		u->has &= ~(1u << whole);
}

static void normalise_agent_usage(const struct acp_quirks *q, struct harness_usage *u)
{
	if (q->input_excludes_cache && u->has & (1u << COUNT_INPUT)) {
		include_part(u, COUNT_INPUT, COUNT_CACHE_READ, false);
		include_part(u, COUNT_INPUT, COUNT_CACHE_WRITE, false);
	}
	if (q->output_excludes_reasoning && u->has & (1u << COUNT_OUTPUT))
		include_part(u, COUNT_OUTPUT, COUNT_REASONING, true);
}

/* The turn is the difference to the last reply; a total that has become smaller began again at 0. */
static void subtract(struct harness_usage *u, struct harness_usage *seen)
{
	struct harness_usage now = *u;
	bool anew = false;

	for (int i = 0; i < COUNT_MAX; i++)
		anew |= seen->has & u->has & (1u << i) && u->count[i] < seen->count[i];
	for (int i = 0; i < COUNT_MAX && !anew; i++)
		if (seen->has & u->has & (1u << i))
			u->count[i] -= seen->count[i];
	*seen = now;
}

void acp_meter_note(struct harness *h, struct slice usage_update)
{
	struct slice cost = jobj_get(usage_update, "cost").raw;
	_cleanup_(freep) char *currency = NULL;
	struct acp_meter *m = &h->meter;

	if (!cost.n || !harness_cost_parse(jobj_get(cost, "amount").raw, &m->cost))
		return;
	m->has_cost = true;
	if (jstr_decode(jobj_get(cost, "currency"), sizeof(m->currency) - 1, &currency) == 0)
		snprintf(m->currency, sizeof(m->currency), "%s", currency);
}

/* A new session has cost nothing; of a restored one only the reported cost is known. */
void acp_meter_turn_start(struct harness *h)
{
	struct acp_meter *m = &h->meter;

	m->known |= m->has_cost || !h->restoring;
	m->cost_before = m->cost;
	/* Only a report during the turn counts for it. */
	m->has_cost = false;
}

static void set_cost(struct harness *h, struct harness_usage *u)
{
	struct acp_meter *m = &h->meter;

	/* A cost that did not grow is not a cost of 0: the model may have no price. */
	if (!m->has_cost || !m->known || m->cost <= m->cost_before)
		return;
	u->has_cost = true;
	u->cost = m->cost - m->cost_before;
	u->currency = m->currency[0] ? m->currency : NULL;
}

static char *model_used(struct slice result)
{
	struct jval list =
		jobj_get(jobj_get(jobj_get(result, "_meta").raw, "quota").raw, "model_usage");
	struct jiter it;
	struct jval v;
	char *model = NULL;

	if (list.type == J_ARRAY && jiter_init(&it, list) && jiter_next(&it, NULL, &v) &&
	    v.type == J_OBJECT)
		jstr_decode(jobj_get(v.raw, "model"), 256, &model);
	return model;
}

void acp_meter_report(struct harness *h, const struct rpc_msg *reply, bool counted)
{
	_cleanup_(freep) char *model = NULL;
	struct harness_usage u = { .whole_turn = h->quirks->usage != ACP_USAGE_LAST_CALL };
	struct slice result = reply->error.n ? SLICE_NONE : reply->result;
	struct jval object;
	const struct usage_field *f = usage_place_find(h->quirks, result, &object, &u.source);

	if (counted)
		return;
	for (; f->key && object.type == J_OBJECT; f++)
		harness_usage_set(&u, f->what, jobj_get(object.raw, f->key));
	/* Before the counts are normalised: `seen` holds the agent's own numbers. */
	if (h->quirks->usage == ACP_USAGE_SESSION && u.has)
		subtract(&u, &h->meter.seen);
	normalise_agent_usage(h->quirks, &u);
	set_cost(h, &u);
	if (!u.has && !u.has_cost)
		return;
	model = model_used(result);
	u.model = model;
	h->host.ops->usage(h->host.ctx, &u);
}
