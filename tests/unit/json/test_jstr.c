/* JSON strings to bytes and back: escapes, surrogates, lengths, and the whole BMP round. */
#include "unit.h"

#include "json/jstr.h"

/* Into memory of its own, and into that of the caller: with the same outcome. */
static int decode(const char *text, size_t max, char **ret)
{
	_cleanup_(slice_freep) struct slice copy = exact_copy(slice_of(text));
	_cleanup_(freep) char *room = xalloc(max + 1);
	struct jval v;
	int r;

	assert_int_equal(jscan_value(copy, &v), JSCAN_OK);
	r = jstr_decode(v, max, ret);
	assert_int_equal(jstr_copy(v, room, max + 1), r);
	if (r == 0)
		assert_string_equal(room, *ret);
	return r;
}

static void test_decoded(void **state _unused_)
{
	static const struct {
		const char *text, *bytes;
	} rows[] = {
		{ "\"\"", "" },
		{ "\"plain\"", "plain" },
		{ "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t" },
		{ "\"\\u0041\\u00e9\\u20AC\\uffff\"", "A\xc3\xa9\xe2\x82\xac\xef\xbf\xbf" },
		{ "\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80" },
		{ "\"\\uD800\\uDC00\\uDBFF\\uDFFF\"", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf" },
		{ "\"\\u0001\\u001f\\u007f\\u0080\"", "\x01\x1f\x7f\xc2\x80" },
		{ "\"\xc3\xa9\xf0\x9f\x98\x80\"", "\xc3\xa9\xf0\x9f\x98\x80" },
		{ "\"a\\u0062c\\\\u0064\"", "abc\\u0064" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(freep) char *s = NULL;

		assert_int_equal(decode(rows[i].text, 100, &s), 0);
		assert_string_equal(s, rows[i].bytes);
	}
}

static void test_refused(void **state _unused_)
{
	static const char *const rows[] = {
		"\"\\u0000\"",
		"\"a\\u0000b\"",
		"\"\\ud800\"",
		"\"\\udfff\"",
		"\"\\udc00x\"",
		"\"\\ud800x\"",
		"\"\\ud800\\n\"",
		"\"\\ud800\\u0041\"",
		"\"\\ud83d\\ud83d\"",
		"\"\\ude00\\ud83d\"",
		"\"\\ud83d\\ude00\\ude00\"",
		"\"\\uDBFF\\uE000\"",
		"\"\\ud800\\\\dc00\"",
		"\"\\ud800\\udbff\"",
		"1",
		"null",
		"[\"a\"]",
		"{}",
		"true",
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *s = NULL;

		if (decode(rows[i], 100, &s) != -EINVAL)
			fail_row(i, rows[i]);
		assert_null(s);
	}
}

/* Text, what becomes of it, and at how many places. */
static const struct {
	const char *text, *repaired;
	size_t places;
} repairs[] = {
	{ "\"plain\"", "\"plain\"", 0 },
	{ "\"\\ud83d\"", "\"\\ufffd\"", 1 },
	{ "\"x \\uD83D end\"", "\"x \\ufffd end\"", 1 },
	{ "\"\\uDE00\"", "\"\\ufffd\"", 1 },
	{ "\"\\ud83d\\ude00\"", "\"\\ud83d\\ude00\"", 0 },
	{ "\"\\uDBFF\\uDFFF\\ud800\\udc00\"", "\"\\uDBFF\\uDFFF\\ud800\\udc00\"", 0 },
	{ "\"\\ud83d\\ud83d\\ude00\"", "\"\\ufffd\\ud83d\\ude00\"", 1 },
	{ "\"\\ud83d\\ude00\\ude00\"", "\"\\ud83d\\ude00\\ufffd\"", 1 },
	{ "\"\\ude00\\ud83d\"", "\"\\ufffd\\ufffd\"", 2 },
	{ "\"\\ud83d\\u0041\\ud83d\\n\"", "\"\\ufffd\\u0041\\ufffd\\n\"", 2 },
	{ "\"\\ud7ff\\ue000\\u0000\\uffff\"", "\"\\ud7ff\\ue000\\u0000\\uffff\"", 0 },
	{ "\"\\\\ud83d \\\\\\ud83d\"", "\"\\\\ud83d \\\\\\ufffd\"", 1 },
	{ "{\"\\ud83d\":[\"\\udfff\"]}", "{\"\\ufffd\":[\"\\ufffd\"]}", 2 },
	{ "\"\\ud83d", "\"\\ufffd", 1 },
	{ "\"\\ud83", "\"\\ud83", 0 },
	{ "\\", "\\", 0 },
	{ "", "", 0 },
	{ "\"a\xff\xc3\xa9\"", "\"a\xef\xbf\xbd\xc3\xa9\"", 1 },
	{ "\"\xed\xa0\xbd\"", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"", 3 },
	{ "\"\xf0\x9f\x98", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", 3 },
	{ "\"\xc3\\ud83d\"", "\"\xef\xbf\xbd\\ufffd\"", 2 },
};

static void test_repaired(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(repairs); i++) {
		_cleanup_(slice_freep) struct slice text = exact_copy(slice_of(repairs[i].text));
		_cleanup_(buf_done) struct buf b = { 0 };
		size_t places = jstr_repair(text, &b);

		if (places != repairs[i].places || !slice_is(buf_slice(&b), repairs[i].repaired))
			fail_row(i, repairs[i].text);
		/* in place, where the bytes are UTF-8 */
		if (b.len != text.n)
			continue;
		assert_int_equal(jstr_repair_halves((char *)(uintptr_t)text.p, text.n), places);
		assert_true(slice_eq(text, buf_slice(&b)));
	}
}

static const struct {
	const char *text;
	size_t max;
	const char *shown; /* NULL: not a string */
} shown[] = {
	{ "\"plain\"", 5, "plain" },
	{ "\"\"", 0, "" },
	{ "\"plain\"", 4, "plai" },
	{ "\"a\\u0000b\\n\"", 9,
	  "a\xef\xbf\xbd"
	  "b\n" },
	{ "\"\\u0000\"", 2, "" },
	{ "\"\\ud83d \\ud83d\\ude00\"", 99, "\xef\xbf\xbd \xf0\x9f\x98\x80" },
	{ "\"\\ud83d\\ude00\"", 3, "" },
	{ "\"a\xff\xc3\xa9\"", 99, "a\xef\xbf\xbd\xc3\xa9" },
	{ "7", 9, NULL },
};

static void test_shown(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(shown); i++) {
		_cleanup_(slice_freep) struct slice text = exact_copy(slice_of(shown[i].text));
		struct jval v = { *text.p == '"' ? J_STRING : J_NUMBER, text };
		_cleanup_(freep) char *got = NULL;
		int r = jstr_decode_shown(v, shown[i].max, &got);

		if (r != (shown[i].shown ? 0 : -EINVAL) || (got && strcmp(got, shown[i].shown)))
			fail_row(i, shown[i].text);
	}
}

/* What the scanner says of an object that holds the text. */
static void test_repair_flag(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(repairs); i++) {
		_cleanup_(buf_done) struct buf b = { 0 };
		struct jslot slot = { .key = "k" };
		enum jscan_error e;
		bool repair;

		buf_printf(&b, "{\"k\":%s}", repairs[i].text);
		e = jscan_message(buf_slice(&b), &slot, 1, &repair);
		if ((e == JSCAN_OK || e == JSCAN_E_UTF8) && repair != (repairs[i].places > 0))
			fail_row(i, repairs[i].text);
	}
}

