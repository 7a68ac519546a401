/* What a turn and a session used, budgets over it, and the choices a harness offers: small pure parts, vector by vector. */
#include "unit.h"

#include "usage/account.h"
#include "usage/budget.h"
#include "session/core/harness/config_options.h"

static struct harness_usage calls(uint64_t in, uint64_t out)
{
	return (struct harness_usage){ .has = 1u << COUNT_INPUT | 1u << COUNT_OUTPUT,
				       .count = { [COUNT_INPUT] = in, [COUNT_OUTPUT] = out },
				       .source = "call" };
}

static void check_record(const struct account *a, const char *want)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	jw_obj(&w, NULL);
	account_put_numbers(a, &w);
	account_put_tools(a, &w);
	jw_end_obj(&w);
	assert_buf(&b, want);
}

static void test_sums(void **state _unused_)
{
	struct account a = { 0 };
	struct harness_usage u = calls(10, 1);

	check_record(&a, "{\"toolCalls\":{}}");
	account_usage(&a, &u);
	check_record(&a, "{\"usage\":{\"inputTokens\":10,\"outputTokens\":1,\"totalTokens\":11},"
			 "\"sources\":{\"inputTokens\":\"call\",\"outputTokens\":\"call\","
			 "\"totalTokens\":\"sum\"},\"modelCalls\":1,\"toolCalls\":{}}");
	u = (struct harness_usage){ .has = 1u << COUNT_INPUT, .count = { [COUNT_INPUT] = 5 } };
	u.source = "call";
	account_usage(&a, &u);
	u = (struct harness_usage){ .whole_turn = true,
				    .has = 1u << COUNT_OUTPUT,
				    .source = "end" };
	u.count[COUNT_OUTPUT] = 99;
	account_usage(&a, &u);
	check_record(&a, "{\"usage\":{\"inputTokens\":15,\"outputTokens\":99,\"totalTokens\":114},"
			 "\"sources\":{\"inputTokens\":\"sum\",\"outputTokens\":\"end\","
			 "\"totalTokens\":\"sum\"},\"modelCalls\":2,\"toolCalls\":{}}");
	account_done(&a);
}

static void test_acp_usage(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct account a = { 0 };
	struct harness_usage u = { .has = 1u << COUNT_INPUT, .source = "s" };
	struct jw w = JW(&b);

	account_usage(&a, &u);
	account_put_acp(&a, NULL, &w, "usage");
	assert_int_equal(buf_len(&b), 0); /* output is not known */
	u = calls(3, 4);
	account_usage(&a, &u);
	account_put_acp(&a, NULL, &w, "usage");
	assert_buf(&b, "\"usage\":{\"inputTokens\":3,\"outputTokens\":4,\"totalTokens\":7}");
	account_done(&a);
}

static void test_many_tools(void **state _unused_)
{
	struct account a = { 0 };
	uint64_t n = 0;
	char name[24];

	account_tool(&a, "other", true, 1);
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "tool-%d", i);
		account_tool(&a, name, i % 2, 1);
	}
	assert_true(a.ntools <= ACCOUNT_TOOLS_MAX);
	for (size_t i = 0; i < a.ntools; i++) {
		n += a.tools[i].ok + a.tools[i].failed;
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(a.tools[i].name, a.tools[k].name);
	}
	assert_true(n == 201);
	account_done(&a);
}

static void add_turn(struct totals *t, int64_t cost, const char *currency)
{
	struct account a = { 0 };
	struct harness_usage u = calls(2, 1);

	u.has_cost = cost >= 0;
	u.cost = cost;
	u.currency = currency;
	account_usage(&a, &u);
	totals_add(t, &a);
	account_done(&a);
}

static void check_cost(const struct totals *t, const char *want)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);
	struct jval v;

	totals_put(t, &w, NULL);
	assert_int_equal(jscan_value(buf_slice(&b), &v), JSCAN_OK);
	v = jobj_get(v.raw, "cost");
	assert_text(v.type == J_OBJECT ? jobj_get(v.raw, "amount").raw : SLICE("none"), want);
}

static void test_costs(void **state _unused_)
{
	struct totals t = { 0 };

	add_turn(&t, -1, NULL);
	check_cost(&t, "none");
	add_turn(&t, COST_UNIT / 10, NULL);
	add_turn(&t, COST_UNIT / 5, "USD");
	check_cost(&t, "0.3");
	add_turn(&t, COST_UNIT, "EUR");
	check_cost(&t, "none");
	add_turn(&t, COST_UNIT, "USD");
	check_cost(&t, "none");
	add_turn(&t, COST_UNIT, "EUR");
	check_cost(&t, "none");
	t = (struct totals){ 0 };
	for (int i = 0; i < 3; i++)
		add_turn(&t, INT64_MAX, "USD"); /* the sanitizer sees an overflow */
	assert_true(t.usage.cost == INT64_MAX);
}

