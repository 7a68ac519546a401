/* Arrays of strings: copies are deep, NULL is an empty one, and a variable is found by its whole name. */
#include "base/strv.h"
#include "base/util.h"
#include "unit.h"

static void null_is_an_empty_one(void **state)
{
	char **copy = strv_copy(NULL);

	(void)state;
	assert_int_equal(strv_len(NULL), 0);
	assert_non_null(copy);
	assert_null(copy[0]);
	assert_null(strv_env(NULL, "A"));
	assert_null(strv_free(NULL));
	strv_free(copy);
}

static void strings_are_added_and_copied(void **state)
{
	char **v = NULL, **copy;

	(void)state;
	strv_add(&v, xstrdup("one"));
	strv_add(&v, xstrdup("two"));
	assert_int_equal(strv_len(v), 2);
	copy = strv_copy(v);
	v[0][0] = 'x';
	assert_string_equal(copy[0], "one");
	assert_string_equal(copy[1], "two");
	assert_null(copy[2]);
	strv_free(v);
	strv_free(copy);
}

static void a_variable_has_its_whole_name(void **state)
{
	char *env[] = { "PATHS=1", "PATH=2", "EMPTY=", NULL };

	(void)state;
	assert_string_equal(strv_env(env, "PATH"), "2");
	assert_string_equal(strv_env(env, "EMPTY"), "");
	assert_null(strv_env(env, "PAT"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(null_is_an_empty_one),
		cmocka_unit_test(strings_are_added_and_copied),
		cmocka_unit_test(a_variable_has_its_whole_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
