/* Slices: cutting at a byte, lists of items, and what is trimmed. */
#include "base/slice.h"
#include "unit.h"

static void cuts_at_the_first(void **state)
{
	struct slice s = SLICE("a=b=c"), name = SLICE("?");

	(void)state;
	assert_true(slice_cut(&s, '=', &name));
	assert_true(slice_is(name, "a") && slice_is(s, "b=c"));
	assert_false(slice_cut(&s, ';', &name));
	assert_true(slice_is(name, "a") && slice_is(s, "b=c"));
	s = SLICE_NONE;
	assert_false(slice_cut(&s, '=', &name));
}

static void lists_every_item(void **state)
{
	static const struct {
		const char *list;
		size_t n;
	} rows[] = { { NULL, 0 }, { "", 1 }, { "a", 1 }, { "a,b", 2 }, { "a,", 2 }, { ",", 2 } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct slice list = slice_of(rows[i].list), item;
		size_t n = 0;

		while (slice_item(&list, ',', &item))
			n++;
		assert_int_equal(n, rows[i].n);
		assert_null(list.p);
	}
}

static void trims_both_ends(void **state)
{
	(void)state;
	assert_true(slice_is(slice_trim(SLICE(" \ta b\t "), " \t"), "a b"));
	assert_true(slice_is(slice_trim(SLICE("\ta"), " "), "\ta"));
	assert_int_equal(slice_trim(SLICE("  "), " ").n, 0);
	/* a NUL is no blank */
	assert_int_equal(slice_trim((struct slice){ "\0a", 2 }, " \t").n, 2);
	assert_int_equal(slice_trim(SLICE_NONE, " ").n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cuts_at_the_first),
		cmocka_unit_test(lists_every_item),
		cmocka_unit_test(trims_both_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
