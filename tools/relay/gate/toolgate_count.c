/* toolgate_count.c - how many calls there may be: by the policy, and by the budgets of the session. */
#include "tools/relay/gate/toolgate_internal.h"

#include "base/util.h"

/* Calls are counted by rule: tools that one rule names share its limit. */
static uint64_t *toolgate_tally_of(struct toolgate *g, const struct policy_rule *rule)
{
	struct toolgate_tally *t;

	for (size_t i = 0; i < g->ntallies; i++)
		if (g->tallies[i].rule == rule)
			return &g->tallies[i].calls;
	t = GROW(g->tallies, g->ntallies);
	t->rule = rule;
	return &t->calls;
}

static bool toolgate_is_over(uint64_t calls, int64_t most, struct toolgate_refusal *why)
{
	if (most < 0 || calls < (uint64_t)most)
		return false;
	*why = (struct toolgate_refusal){ "MAX_CALLS", "maxCalls", most };
	return true;
}

/* False: no budget lets it be made. */
static bool toolgate_begin(struct toolgate *g, const struct toolgate_caller *c, void **begun,
			   struct toolgate_refusal *why)
{
	uint64_t limit = 0;

	if (!g->ops->begin)
		return true;
	*begun = g->ops->begin(g->ctx, c->tool, c->outside, &limit);
	if (!*begun)
		*why = (struct toolgate_refusal){ "BUDGET_SPENT", "toolCalls", (int64_t)limit };
	return *begun;
}

bool toolgate_count(struct toolgate *g, const struct mcp_policy_word *word,
		    const struct toolgate_caller *c, void **begun, struct toolgate_refusal *why)
{
	uint64_t *own = word->own ? toolgate_tally_of(g, word->own) : NULL;

	if ((own && toolgate_is_over(*own, word->own->max_calls, why)) ||
	    toolgate_is_over(g->used, word->server_calls, why) ||
	    /* The budget comes last, because it is the only one that must be given back. */
	    !toolgate_begin(g, c, begun, why))
		return false;
	g->used++;
	if (own)
		++*own;
	return true;
}