static void test_length(void **state _unused_)
{
	_cleanup_(freep) char *ok = NULL, *empty = NULL;
	char *s = NULL;

	assert_int_equal(decode("\"\\u00e9\\u00e9\"", 4, &ok), 0);
	assert_int_equal(decode("\"\\u00e9\\u00e9\"", 3, &s), -ENAMETOOLONG);
	assert_null(s);
	assert_int_equal(decode("\"\"", 0, &empty), 0);
	assert_string_equal(empty, "");
	assert_int_equal(decode("\"a\"", 0, &s), -ENAMETOOLONG);
}

static size_t put_cp(unsigned cp, char *o)
{
	if (cp < 0x80) {
		o[0] = (char)cp;
		return 1;
	}
	if (cp < 0x800) {
		o[0] = (char)(0xc0 | cp >> 6);
		o[1] = (char)(0x80 | (cp & 0x3f));
		return 2;
	}
	if (cp < 0x10000) {
		o[0] = (char)(0xe0 | cp >> 12);
		o[1] = (char)(0x80 | (cp >> 6 & 0x3f));
		o[2] = (char)(0x80 | (cp & 0x3f));
		return 3;
	}
	o[0] = (char)(0xf0 | cp >> 18);
	o[1] = (char)(0x80 | (cp >> 12 & 0x3f));
	o[2] = (char)(0x80 | (cp >> 6 & 0x3f));
	o[3] = (char)(0x80 | (cp & 0x3f));
	return 4;
}

