/* Decimal numbers and hexadecimal digits: what is one, where it ends, and its bounds. */
#include "base/buf.h"
#include "base/format/digits.h"
#include "base/util.h"
#include "unit.h"

static void a_whole_text_is_a_number_or_it_is_not(void **state)
{
	static const struct {
		const char *text;
		bool ok;
		uint64_t value;
	} rows[] = {
		{ "0", true, 0 },
		{ "00007", true, 7 },
		{ "18446744073709551615", true, UINT64_MAX },
		{ "0000000000000000000000018446744073709551615", true, UINT64_MAX },
		{ "18446744073709551616", false, 0 },
		{ "99999999999999999999", false, 0 },
		{ "184467440737095516150", false, 0 },
		{ "", false, 0 },
		{ "-1", false, 0 },
		{ "+1", false, 0 },
		{ " 1", false, 0 },
		{ "1 ", false, 0 },
		{ "0x1", false, 0 },
		{ "1.0", false, 0 },
		{ "1:", false, 0 },
		{ "/", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t v = 42;

		assert_int_equal(u64_parse(slice_of(rows[i].text), &v), rows[i].ok);
		assert_true(v == (rows[i].ok ? rows[i].value : 42));
	}
	uint64_t v = 42;

	assert_false(u64_parse(SLICE_NONE, &v));
	assert_true(v == 42);
}

static void digits_are_taken_off_the_front(void **state)
{
	static const struct {
		const char *text;
		size_t max, n;
		uint64_t value;
		const char *rest;
	} rows[] = {
		{ "12,3", 10, 2, 12, ",3" },
		{ "12", 10, 2, 12, "" },
		{ "1234", 3, 3, 123, "4" },
		{ "00000000001", 10, 10, 0, "1" },
		{ "x", 10, 0, 0, "x" },
		{ "1", 0, 0, 0, "1" },
		{ "18446744073709551615x", 99, 20, UINT64_MAX, "x" },
		{ "18446744073709551616x", 99, 20, UINT64_MAX, "x" },
		{ "9999999999999999999999990", 99, 25, UINT64_MAX, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct slice s = slice_of(rows[i].text);
		uint64_t v = 42;

		assert_int_equal(u64_take(&s, rows[i].max, &v), rows[i].n);
		assert_true(v == rows[i].value);
		assert_true(slice_is(s, rows[i].rest));
	}
	struct slice none = SLICE_NONE;
	uint64_t v = 42;

	assert_int_equal(u64_take(&none, 9, &v), 0);
	assert_true(v == 0);
}

static void hex_digits_are_those_and_no_more(void **state)
{
	static const char digits[] = "0123456789abcdef";

	(void)state;
	for (int c = -128; c < 128; c++) {
		int lower = c >= 'A' && c <= 'Z' ? c + 32 : c;
		const char *at = lower > 0 ? strchr(digits, lower) : NULL;

		assert_int_equal(hex_digit((char)c), at ? (int)(at - digits) : -1);
	}
}

static void a_number_is_written_as_it_is_read(void **state)
{
	static const uint64_t rows[] = {
		0, 7, 10, 99, 100, UINT32_MAX, UINT64_MAX / 10, UINT64_MAX
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf b = { 0 };
		uint64_t back = 1;

		u64_put(&b, rows[i]);
		assert_true(u64_parse(buf_slice(&b), &back));
		assert_int_equal(back, rows[i]);
		assert_true(buf_len(&b) == 1 || *b.data != '0');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_text_is_a_number_or_it_is_not),
		cmocka_unit_test(digits_are_taken_off_the_front),
		cmocka_unit_test(hex_digits_are_those_and_no_more),
		cmocka_unit_test(a_number_is_written_as_it_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
