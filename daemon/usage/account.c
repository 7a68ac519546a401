#include "usage/account.h"

#include "base/array.h"

#include "usage/budget.h"
#include "usage/cost.h"

#include <stdio.h>

/* In records, and in ACP's Usage, which has no word for some. */
static const struct {
	const char *record, *acp;
} names[COUNT_MAX] = {
	[COUNT_INPUT] = { "inputTokens", "inputTokens" },
	[COUNT_OUTPUT] = { "outputTokens", "outputTokens" },
	[COUNT_CACHE_READ] = { "cacheReadTokens", "cachedReadTokens" },
	[COUNT_CACHE_WRITE] = { "cacheWriteTokens", "cachedWriteTokens" },
	[COUNT_REASONING] = { "reasoningTokens", "thoughtTokens" },
	[COUNT_TOTAL] = { "totalTokens", "totalTokens" },
	[COUNT_CACHE_WRITE_5M] = { "cacheWrite5mTokens", NULL },
	[COUNT_CACHE_WRITE_1H] = { "cacheWrite1hTokens", NULL },
};

static bool has(const struct harness_usage *u, int what)
{
	return u->has & (1u << what);
}

static void add(struct harness_usage *to, const struct harness_usage *u)
{
	for (int i = 0; i < COUNT_MAX; i++)
		to->count[i] += has(u, i) ? u->count[i] : 0;
	to->has |= u->has;
	to->has_cost |= u->has_cost;
	to->cost = cost_sum(to->cost, u->has_cost ? u->cost : 0);
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
	if (u->model)
		xstrset(&a->model, u->model);
	if (u->provider)
		xstrset(&a->provider, u->provider);
	if (u->has_cost)
		snprintf(a->currency, sizeof(a->currency), "%s", u->currency ? u->currency : "USD");
}

static struct tool_count *tool_find(struct account *a, const char *name)
{
	struct tool_count *t;

	for (size_t i = 0; i < a->ntools; i++)
		if (strcmp(a->tools[i].name, name) == 0)
			return &a->tools[i];
	if (a->ntools == ACCOUNT_TOOLS_MAX)
		return &a->tools[a->ntools - 1];
	if (a->ntools == ACCOUNT_TOOLS_MAX - 1 && strcmp(name, "other") != 0)
		return tool_find(a, "other");
	t = GROW(a->tools, a->ntools);
	t->name = xstrdup(name);
	return t;
}

void account_tool(struct account *a, const char *name, bool ok, uint64_t ms)
{
	struct tool_count *t = tool_find(a, name);

	t->ok += ok;
	t->failed += !ok;
	t->ms += ms;
}

void account_done(struct account *a)
{
	for (size_t i = 0; i < a->ntools; i++)
		free(a->tools[i].name);
	free(a->tools);
	free(a->model);
	free(a->provider);
	memset(a, 0, sizeof(*a));
}

static bool reported(const struct account *a, int what, uint64_t *ret)
{
	const struct harness_usage *u = has(&a->turn, what) ? &a->turn : &a->sum;

	*ret = u->count[what];
	return has(u, what);
}

bool account_count(const struct account *a, enum harness_count what, uint64_t *ret)
{
	uint64_t in, out;

	if (reported(a, (int)what, ret))
		return true;
	if (what != COUNT_TOTAL || !reported(a, COUNT_INPUT, &in) ||
	    !reported(a, COUNT_OUTPUT, &out))
		return false;
	*ret = in + out;
	return true;
}

bool account_cost(const struct account *a, int64_t *ret)
{
	const struct harness_usage *u = a->turn.has_cost ? &a->turn : &a->sum;

	*ret = u->cost;
	return u->has_cost;
}

