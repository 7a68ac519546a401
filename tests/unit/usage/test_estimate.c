/* What is reserved for a model call, and when budgets have nothing left for the next one; who is warned of them, and when. */
#include "unit.h"

#include "harnesses/harness.h"
#include "usage/budget.h"

static void test_estimates(void **state _unused_)
{
	static const int64_t price = 7;
	static const struct {
		struct call_size size;
		struct spending used;
		const int64_t *price;
		uint64_t tokens, cost;
	} rows[] = {
		/* the first call: nobody knows what it costs */
		{ { 0, 0 }, { { 0 } }, NULL, 4097, UINT64_MAX },
		{ { 400, 0 }, { { 0 } }, NULL, 101 + 4096, UINT64_MAX },
		{ { 400, 100 }, { { 0 } }, NULL, 201, UINT64_MAX },
		{ { 400, UINT64_MAX }, { { 0 } }, NULL, 101 + 1000000000, UINT64_MAX },
		{ { 400, 100 }, { { 0 } }, &price, 201, 7 },
		/* by the session's tokens so far */
		{ { 400, 99 }, { { 1, 0, 0, 100, 300 } }, NULL, 200, 600 },
		{ { 400, 99 }, { { 1, 0, 0, 100, 0 } }, NULL, 200, 0 },
		{ { 400, 99 }, { { 1, 0, 0, 1, UINT64_MAX / 2 } }, NULL, 200, UINT64_MAX },
		/* a provider that tells of no tokens */
		{ { 400, 99 }, { { 1, 0, 0, 0, 0 } }, NULL, 200, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct spending got;

		estimate_call(&rows[i].size, &rows[i].used, rows[i].price, &got);
		if (got.used[BUDGET_STEPS] != 1 || got.used[BUDGET_TOKENS] != rows[i].tokens ||
		    got.used[BUDGET_COST] != rows[i].cost || got.used[BUDGET_SECONDS])
			fail_row(i, "");
	}
}

static void parse(const char *raw, struct budgets *ret)
{
	assert_int_equal(budgets_parse(slice_of(raw), "b", ret, NULL), 0);
}

static void test_reserved(void **state _unused_)
{
	static const struct {
		const char *raw;
		struct spending used, reserved;
		bool want;
	} rows[] = {
		{ "{}", { { 9, 9, 9, 9, 9 } }, { { 9 } }, false },
		{ "{\"turn\":{\"tokens\":10}}", { { 0, 0, 0, 4 } }, { { 0, 0, 0, 5 } }, false },
		{ "{\"turn\":{\"tokens\":10}}", { { 0, 0, 0, 4 } }, { { 0, 0, 0, 6 } }, true },
		{ "{\"turn\":{\"steps\":2}}", { { 1 } }, { { 0, 0, 0, 9 } }, false },
		{ "{\"turn\":{\"steps\":2}}", { { 1 } }, { { 1 } }, true },
		{ "{\"turn\":{\"cost\":1}}", { { 0 } }, { { 0, 0, 0, 0, UINT64_MAX } }, true },
		{ "{\"turn\":{\"cost\":1}}",
		  { { 0, 0, 0, 0, 5 } },
		  { { 0, 0, 0, 0, UINT64_MAX } },
		  true },
		/* no call uses these */
		{ "{\"turn\":{\"toolCalls\":1,\"seconds\":1}}",
		  { { 0, 1, 0 } },
		  { { 9, 9, 9 } },
		  false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct budgets b;

		parse(rows[i].raw, &b);
		if (budget_is_reserved(&b.turn, &rows[i].used, &rows[i].reserved) != rows[i].want)
			fail_row(i, rows[i].raw);
	}
}

/* Eight calls at once: however they overlap, no more pass than what is used and reserved leaves room for. */
static void test_eight_at_once(void **state _unused_)
{
	struct spending reserved = { 0 }, used = { 0 }, each;
	struct call_size size = { 4000, 0 };
	unsigned passed = 0;
	struct budgets b;

	parse("{\"turn\":{\"tokens\":10000}}", &b);
	estimate_call(&size, &used, NULL, &each);
	for (int i = 0; i < 8; i++) {
		if (budget_is_reserved(&b.turn, &used, &reserved))
			continue;
		spending_add(&reserved, &each);
		passed++;
	}
	assert_int_equal(each.used[BUDGET_TOKENS], 5097);
	assert_int_equal(passed, 2);
}

static void test_warnings(void **state _unused_)
{
	uint64_t told[BUDGET_MAX] = { 0 };
	struct spending used = { { 3, 0, 1599, 79, 0 } };
	struct budgets b;

	parse("{\"turn\":{\"steps\":5,\"seconds\":2,\"tokens\":100,\"cost\":1}}", &b);
	assert_int_equal(budget_warning(&b.turn, &used, told), -1);
	assert_int_equal(budget_until(&b.turn, BUDGET_SECONDS, 1599, told), 1);
	used = (struct spending){ { 4, 0, 1600, 80, COST_UNIT } };
	assert_int_equal(budget_warning(&b.turn, &used, told), BUDGET_STEPS);
	assert_int_equal(budget_warning(&b.turn, &used, told), BUDGET_SECONDS);
	assert_int_equal(budget_warning(&b.turn, &used, told), BUDGET_TOKENS);
	assert_int_equal(budget_warning(&b.turn, &used, told), BUDGET_COST);
	assert_int_equal(budget_warning(&b.turn, &used, told), -1);
	assert_int_equal(budget_until(&b.turn, BUDGET_SECONDS, 1600, told), 400);
	assert_int_equal(budget_until(&b.turn, BUDGET_SECONDS, 2500, told), 1);
	assert_int_equal(budget_until(&b.turn, BUDGET_TOOL_CALLS, 7, told), 0);
	/* a larger budget is another one */
	parse("{\"turn\":{\"steps\":6}}", &b);
	assert_int_equal(budget_warning(&b.turn, &used, told), -1);
	used.used[BUDGET_STEPS] = 5;
	assert_int_equal(budget_warning(&b.turn, &used, told), BUDGET_STEPS);
	/* of small ones the whole */
	parse("{\"turn\":{\"steps\":1}}", &b);
	used.used[BUDGET_STEPS] = 0;
	assert_int_equal(budget_warning(&b.turn, &used, told), -1);
	used.used[BUDGET_STEPS] = 1;
	assert_int_equal(budget_warning(&b.turn, &used, told), BUDGET_STEPS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_estimates),
		cmocka_unit_test(test_reserved),
		cmocka_unit_test(test_eight_at_once),
		cmocka_unit_test(test_warnings),
	};

	return RUN(tests, NULL, NULL);
}
