/* The first line of a draft's base: what is written is read again, what an older daemon wrote as well, and nothing else. */
#include "unit.h"

#include "base/util.h"
#include "tree/draft_head.h"

static void test_written(void **state _unused_)
{
	const struct draft_head rows[] = { { 1, 0 },
					   { 2, 17 },
					   { UINT64_MAX - 1, UINT64_MAX - 1 } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf b = { 0 };
		struct draft_head h;
		struct slice text;

		draft_head_put(&b, &rows[i]);
		assert_true(b.len <= DRAFT_HEAD_BYTES);
		buf_add(&b, "rest", 4);
		text = buf_slice(&b);
		assert_true(draft_head_take(&text, &h));
		assert_true(h.generation == rows[i].generation && h.applied == rows[i].applied);
		assert_true(slice_is(text, "rest"));
	}
}

static void test_older(void **state _unused_)
{
	struct slice text = SLICE("acpd-draft 1 7\n");
	struct draft_head h;

	assert_true(draft_head_take(&text, &h));
	assert_true(h.generation == 7 && h.applied == 0 && text.n == 0);
}

static void test_refused(void **state _unused_)
{
	static const char *const rows[] = { "",
					    "acpd-draft 1 ",
					    "acpd-draft 1 7",
					    "acpd-draft 1 \n",
					    "acpd-draft 1 7 \n",
					    "acpd-draft 1 7 8",
					    "acpd-draft 1 7 8 9\n",
					    "acpd-draft 1 -7 8\n",
					    "acpd-draft 2 7 8\n",
					    "acpd-draft 1 18446744073709551615 8\n",
					    "acpd-draft 1 7 99999999999999999999\n" };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct slice text = slice_of(rows[i]);
		struct draft_head h;

		if (draft_head_take(&text, &h))
			fail_msg("taken: %s", rows[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_written),
		cmocka_unit_test(test_older),
		cmocka_unit_test(test_refused),
	};

	return RUN(tests, NULL, NULL);
}
