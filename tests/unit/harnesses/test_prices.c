/* What a model call costs: prices as they are given, amounts as they are reported, to the last digit. */
#include "harnesses/provider.h"
#include "unit.h"

static const struct {
	const char *text;
	bool ok;
	int64_t want;
} amounts[] = {
	{ "0", true, 0 },
	{ "-0", true, 0 },
	{ "-1e-12", false, 0 },
	{ "6e-13", true, 1 },
	{ "4e-13", true, 0 },
	{ "1", true, COST_UNIT },
	{ "0.0123", true, 12300000000 },
	{ "0.000000000001", true, 1 },
	{ "0.0000000000005", true, 1 },
	{ "0.00000000000049", true, 0 },
	{ "1.4e-4", true, 140000000 },
	{ "1.4E+2", true, 140 * COST_UNIT },
	{ "0.1", true, 100000000000 },
	{ "0.29", true, 290000000000 },
	{ "1234567.123456789012", true, 1234567123456789012 },
	{ "0.123456789012345678901234567890123456789012345", true, 123456789012 },
	{ "1e-999999999999", true, 0 },
	{ "0e999999", true, 0 },
	{ "9000000", true, 9000000 * COST_UNIT },
	{ "9000001", false, 0 },
	{ "1e30", false, 0 },
	{ "-1", false, 0 },
	{ "", false, 0 },
	{ ".5", false, 0 },
	{ "1.", false, 0 },
	{ "1e", false, 0 },
	{ "1 ", false, 0 },
	{ "0x10", false, 0 },
	{ "nan", false, 0 },
};

static void amounts_are_exact(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(amounts); i++) {
		struct slice text = exact_copy(slice_of(amounts[i].text));
		int64_t got = 0;
		bool ok = harness_cost_parse(text, &got);

		if (ok != amounts[i].ok || got != amounts[i].want)
			fail_row(i, amounts[i].text);
		slice_freep(&text);
	}
}

static const struct {
	const char *raw, *field, *reason; /* NULL: it is good */
} given[] = {
	{ "", NULL, NULL },
	{ "{}", NULL, NULL },
	{ "{\"m\":{}}", NULL, NULL },
	{ "{\"m\":{\"input\":3,\"output\":0.5,\"cacheRead\":0,\"cacheWrite5m\":1e-2,"
	  "\"cacheWrite1h\":6}}",
	  NULL, NULL },
	{ "{\"m\":3}", "p.m", "FIELD_INVALID" },
	{ "{\"m\":{\"input\":\"3\"}}", "p.m.input", "FIELD_INVALID" },
	{ "{\"m\":{\"input\":-3}}", "p.m.input", "FIELD_INVALID" },
	{ "{\"m\":{\"output\":null}}", "p.m.output", "FIELD_INVALID" },
	{ "{\"m\":{\"input\":1},\"n\":{\"cacheWrite\":1}}", "p.n.cacheWrite", "PARAM_UNSUPPORTED" },
};

static void what_is_no_price_is_refused_by_its_name(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(given); i++) {
		struct err e = { 0 };
		int r = prices_check(slice_of(given[i].raw), "p.", &e);

		if ((r < 0) != (given[i].field != NULL))
			fail_row(i, given[i].raw);
		if (r < 0 && (strcmp(e.field, given[i].field) != 0 ||
			      strcmp(e.reason, given[i].reason) != 0))
			fail_msg("row %zu: %s %s", i, e.field, e.reason);
	}
}

#define PRICES                                                                                     \
	"{\"m\":{\"input\":3,\"output\":15,\"cacheRead\":0.3,\"cacheWrite5m\":3.75,"               \
	"\"cacheWrite1h\":6},\"plain\":{\"input\":0.0000015,\"output\":1}}"
#define ABSENT UINT64_MAX

static const struct {
	const char *model;
	uint64_t input, output, read, write, hour;
	bool known;
	int64_t want;
} calls[] = {
	{ "m", 1000000, 0, ABSENT, ABSENT, ABSENT, true, 3 * COST_UNIT },
	{ "m", 1200, 340, 900, 100, 40, true, 6435000000 },
	{ "m", 1200, 340, 900, 100, ABSENT, true, 6345000000 },
	{ "m", 0, 0, 0, 0, 0, true, 0 },
	{ "plain", 1, 0, 0, ABSENT, ABSENT, true, 2 }, /* 1.5, rounded once */
	{ "plain", 2, 0, 0, 0, ABSENT, true, 3 },
	{ "plain", 2, 0, 1, ABSENT, ABSENT, false, 0 }, /* what was read has no price */
	{ "m", 10, ABSENT, ABSENT, ABSENT, ABSENT, false, 0 },
	{ "m", ABSENT, 10, ABSENT, ABSENT, ABSENT, false, 0 },
	{ "m", 10, 0, 11, ABSENT, ABSENT, false, 0 }, /* more than there was */
	{ "m", 1ull << 53, 1ull << 53, 0, 0, 0, true, INT64_MAX },
	{ "n", 10, 10, ABSENT, ABSENT, ABSENT, false, 0 },
	{ NULL, 10, 10, ABSENT, ABSENT, ABSENT, false, 0 },
};

static void set(struct harness_usage *u, enum harness_count what, uint64_t n)
{
	if (n == ABSENT)
		return;
	u->has |= 1u << what;
	u->count[what] = n;
}

static void a_call_costs_what_its_tokens_cost(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		struct harness_usage u = { 0 };
		int64_t got = 0;
		bool known;

		set(&u, COUNT_INPUT, calls[i].input);
		set(&u, COUNT_OUTPUT, calls[i].output);
		set(&u, COUNT_CACHE_READ, calls[i].read);
		set(&u, COUNT_CACHE_WRITE, calls[i].write);
		set(&u, COUNT_CACHE_WRITE_1H, calls[i].hour);
		known = prices_cost(SLICE(PRICES), calls[i].model, &u, &got);
		if (known != calls[i].known || got != calls[i].want)
			fail_msg("row %zu: %d %lld", i, known, (long long)got);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(amounts_are_exact),
		cmocka_unit_test(what_is_no_price_is_refused_by_its_name),
		cmocka_unit_test(a_call_costs_what_its_tokens_cost),
	};

	return RUN(tests, NULL, NULL);
}
