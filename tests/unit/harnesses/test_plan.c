/* The plan of a child: arguments in order, one value for each variable. */
#include "unit.h"

#include "harnesses/spawn_plan.h"

static void test_args(void **state _unused_)
{
	struct harness_plan p = { 0 };
	char text[16];

	for (int i = 0; i < 50; i++) {
		snprintf(text, sizeof(text), "a%d", i);
		harness_plan_arg(&p, text);
		assert_int_equal(p.nargs, i + 1);
		assert_null(p.argv[p.nargs]);
	}
	assert_string_equal(p.argv[0], "a0");
	assert_string_equal(p.argv[49], "a49");
	harness_plan_done(&p);
	assert_null(p.argv);
	harness_plan_done(&p);
}

static void test_env(void **state _unused_)
{
	struct harness_plan p = { 0 };
	char **list;

	harness_plan_env(&p, "A", "1");
	harness_plan_env(&p, "B", "x=y");
	harness_plan_env(&p, "A", "2");
	harness_plan_env(&p, "AA", "");
	assert_int_equal(p.nenv, 3);
	assert_string_equal(harness_plan_getenv(&p, "A"), "2");
	assert_string_equal(harness_plan_getenv(&p, "AA"), "");
	assert_null(harness_plan_getenv(&p, "AAA"));
	list = harness_plan_environ(&p);
	assert_string_equal(list[0], "A=2");
	assert_string_equal(list[1], "B=x=y");
	assert_string_equal(list[2], "AA=");
	assert_null(list[3]);
	harness_plan_free_environ(list);
	harness_plan_free_environ(NULL);
	harness_plan_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_args),
		cmocka_unit_test(test_env),
	};

	return RUN(tests, NULL, NULL);
}
