/*
 * account.c - adds up what one turn used, and what a session used in all its turns: tokens, cost, model
 * calls and tool calls.
 *
 * `sum` adds reports of model calls, `turn` has the last report for the whole turn, which is
 * preferred. A bit in `has` marks a reported count, so an unknown count is absent and never 0. A
 * call through the daemon is reported repeatedly while it runs: account_call subtracts its previous
 * numbers and adds the new ones. ACCOUNT_TOOLS_MAX bounds the tool names; the last slot is "other".
 */
#include "usage/account.h"

#include "base/util.h"
#include "json/json.h"
#include "usage/cost.h"

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

static bool usage_has(const struct harness_usage *u, int what)
{
	return u->has & (1u << what);
}

void usage_add(struct harness_usage *to, const struct harness_usage *u)
{
	for (int i = 0; i < COUNT_MAX; i++)
		to->count[i] += usage_has(u, i) ? u->count[i] : 0;
	to->has |= u->has;
	to->has_cost |= u->has_cost;
	to->cost = cost_sum(to->cost, u->has_cost ? u->cost : 0);
}

static void note_names(struct account *a, const struct harness_usage *u)
{
	if (u->model)
		xstrset(&a->model, u->model);
	if (u->provider)
		xstrset(&a->provider, u->provider);
	if (u->has_cost)
		snprintf(a->currency, sizeof(a->currency), "%s", u->currency ? u->currency : "USD");
}

static const char *source_of_cost(const struct harness_usage *u)
{
	return u->cost_source ? u->cost_source : "harness";
}

/* Different ones are a "sum". */
static const char *join_sources(const char *have, const char *source)
{
	return !have || strcmp(have, source) == 0 ? source : "sum";
}

static void note_cost_source(struct account *a, const struct harness_usage *u)
{
	if (u->has_cost)
		a->cost_source = join_sources(a->cost_source, source_of_cost(u));
}

void account_usage(struct account *a, const struct harness_usage *u)
{
	struct harness_usage *to = u->whole_turn ? &a->turn : &a->sum;

	/* A report of the whole turn replaces the one before; one of a call is added. */
	if (u->whole_turn)
		*to = (struct harness_usage){ 0 };
	else
		a->calls++;
	usage_add(to, u);
	to->source = u->source;
	note_names(a, u);
	note_cost_source(a, u);
}

/* Clamped at 0: the counts are unsigned, and a count that was too large must not wrap around. */
static void take_off(struct harness_usage *from, const struct harness_usage *u)
{
	for (int i = 0; i < COUNT_MAX; i++)
		from->count[i] -= usage_has(u, i) ? MIN(u->count[i], from->count[i]) : 0;
	from->cost -= u->has_cost ? MIN(u->cost, from->cost) : 0;
}

/* Totals are left out: calls that tell of one and calls that do not have no sum. */
void account_call(struct account *a, const struct harness_usage *was,
		  const struct harness_usage *now)
{
	struct harness_usage u = *now;

	u.has &= ~(1u << COUNT_TOTAL);
	take_off(&a->sum, was);
	usage_add(&a->sum, &u);
	a->sum.source = u.source ? u.source : a->sum.source;
	note_names(a, &u);
	note_cost_source(a, &u);
}

static struct tool_count *tool_find(struct account *a, const char *name)
{
	struct tool_count *t;

	for (size_t i = 0; i < a->ntools; i++)
		if (strcmp(a->tools[i].name, name) == 0)
			return &a->tools[i];
	/* A harness names its tools, so the number of names is limited; the last one is for all further ones. */
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
	free_each(a->tools, a->model, a->provider);
	memset(a, 0, sizeof(*a));
}

