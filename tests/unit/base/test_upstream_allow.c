/* --upstream-allow. */
#include "unit.h"

#include "base/net/address_rules.h"

static void test_check(void **state _unused_)
{
	static const char *const good[] = { "a",	  "a:1",       "a.example,10.0.0.1:80",
					    "[::1]:8080", "[fd00::1]", "a , b:65535" };
	static const char *const bad[] = { "",	       "a,",  "a:", "a:0",  "a:65536", "a:x",
					   "http://a", "a/b", ":1", "[::1", "a b",     "::1" };
	struct err e;

	assert_int_equal(upstream_allow_check(NULL, &e), 0);
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		if (upstream_allow_check(good[i], &e) < 0)
			fail_row(i, good[i]);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (upstream_allow_check(bad[i], &e) == 0 || strcmp(e.field, "upstream-allow") != 0)
			fail_row(i, bad[i]);
}

static void test_has(void **state _unused_)
{
	static const struct {
		const char *list, *host;
		int port;
		bool has;
	} rows[] = {
		{ NULL, "a", 1, false },
		{ "a", "a", 1, true },
		{ "a", "A.", 65535, true },
		{ "a:1", "a", 1, true },
		{ "a:1", "a", 2, false },
		{ "a:1, b:2", "b", 2, true },
		{ "a", "ba", 1, false },
		{ "a", "a.b", 1, false },
		{ "*", "a", 1, false },
		{ "[::1]:5", "::1", 5, true },
		{ "[::1]", "::1", 7, true },
		{ "10.0.0.1", "10.0.0.1", 80, true },
		{ "10.0.0.1", "10.0.0.11", 80, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (upstream_allow_has(rows[i].list, slice_of(rows[i].host), rows[i].port) !=
		    rows[i].has)
			fail_row(i, rows[i].host);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_check),
					    cmocka_unit_test(test_has) };

	return RUN(tests, NULL, NULL);
}
