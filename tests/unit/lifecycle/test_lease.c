/* Until when the platform should hold. */
#include "lifecycle/lifecycle.h"

#include "unit.h"

#define SECS(n) ((n)*1000ul)

static void ahead_while_there_is_work(void **state _unused_)
{
	struct lease_facts f = { .now = SECS(1000), .busy = true };

	assert_int_equal(lease_until(&f), SECS(1000 + LEASE_HORIZON_SECS));
	f.now = SECS(5000);
	assert_int_equal(lease_until(&f), SECS(5000 + LEASE_HORIZON_SECS));
}

static void a_grace_after_the_last_work(void **state _unused_)
{
	struct lease_facts f = { .now = SECS(1000), .idle_since = SECS(990) };

	assert_int_equal(lease_until(&f), SECS(990 + LEASE_GRACE_SECS));
	f.now = SECS(9000); /* it does not move, and passes */
	assert_int_equal(lease_until(&f), SECS(990 + LEASE_GRACE_SECS));
}

static void draining_ends_it(void **state _unused_)
{
	struct lease_facts f = { .now = SECS(1000), .busy = true, .drain_due = SECS(1030) };

	assert_int_equal(lease_until(&f), SECS(1030 + LEASE_EXIT_SECS));
	f.busy = false; /* there is nothing to wait for */
	assert_int_equal(lease_until(&f), SECS(1000 + LEASE_EXIT_SECS));
}

static void never_beyond_the_life(void **state _unused_)
{
	struct lease_facts f = { .now = SECS(1000), .busy = true, .life_due = SECS(1100) };

	assert_int_equal(lease_until(&f), SECS(1100 + LEASE_EXIT_SECS));
	f.life_due = SECS(100000);
	assert_int_equal(lease_until(&f), SECS(1000 + LEASE_HORIZON_SECS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ahead_while_there_is_work),
		cmocka_unit_test(a_grace_after_the_last_work),
		cmocka_unit_test(draining_ends_it),
		cmocka_unit_test(never_beyond_the_life),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