/* Chosen for each count: a number for the whole turn wins over the sum of the model calls. */
static bool reported(const struct account *a, int what, uint64_t *ret)
{
	const struct harness_usage *u = usage_has(&a->turn, what) ? &a->turn : &a->sum;

	*ret = u->count[what];
	return usage_has(u, what);
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

void account_add_to(const struct account *a, struct harness_usage *to)
{
	struct harness_usage u = { 0 };

	for (int i = 0; i < COUNT_MAX; i++)
		u.has |= account_count(a, (enum harness_count)i, &u.count[i]) ? 1u << i : 0;
	u.has_cost = account_cost(a, &u.cost);
	usage_add(to, &u);
}

void account_put_acp(const struct account *a, const struct harness_usage *more, struct jw *w,
		     const char *key)
{
	struct harness_usage u = more ? *more : (struct harness_usage){ 0 };

	account_add_to(a, &u);
	/* the schema wants these three together */
	if (!usage_has(&u, COUNT_INPUT) || !usage_has(&u, COUNT_OUTPUT))
		return;
	jw_obj(w, key);
	for (int i = 0; i < COUNT_MAX; i++)
		if (names[i].acp && usage_has(&u, i))
			jw_uint(w, names[i].acp, u.count[i]);
	jw_end_obj(w);
}

/* A number from exactly one model call has the source of that call, and from several it is a "sum". */
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
			jw_str(w, names[i].record,
			       source_of(a, usage_has(&a->turn, i), usage_has(&a->sum, i)));
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

void account_put_tools(const struct account *a, struct jw *w)
{
	jw_obj(w, "toolCalls");
	for (size_t i = 0; i < a->ntools; i++) {
		const struct tool_count *t = &a->tools[i];

		jw_lead_key(w, t->name);
		jw_object(w, NULL, JW_UINT("ok", t->ok), JW_UINT("err", t->failed),
			  JW_UINT("ms", t->ms));
	}
	jw_end_obj(w);
}

void account_put_numbers(const struct account *a, struct jw *w)
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
		put_cost(w, cost, a->currency, a->cost_source);
	if (a->calls)
		jw_uint(w, "modelCalls", a->calls);
}

void account_put_usage(const struct harness_usage *u, struct jw *w)
{
	const unsigned both = 1u << COUNT_INPUT | 1u << COUNT_OUTPUT;

	if (u->has) {
		jw_obj(w, "usage");
		for (int i = 0; i < COUNT_MAX; i++)
			if (usage_has(u, i))
				jw_uint(w, names[i].record, u->count[i]);
			else if (i == COUNT_TOTAL && (u->has & both) == both)
				jw_uint(w, names[i].record,
					u->count[COUNT_INPUT] + u->count[COUNT_OUTPUT]);
		jw_end_obj(w);
	}
	if (u->has_cost)
		put_cost(w, u->cost, u->currency ? u->currency : "USD", source_of_cost(u));
	jw_str(w, "source", u->source);
}

/* struct account holds static strings, so the text of a record is mapped to one and never copied. */
static const char *source_loaded(struct jval v)
{
	static const char *const known[] = { "provider", "prices", "sum" };

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (jstr_is(v, known[i]))
			return known[i];
	return "harness";
}

void account_load_call(struct slice record, struct harness_usage *ret)
{
	struct slice usage = jobj_get(record, "usage").raw;
	struct jval amount = jobj_get(jobj_get(record, "cost").raw, "amount");

	*ret = (struct harness_usage){ .source = "model_call records",
				       .cost_source = source_loaded(
					       jobj_get(jobj_get(record, "cost").raw, "source")) };
	for (int i = 0; usage.n && i < COUNT_MAX; i++)
		harness_usage_set(ret, (enum harness_count)i, jobj_get(usage, names[i].record));
	ret->has_cost = amount.type == J_NUMBER && harness_cost_parse(amount.raw, &ret->cost);
}

/* --- totals of a session --------------------------------------------------------------------------------- */

/*
 * What a session used in all its turns, and the note of it in the journal.
 *
 * `spent` is compared with budgets; `usage` is what was reported. The note has integers in the
 * order of the enums, so a new kind must be the last of its enum. Only this file reads the note.
 * Costs of different currencies have no sum: the currency becomes "mixed" and the cost absent from
 * then on.
 */
static const char *const cost_sources[] = { "harness", "provider", "prices" };

static void add_source(struct totals *t, const char *source)
{
	const char *known = "sum";

	for (size_t i = 0; i < ARRAY_SIZE(cost_sources); i++)
		if (strcmp(cost_sources[i], source) == 0)
			known = cost_sources[i];
	t->cost_source = join_sources(t->cost_source, known);
}

static void totals_add_cost(struct totals *t, int64_t cost, const char *currency,
			    const char *source)
{
	/* A session that became "mixed" stays so: the next currency differs from that text again. */
	bool first = !*t->currency, same = first || strcmp(t->currency, currency) == 0;

	snprintf(t->currency, sizeof(t->currency), "%s", same ? currency : "mixed");
	t->usage.cost = cost_sum(t->usage.cost, cost);
	t->usage.has_cost = same;
	add_source(t, source);
}

