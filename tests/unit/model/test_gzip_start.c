/* Whether a body begins as gzip does, however it is cut into pieces. */
#include "base/util.h"
#include "model/gzip_start.h"
#include "unit.h"

static const struct {
	const char *body;
	size_t n;
	enum gzip_start_state want;
} rows[] = {
	{ "\x1f\x8b\x08\x00", 4, GZIP_START_YES },
	{ "\x1f\x8b", 2, GZIP_START_YES },
	{ "\x1f", 1, GZIP_START_OPEN },
	{ "", 0, GZIP_START_OPEN },
	{ "\x1fx", 2, GZIP_START_NO },
	{ "{}", 2, GZIP_START_NO },
	{ "x\x1f\x8b", 3, GZIP_START_NO },
	{ "\x1f\x1f\x8b", 3, GZIP_START_NO },
	{ "\x8b\x1f", 2, GZIP_START_NO },
};

static void the_first_two_bytes_tell_in_pieces_of_any_size(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (size_t step = 1; step <= 4; step++) {
			struct gzip_start g = { 0 };

			for (size_t at = 0; at < rows[i].n; at += step) {
				gzip_start_take(&g, SLICE_NONE);
				gzip_start_take(&g, (struct slice){ rows[i].body + at,
								    MIN(step, rows[i].n - at) });
			}
			if (g.state != rows[i].want)
				fail_row(i, rows[i].body);
		}
}

static void bytes_that_do_not_tell_yet_are_remembered(void **state _unused_)
{
	struct gzip_start g = { 0 };

	assert_int_equal(gzip_start_take(&g, SLICE("\x1f")), GZIP_START_OPEN);
	assert_true(slice_is(g.seen, "\x1f"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_two_bytes_tell_in_pieces_of_any_size),
		cmocka_unit_test(bytes_that_do_not_tell_yet_are_remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