static void check_round(unsigned cp)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	_cleanup_(freep) char *back = NULL;
	char bytes[4], escaped[24];
	size_t n = put_cp(cp, bytes);
	struct jval v;

	assert_int_equal(jstr_encode(&b, (struct slice){ bytes, n }), 0);
	assert_int_equal(jscan_value(buf_slice(&b), &v), JSCAN_OK);
	assert_int_equal(jstr_decode(v, 4, &back), 0);
	assert_int_equal(strlen(back), n);
	assert_memory_equal(back, bytes, n);
	/* and written as an escape it is the same character */
	if (cp < 0x10000)
		snprintf(escaped, sizeof(escaped), "\"\\u%04x\"", cp);
	else
		snprintf(escaped, sizeof(escaped), "\"\\u%04X\\u%04x\"",
			 0xd800 + ((cp - 0x10000) >> 10), 0xdc00 + ((cp - 0x10000) & 0x3ff));
	assert_true(jstr_is((struct jval){ J_STRING, slice_of(escaped) }, back));
}

static void test_all_characters_round(void **state _unused_)
{
	for (unsigned cp = 1; cp < 0x10000; cp++)
		if (cp < 0xd800 || cp > 0xdfff)
			check_round(cp);
	for (unsigned cp = 0x10000; cp <= 0x10ffff; cp += 0xfff)
		check_round(cp);
	check_round(0x10ffff);
}

static void test_encoded(void **state _unused_)
{
	static const struct {
		const char *bytes, *text;
	} rows[] = {
		{ "", "\"\"" },
		{ "a/b'c\x7f", "\"a/b'c\x7f\"" },
		{ "\"\\", "\"\\\"\\\\\"" },
		{ "\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\"" },
		{ "\x01\x1f", "\"\\u0001\\u001f\"" },
		{ "x\xe2\x80\xa8y", "\"x\xe2\x80\xa8y\"" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf b = { 0 };

		assert_int_equal(jstr_encode(&b, slice_of(rows[i].bytes)), 0);
		assert_buf(&b, rows[i].text);
	}
}

/* What stands for itself is passed over 16 bytes at a time. */
static void test_encoded_at_every_place(void **state _unused_)
{
	for (size_t at = 0; at < 35; at++) {
		_cleanup_(buf_done) struct buf b = { 0 };
		char text[36] = "", want[48];

		memset(text, 'a', sizeof(text) - 1);
		text[at] = '\n';
		snprintf(want, sizeof(want), "\"%.*s\\n%s\"", (int)at, text, text + at + 1);
		assert_int_equal(jstr_encode(&b, slice_of(text)), 0);
		assert_buf(&b, want);
	}
}

static void test_encode_nul_and_full(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 }, tiny = { .max = 3 };

	assert_int_equal(jstr_encode(&b, (struct slice){ "a\0b", 3 }), 0);
	assert_buf(&b, "\"a\\u0000b\"");
	assert_true(jstr_encode(&tiny, SLICE("abcd")) < 0);
	assert_true(tiny.failed);
}

static void test_is(void **state _unused_)
{
	assert_true(jstr_is((struct jval){ J_STRING, SLICE("\"2.0\"") }, "2.0"));
	assert_true(jstr_is((struct jval){ J_STRING, SLICE("\"2\\u002e0\"") }, "2.0"));
	assert_true(jstr_is((struct jval){ J_STRING, SLICE("\"\"") }, ""));
	assert_false(jstr_is((struct jval){ J_STRING, SLICE("\"2.00\"") }, "2.0"));
	assert_false(jstr_is((struct jval){ J_STRING, SLICE("\"2\\u0000\"") }, "2"));
	assert_false(jstr_is((struct jval){ J_NUMBER, SLICE("2.0") }, "2.0"));
	assert_false(jstr_is((struct jval){ J_NONE, SLICE_NONE }, ""));
}

/* Session ids may be 1024 long, and some encoders write every slash as "\/". */
static void test_is_long_and_escaped(void **state _unused_)
{
	char text[600] = "\"", plain[600] = "";

	for (int i = 0; i < 60; i++) {
		strcat(text, "abc\\/d");
		strcat(plain, "abc/d");
	}
	strcat(text, "\"");
	assert_true(jstr_is((struct jval){ J_STRING, slice_of(text) }, plain));
	plain[strlen(plain) - 1] = 'e';
	assert_false(jstr_is((struct jval){ J_STRING, slice_of(text) }, plain));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decoded),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_repaired),
		cmocka_unit_test(test_shown),
		cmocka_unit_test(test_repair_flag),
		cmocka_unit_test(test_length),
		cmocka_unit_test(test_all_characters_round),
		cmocka_unit_test(test_encoded),
		cmocka_unit_test(test_encoded_at_every_place),
		cmocka_unit_test(test_encode_nul_and_full),
		cmocka_unit_test(test_is),
		cmocka_unit_test(test_is_long_and_escaped),
	};

	return RUN(tests, NULL, NULL);
}
