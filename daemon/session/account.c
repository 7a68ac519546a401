#include "session/account.h"

#include <stdio.h>

static void note(char **slot, const char *text)
{
	if (text)
		xstrset(slot, text);
}

static void add(struct harness_usage *to, const struct harness_usage *u)
{
	for (int i = 0; i < COUNT_MAX; i++)
		to->count[i] += u->has & (1u << i) ? u->count[i] : 0;
	to->has |= u->has;
	to->has_cost |= u->has_cost;
	to->cost += u->has_cost ? u->cost : 0;
}

void account_usage(struct account *a, const struct harness_usage *u)
{
	struct harness_usage *to = u->whole_turn ? &a->turn : &a->sum;

	if (u->whole_turn)
		*to = (struct harness_usage){ 0 };
	else
		a->calls++;
	add(to, u);
	to->source = u->source;
	note(&a->model, u->model);
	note(&a->provider, u->provider);
	note(&a->response_id, u->response_id);
	note(&a->finish_reason, u->finish_reason);
	if (u->has_cost)
		snprintf(a->currency, sizeof(a->currency), "%s", u->currency ? u->currency : "USD");
}

void account_done(struct account *a)
{
	free(a->model);
	free(a->provider);
	free(a->response_id);
	free(a->finish_reason);
	memset(a, 0, sizeof(*a));
}

static const struct harness_usage *holder(const struct account *a, enum harness_count what)
{
	return a->turn.has & (1u << what) ? &a->turn : &a->sum;
}

bool account_count(const struct account *a, enum harness_count what, uint64_t *ret)
{
	const struct harness_usage *u = holder(a, what);

	*ret = u->count[what];
	return u->has & (1u << what);
}

void account_put_acp(const struct account *a, struct jw *w, const char *key)
{
	static const char *const keys[COUNT_MAX] = {
		[COUNT_TOTAL] = "totalTokens",		 [COUNT_INPUT] = "inputTokens",
		[COUNT_OUTPUT] = "outputTokens",	 [COUNT_REASONING] = "thoughtTokens",
		[COUNT_CACHE_READ] = "cachedReadTokens", [COUNT_CACHE_WRITE] = "cachedWriteTokens",
	};
	uint64_t n, in, out;

	/* the schema wants these three together */
	if (!account_count(a, COUNT_INPUT, &in) || !account_count(a, COUNT_OUTPUT, &out))
		return;
	jw_obj(w, key);
	for (int i = 0; i < COUNT_MAX; i++)
		if (account_count(a, i, &n))
			jw_uint(w, keys[i], n);
		else if (i == COUNT_TOTAL)
			jw_uint(w, keys[i], in + out);
	jw_end_obj(w);
}
