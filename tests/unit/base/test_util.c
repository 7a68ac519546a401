/* What base/util.h adds to system calls and strings. */
#include "unit.h"

#include "base/util.h"

static int failures;

static int fails_at_first(int result)
{
	errno = EINTR;
	return failures-- > 0 ? -1 : result;
}

static int refused(void)
{
	failures++;
	errno = EACCES;
	return -1;
}

static void test_retry(void **state _unused_)
{
	failures = 3;
	assert_int_equal(RETRY(fails_at_first(7)), 7);
	failures = 0;
	assert_int_equal(RETRY(refused()), -1);
	assert_int_equal(failures, 1);
}

static void test_xprintf(void **state _unused_)
{
	_cleanup_(freep) char *text = xprintf("%s/%d", "a", 7);

	assert_string_equal(text, "a/7");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_retry),
		cmocka_unit_test(test_xprintf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
