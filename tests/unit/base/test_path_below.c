/* Whether a path lies in a tree, by text alone. */
#include "base/os/file.h"
#include "base/util.h"
#include "unit.h"

static void a_path_is_below_or_elsewhere(void **state)
{
	static const struct {
		const char *path, *dir, *rest;
	} rows[] = {
		{ "/a/b", "/a", "b" },	     { "/a/b/c", "/a", "b/c" }, { "/a", "/a", "" },
		{ "/a/", "/a", "" },	     { "/ab", "/a", NULL },	{ "/", "/a", NULL },
		{ "/a", "/a/b", NULL },	     { "/a/b", "/", "a/b" },	{ "/", "/", "" },
		{ "/a", "", "a" },	     { "a/b", "", "a/b" },	{ "a/b", "a", "b" },
		{ "a.b", "a", NULL },	     { "", "a", NULL },		{ "", "", "" },
		{ "/a/../b", "/a", "../b" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *rest = path_below(rows[i].path, rows[i].dir);

		if (rows[i].rest)
			assert_string_equal(rest, rows[i].rest);
		else
			assert_null(rest);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_is_below_or_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
