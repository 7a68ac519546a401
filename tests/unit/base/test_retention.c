#include "base/format/retention.h"
#include "base/util.h"
#include "unit.h"

#include <errno.h>

static void what_is_kept_is_said_by_age_and_size(void **state)
{
	static const struct {
		const char *text;
		int64_t age, bytes;
		const char *told; /* NULL: as it came */
	} rows[] = {
		{ "", 0, 0, NULL },
		{ "7d", 7 * 86400, 0, "1w" },
		{ "8d", 8 * 86400, 0, NULL },
		{ "12h", 12 * 3600, 0, NULL },
		{ "90m", 90 * 60, 0, NULL },
		{ "30s", 30, 0, NULL },
		{ "30", 30, 0, "30s" },
		{ "2w,2g", 14 * 86400, INT64_C(2) << 30, NULL },
		{ ",500m", 0, INT64_C(500) << 20, NULL },
		{ ",1t", 0, INT64_C(1) << 40, NULL },
		{ "1d,4096", 86400, 4096, "1d,4k" },
		{ ",4097", 0, 4097, NULL },
		{ "1d,", 86400, 0, "1d" },
		{ ",", 0, 0, "" },
		{ "3660000d,4194304t", INT64_C(10000) * 366 * 86400, INT64_C(1) << 62, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct retention k = { -1, -1 }, again = { -1, -1 };
		char out[RETENTION_TEXT_MAX];

		assert_int_equal(retention_parse(rows[i].text, &k), 0);
		assert_int_equal(k.age_secs, rows[i].age);
		assert_int_equal(k.bytes, rows[i].bytes);
		assert_string_equal(retention_text(&k, out),
				    rows[i].told ? rows[i].told : rows[i].text);
		assert_int_equal(retention_parse(out, &again), 0);
		assert_memory_equal(&k, &again, sizeof(k));
		assert_int_equal(retention_bounded(&k), rows[i].age || rows[i].bytes);
	}
}

static void anything_else_is_refused_and_changes_nothing(void **state)
{
	static const char *const texts[] = {
		"0",
		"0d",
		"d",
		"-1d",
		"+1d",
		" 1d",
		"1d ",
		"1D",
		"1y",
		"1dd",
		"1d2h",
		"1.5h",
		"7d,2g,1",
		"7d 2g",
		",0",
		",-1g",
		",2d",
		"2g",
		",g",
		"3660001d",
		"99999999999999999999",
		",4194305t",
		",9223372036854775807k",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct retention k = { 1, 2 };

		if (retention_parse(texts[i], &k) != -EINVAL)
			fail_msg("taken: %s", texts[i]);
		assert_int_equal(k.age_secs, 1);
		assert_int_equal(k.bytes, 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_kept_is_said_by_age_and_size),
		cmocka_unit_test(anything_else_is_refused_and_changes_nothing),
	};

	return RUN(tests, NULL, NULL);
}