static void test_budget_limits(void **state _unused_)
{
	static const struct {
		const char *raw;
		struct spending used;
		int want;
	} rows[] = {
		{ "{}", { { 9, 9, 9, 9, 9 } }, -1 },
		{ "{\"turn\":{\"steps\":2}}", { { 1 } }, -1 },
		{ "{\"turn\":{\"steps\":2}}", { { 2 } }, BUDGET_STEPS },
		{ "{\"turn\":{\"toolCalls\":2}}", { { 0, 2 } }, -1 },
		{ "{\"turn\":{\"toolCalls\":2}}", { { 0, 3 } }, BUDGET_TOOL_CALLS },
		{ "{\"turn\":{\"seconds\":2}}", { { 0, 0, 1999 } }, -1 },
		{ "{\"turn\":{\"seconds\":2}}", { { 0, 0, 2000 } }, BUDGET_SECONDS },
		{ "{\"turn\":{\"tokens\":5}}", { { 0, 0, 0, 5 } }, BUDGET_TOKENS },
		{ "{\"turn\":{\"cost\":1e-12}}", { { 0 } }, -1 },
		{ "{\"turn\":{\"cost\":1e-12}}", { { 0, 0, 0, 0, 1 } }, BUDGET_COST },
		{ "{\"session\":{\"steps\":1}}", { { 1 } }, -1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct budgets b;

		assert_int_equal(budgets_parse(slice_of(rows[i].raw), "b", &b, NULL), 0);
		if (budget_reached(&b.turn, BUDGETS_ALL, &rows[i].used) != rows[i].want)
			fail_row(i, rows[i].raw);
	}
}

static void test_budgets_round(void **state _unused_)
{
	const char *raw = "{\"turn\":{\"steps\":1,\"seconds\":3,\"cost\":0.000000000001},"
			  "\"session\":{\"toolCalls\":7,\"tokens\":100,\"cost\":2.5}}";
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);
	struct budgets budgets;

	assert_int_equal(budgets_parse(slice_of(raw), "b", &budgets, NULL), 0);
	budgets_put(&budgets, &w, NULL);
	assert_buf(&b, raw);
}

#define OPTION(values)                                                                             \
	"{\"id\":\"m\",\"category\":\"model\",\"type\":\"select\",\"options\":[" values "]}"
#define V(name) "{\"value\":\"" name "\",\"name\":\"N\"}"

static void test_find_value(void **state _unused_)
{
	static const struct {
		const char *option, *name, *want;
	} rows[] = {
		{ OPTION(V("a/m1") "," V("m1")), "m1", "m1" },
		{ OPTION(V("a/m1") "," V("b/m2")), "m1", "a/m1" },
		{ OPTION(V("a/m1") "," V("b/m1")), "m1", NULL }, /* which of them? */
		{ OPTION(V("a/m1") "," V("b/m1")), "b/m1", "b/m1" },
		{ OPTION(V("a/xm1")), "m1", NULL },
		{ OPTION(V("m1/a")), "m1", NULL },
		{ OPTION(V("a/b/c")), "b/c", "a/b/c" },
		{ OPTION("{\"group\":\"g\",\"name\":\"G\",\"options\":[" V("a/m1") "]}," V("x")),
		  "m1", "a/m1" },
		{ OPTION("7,null,{\"value\":7},{}"), "m1", NULL },
		{ OPTION(""), "m1", NULL },
		{ "{}", "m1", NULL },
		{ OPTION(V("M1")), "m1", NULL },
		{ OPTION(V("\\u006d1")), "m1", "m1" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(slice_freep) struct slice o = exact_copy(slice_of(rows[i].option));
		_cleanup_(freep) char *got = option_find_value(o, rows[i].name);

		if (!got != !rows[i].want || (got && strcmp(got, rows[i].want) != 0))
			fail_msg("row %zu: %s", i, got ? got : "none");
	}
}

static void test_derived_modes(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);
	struct slice config = SLICE(
		"[{\"id\":\"x\",\"category\":\"mode\",\"type\":\"boolean\",\"currentValue\":true},"
		"{\"id\":\"y\",\"category\":\"mode\",\"type\":\"select\",\"currentValue\":\"b\","
		"\"options\":[{\"value\":\"a\",\"name\":\"A\",\"description\":\"d\"},{\"value\":\"b\"}]}]");

	assert_false(options_put_modes(SLICE_NONE, &w));
	assert_false(options_put_modes(SLICE("[]"), &w));
	assert_true(options_put_modes(config, &w));
	assert_buf(&b, "{\"currentModeId\":\"b\",\"availableModes\":[{\"id\":\"a\",\"name\":\"A\","
		       "\"description\":\"d\"},{\"id\":\"b\",\"name\":\"b\"}]}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),	      cmocka_unit_test(test_acp_usage),
		cmocka_unit_test(test_many_tools),    cmocka_unit_test(test_costs),
		cmocka_unit_test(test_budget_limits), cmocka_unit_test(test_budgets_round),
		cmocka_unit_test(test_find_value),    cmocka_unit_test(test_derived_modes),
	};

	return RUN(tests, NULL, NULL);
}