static void add_account(struct totals *t, const struct account *a)
{
	struct harness_usage u = { 0 };

	account_add_to(a, &u);
	if (u.has_cost)
		totals_add_cost(t, u.cost, a->currency, a->cost_source);
	u.has_cost = false; /* it has been added, by its currency */
	usage_add(&t->usage, &u);
}

void totals_add(struct totals *t, const struct account *a)
{
	t->turns++;
	add_account(t, a);
}

void totals_add_call(struct totals *t, const struct harness_usage *u, bool succeeded)
{
	struct account a = { 0 };
	uint64_t in, out;
	int64_t cost;

	/* Through an account of its own, so that the rules for totals and currencies are those of a
	 * turn. */
	account_call(&a, &(struct harness_usage){ 0 }, u);
	add_account(t, &a);
	/* The results are not checked: an unknown count or cost is set to 0. */
	account_count(&a, COUNT_INPUT, &in);
	account_count(&a, COUNT_OUTPUT, &out);
	account_cost(&a, &cost);
	t->spent.used[BUDGET_STEPS] += succeeded;
	t->spent.used[BUDGET_TOKENS] += in + out;
	t->spent.used[BUDGET_COST] += (uint64_t)cost;
	account_done(&a);
}

void totals_put(const struct totals *t, struct jw *w, const char *key)
{
	struct harness_usage u = t->usage;

	u.currency = t->currency;
	u.cost_source = t->cost_source;
	jw_obj(w, key);
	jw_uint(w, "turns", t->turns);
	jw_uint(w, "modelCalls", t->spent.used[BUDGET_STEPS]);
	account_put_usage(&u, w);
	jw_end_obj(w);
}

static void put_numbers(struct jw *w, const char *key, const uint64_t *numbers, size_t n)
{
	jw_arr(w, key);
	for (size_t i = 0; i < n; i++)
		jw_uint(w, NULL, numbers[i]);
	jw_end_arr(w);
}

/* Bare integers in the order of the enums: only we read this record. */
void totals_put_note(const struct totals *t, struct jw *w, uint64_t turn)
{
	jw_obj(w, NULL);
	jw_uint(w, "turn", turn);
	jw_uint(w, "turns", t->turns);
	put_numbers(w, "spent", t->spent.used, BUDGET_MAX);
	put_numbers(w, "told", t->told, BUDGET_MAX);
	put_numbers(w, "count", t->usage.count, COUNT_MAX);
	jw_uint(w, "has", t->usage.has);
	if (*t->currency) {
		jw_int(w, "cost", t->usage.cost);
		jw_str(w, "currency", t->currency);
		jw_str(w, "costSource", t->cost_source);
	}
	jw_end_obj(w);
}

static void load_numbers(struct jval array, uint64_t *numbers, size_t n)
{
	int64_t have;

	/* A shorter array is from a version with fewer kinds: the other numbers stay 0. */
	jarr_each_at(i, v, array)
		if (i < n && jdec_int(v, &have) == 0 && have > 0)
			numbers[i] = (uint64_t)have;
}

void totals_load(struct totals *t, struct slice record)
{
	_cleanup_(freep) char *currency = NULL, *source = NULL;

	memset(t, 0, sizeof(*t));
	t->turns = jobj_uint(record, "turns");
	load_numbers(jobj_get(record, "spent"), t->spent.used, BUDGET_MAX);
	load_numbers(jobj_get(record, "told"), t->told, BUDGET_MAX);
	load_numbers(jobj_get(record, "count"), t->usage.count, COUNT_MAX);
	/* A later version can have more counts, whose bits have no meaning here. */
	t->usage.has = (unsigned)jobj_uint(record, "has") & ((1u << COUNT_MAX) - 1);
	t->usage.cost = (int64_t)jobj_uint(record, "cost");
	if (jstr_decode(jobj_get(record, "currency"), sizeof(t->currency), &currency) == 0)
		snprintf(t->currency, sizeof(t->currency), "%s", currency);
	if (jstr_decode(jobj_get(record, "costSource"), 32, &source) == 0)
		add_source(t, source);
	t->usage.has_cost = *t->currency && strcmp(t->currency, "mixed") != 0;
}
