/*
 * totals.c - what a session used in all its turns, and the note of it in the journal.
 *
 * `spent` is compared with budgets; `usage` is what was reported. The note has integers in the
 * order of the enums, so a new kind must be the last of its enum. Only this file reads the note.
 * Costs of different currencies have no sum: the currency becomes "mixed" and the cost absent from
 * then on.
 */
#include "usage/totals.h"

#include "base/util.h"
#include "json/jdec.h"
#include "json/jstr.h"
#include "usage/cost.h"

#include <stdio.h>

static const char *const cost_sources[] = { "harness", "provider", "prices" };

/* Sources that are not all the same are a "sum". */
static void add_source(struct totals *t, const char *source)
{
	const char *known = "sum";

	for (size_t i = 0; i < ARRAY_SIZE(cost_sources); i++)
		if (strcmp(cost_sources[i], source) == 0)
			known = cost_sources[i];
	t->cost_source = !t->cost_source || strcmp(t->cost_source, known) == 0 ? known : "sum";
}

static void add_cost(struct totals *t, int64_t cost, const char *currency, const char *source)
{
	bool first = !*t->currency, same = first || strcmp(t->currency, currency) == 0;

	snprintf(t->currency, sizeof(t->currency), "%s", same ? currency : "mixed");
	t->usage.cost = cost_sum(t->usage.cost, cost);
	t->usage.has_cost = same;
	add_source(t, source);
}

static void add_account(struct totals *t, const struct account *a)
{
	uint64_t n;
	int64_t cost;

	for (int i = 0; i < COUNT_MAX; i++)
		if (account_count(a, (enum harness_count)i, &n)) {
			t->usage.count[i] += n;
			t->usage.has |= 1u << i;
		}
	if (account_cost(a, &cost))
		add_cost(t, cost, a->currency, a->cost_source);
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

	account_call(&a, &(struct harness_usage){ 0 }, u);
	add_account(t, &a);
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

static uint64_t number(struct jval v)
{
	int64_t n = 0;

	return jdec_int(v, &n) == 0 && n > 0 ? (uint64_t)n : 0;
}

static void load_numbers(struct jval array, uint64_t *numbers, size_t n)
{
	struct jiter it;
	struct jval v;

	if (!jiter_init(&it, array))
		return;
	for (size_t i = 0; i < n && jiter_next(&it, NULL, &v); i++)
		numbers[i] = number(v);
}

void totals_load(struct totals *t, struct slice record)
{
	_cleanup_(freep) char *currency = NULL, *source = NULL;
	struct jval cost = jobj_get(record, "cost");

	memset(t, 0, sizeof(*t));
	t->turns = number(jobj_get(record, "turns"));
	load_numbers(jobj_get(record, "spent"), t->spent.used, BUDGET_MAX);
	load_numbers(jobj_get(record, "told"), t->told, BUDGET_MAX);
	load_numbers(jobj_get(record, "count"), t->usage.count, COUNT_MAX);
	t->usage.has = (unsigned)number(jobj_get(record, "has")) & ((1u << COUNT_MAX) - 1);
	t->usage.cost = (int64_t)number(cost);
	if (jstr_decode(jobj_get(record, "currency"), sizeof(t->currency), &currency) == 0)
		snprintf(t->currency, sizeof(t->currency), "%s", currency);
	if (jstr_decode(jobj_get(record, "costSource"), 32, &source) == 0)
		add_source(t, source);
	t->usage.has_cost = *t->currency && strcmp(t->currency, "mixed") != 0;
}
