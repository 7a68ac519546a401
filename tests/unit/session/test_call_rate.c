/* At most so many in any minute, and the true time until the next. */
#include "unit.h"

#include "session/parts/model/call_rate.h"

static void test_minute(void **state _unused_)
{
	struct call_rate r = { 0 };

	for (uint64_t at = 1000; at <= 3000; at += 1000)
		assert_int_equal(call_rate_take(&r, 3, at), 0);
	assert_int_equal(call_rate_take(&r, 3, 3000), 58000);
	assert_int_equal(call_rate_take(&r, 3, 60999), 1);
	assert_int_equal(call_rate_take(&r, 3, 61000), 0);
	/* what was refused did not count */
	assert_int_equal(call_rate_take(&r, 3, 61000), 1000);
	assert_int_equal(call_rate_take(&r, 3, 62000), 0);
	assert_int_equal(call_rate_take(&r, 3, 900000), 0);
	call_rate_done(&r);
}

/* Whenever one is let through, there were fewer than max in the minute before; and after the time it names it is. */
static void test_any_minute(void **state _unused_)
{
	enum { MAX = 7, CALLS = 400 };
	uint64_t now = 1, taken[CALLS];
	struct call_rate r = { 0 };
	unsigned n = 0;

	for (unsigned i = 0; i < CALLS; i++) {
		uint64_t wait = call_rate_take(&r, MAX, now);

		if (wait) {
			assert_int_equal(call_rate_take(&r, MAX, now + wait - 1), 1);
			now += wait;
			assert_int_equal(call_rate_take(&r, MAX, now), 0);
		}
		if (n >= MAX)
			assert_true(taken[n - MAX] + 60000 <= now);
		taken[n++] = now;
		now += i * 7919 % 9000;
	}
	call_rate_done(&r);
}

/* A change of the number forgets nothing that still counts. */
static void test_changed(void **state _unused_)
{
	struct call_rate r = { 0 };

	for (uint64_t at = 1; at <= 4; at++)
		assert_int_equal(call_rate_take(&r, 4, at), 0);
	assert_int_equal(call_rate_take(&r, 2, 10), 60003 - 10);
	assert_int_equal(call_rate_take(&r, 3, 10), 0);
	assert_int_equal(call_rate_take(&r, 3, 10), 60003 - 10);
	assert_int_equal(call_rate_take(&r, 1, 10), 60010 - 10);
	call_rate_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_minute),
		cmocka_unit_test(test_any_minute),
		cmocka_unit_test(test_changed),
	};

	return RUN(tests, NULL, NULL);
}