void account_put_acp(const struct account *a, struct jw *w, const char *key)
{
	uint64_t n;

	/* the schema wants these three together */
	if (!account_count(a, COUNT_INPUT, &n) || !account_count(a, COUNT_OUTPUT, &n))
		return;
	jw_obj(w, key);
	for (int i = 0; i < COUNT_MAX; i++)
		if (names[i].acp && account_count(a, i, &n))
			jw_uint(w, names[i].acp, n);
	jw_end_obj(w);
}

static const char *source_of(const struct account *a, bool from_turn, bool from_calls)
{
	if (from_turn)
		return a->turn.source;
	return from_calls && a->calls == 1 ? a->sum.source : "sum";
}

static void put_sources(const struct account *a, struct jw *w)
{
	uint64_t n;

	jw_obj(w, "sources");
	for (int i = 0; i < COUNT_MAX; i++)
		if (account_count(a, (enum harness_count)i, &n))
			jw_str(w, names[i].record, source_of(a, has(&a->turn, i), has(&a->sum, i)));
	if (a->turn.has_cost || a->sum.has_cost)
		jw_str(w, "cost", source_of(a, a->turn.has_cost, true));
	jw_end_obj(w);
}

static void put_cost(struct jw *w, int64_t cost, const char *currency, const char *source)
{
	jw_obj(w, "cost");
	budget_put_amount(w, "amount", BUDGET_COST, (uint64_t)cost);
	jw_str(w, "currency", currency);
	jw_str(w, "source", source);
	jw_end_obj(w);
}

static void put_tools(const struct account *a, struct jw *w)
{
	jw_obj(w, "toolCalls");
	for (size_t i = 0; i < a->ntools; i++) {
		const struct tool_count *t = &a->tools[i];

		jw_lead_key(w, t->name);
		jw_obj(w, NULL);
		jw_uint(w, "ok", t->ok);
		jw_uint(w, "err", t->failed);
		jw_uint(w, "ms", t->ms);
		jw_end_obj(w);
	}
	jw_end_obj(w);
}

void account_put_record(const struct account *a, struct jw *w)
{
	uint64_t n;
	int64_t cost;

	if (a->turn.has | a->sum.has) {
		jw_obj(w, "usage");
		for (int i = 0; i < COUNT_MAX; i++)
			if (account_count(a, i, &n))
				jw_uint(w, names[i].record, n);
		jw_end_obj(w);
	}
	if (a->turn.has | a->sum.has | a->turn.has_cost | a->sum.has_cost)
		put_sources(a, w);
	if (account_cost(a, &cost))
		put_cost(w, cost, a->currency, "harness");
	if (a->calls)
		jw_uint(w, "modelCalls", a->calls);
	put_tools(a, w);
}

void account_put_usage(const struct harness_usage *u, struct jw *w)
{
	const unsigned both = 1u << COUNT_INPUT | 1u << COUNT_OUTPUT;

	if (u->has) {
		jw_obj(w, "usage");
		for (int i = 0; i < COUNT_MAX; i++)
			if (has(u, i))
				jw_uint(w, names[i].record, u->count[i]);
			else if (i == COUNT_TOTAL && (u->has & both) == both)
				jw_uint(w, names[i].record,
					u->count[COUNT_INPUT] + u->count[COUNT_OUTPUT]);
		jw_end_obj(w);
	}
	if (u->has_cost)
		put_cost(w, u->cost, u->currency ? u->currency : "USD", "harness");
	jw_str(w, "source", u->source);
}

void account_load_call(struct slice record, struct harness_usage *ret)
{
	struct slice usage = jobj_get(record, "usage").raw;
	struct jval amount = jobj_get(jobj_get(record, "cost").raw, "amount");

	*ret = (struct harness_usage){ .source = "model_call records" };
	for (int i = 0; usage.n && i < COUNT_MAX; i++)
		harness_usage_set(ret, (enum harness_count)i, jobj_get(usage, names[i].record));
	ret->has_cost = amount.type == J_NUMBER && harness_cost_parse(amount.raw, &ret->cost);
}
