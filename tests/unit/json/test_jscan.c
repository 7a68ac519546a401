/* The scanner against RFC 8259: what is JSON and what is not, byte by byte. */
#include "unit.h"

#include "base/limits.h"
#include "json/jscan.h"

/* Scans an exact heap copy: one byte read too far is seen by the sanitizers. */
static enum jscan_error scan(struct slice text)
{
	_cleanup_(slice_freep) struct slice copy = exact_copy(text);
	struct jval v;
	enum jscan_error e = jscan_value(copy, &v);

	if (e == JSCAN_OK) {
		assert_true(v.type != J_NONE);
		assert_true(v.raw.p >= copy.p && v.raw.p + v.raw.n <= copy.p + copy.n);
	}
	return e;
}

static const char *const accepted[] = {
	"[]",
	"{}",
	"[ ]",
	"{ }",
	" [] ",
	"\t\r\n []\n",
	"\"\"",
	"\"a\"",
	"0",
	"-0",
	"1",
	"-1",
	"10",
	"0.0",
	"0.1",
	"-0.1e+1",
	"1e1",
	"1E1",
	"1e+1",
	"1e-1",
	"1E400",
	"-1e-400",
	"123.456e789",
	"123456789012345678901234567890",
	"true",
	"false",
	"null",
	"[null]",
	"[true,false,null]",
	"[1,2]",
	"[ 1 , 2 ]",
	"[[],[[]],{}]",
	"{\"a\":1}",
	"{\"a\" : 1}",
	"{\"\":0}",
	"{\"a\":{\"b\":[{}]}}",
	"{\"a\":1,\"b\":2}",
	"{\"a\":1,\"a\":2}",
	"{ \"a\" :\n[ ] , \"b\"\t: { } }",
	"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
	"\"\\u0000\"",
	"\"\\uFFFF\"",
	"\"\\ud800\"",
	"\"\\uDFFF\\ud800\"",
	"\"\\u00e9\"",
	"\"\xc3\xa9\"",
	"\"\xe2\x80\xa8\"",
	"\"\xf0\x9f\x98\x80\"",
	"\"\x7f\"",
	"\"\xef\xbf\xbf\"",
	"\"\xf4\x8f\xbf\xbf\"",
	"[\"a\\\\\"]",
	"\"\\\\\\\"\"",
	"\"/\"",
	"\"'\"",
};

static const char *const refused[] = {
	"",
	" ",
	"\n",
	",",
	":",
	"]",
	"}",
	"[",
	"{",
	"[1",
	"[1,",
	"[1,]",
	"[,1]",
	"[1,,2]",
	"[1 2]",
	"{\"a\"",
	"{\"a\":",
	"{\"a\":1",
	"{\"a\":1,",
	"{\"a\":1,}",
	"{,\"a\":1}",
	"{\"a\"1}",
	"{\"a\"::1}",
	"{\"a\":}",
	"{a:1}",
	"{'a':1}",
	"{1:1}",
	"{null:1}",
	"{\"a\":1 \"b\":2}",
	"{\"a\":1;\"b\":2}",
	"{\"a\",1}",
	"[\"a\":1]",
	"[}",
	"{]",
	"[1}",
	"{\"a\":1]",
	"[] []",
	"[]x",
	"{}{}",
	"1 2",
	"1,",
	"nul",
	"nulll",
	"Null",
	"NULL",
	"True",
	"tru",
	"truex",
	"fals",
	"falsee",
	"none",
	"undefined",
	"NaN",
	"Infinity",
	"-Infinity",
	"+1",
	"-",
	"--1",
	"-a",
	".5",
	"1.",
	"1.e1",
	"0e",
	"0e+",
	"0e-",
	"1e1.5",
	"1ee1",
	"01",
	"-01",
	"00",
	"0x10",
	"1_000",
	"1a",
	"0.1.2",
	"1e+-1",
	"\"",
	"\"a",
	"a\"",
	"'a'",
	"\"\\\"",
	"\"\\",
	"\"\\x41\"",
	"\"\\a\"",
	"\"\\v\"",
	"\"\\0\"",
	"\"\\ \"",
	"\"\\'\"",
	"\"\\u\"",
	"\"\\u1\"",
	"\"\\u12\"",
	"\"\\u123\"",
	"\"\\u123g\"",
	"\"\\uG123\"",
	"\"\\U0041\"",
	"\"\\u 041\"",
	"\"\\u-041\"",
	"\"\\u00\\u\"",
	"\"a\nb\"",
	"\"a\tb\"",
	"\"a\x1f\"",
	"\"\x01\"",
	"// c\n1",
	"/**/1",
	"1//",
	"#1",
	"\xef\xbb\xbf{}",
	"\xc2\xa0[]",
	"\f[]",
	"\v[]",
	"[1]\f",
	"(1)",
	"<a>",
	"\"a\" \"b\"",
	"[\"a\" \"b\"]",
	"[1,2",
	"{\"a\":[}",
	"\\",
	"\"a\\\nb\"",
	"[\x01]",
	"{\"a\x02\":1}",
	"\"a\"b",
	"[-]",
	"[1e]",
	"[tru]",
	"\xff",
	"@",
	"[\xff]",
};

static void test_accepted(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(accepted); i++)
		if (scan(slice_of(accepted[i])) != JSCAN_OK)
			fail_row(i, accepted[i]);
}

static void test_refused(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		if (scan(slice_of(refused[i])) == JSCAN_OK)
			fail_row(i, refused[i]);
}

/* No prefix of an array or object is itself JSON; neither is one with a byte behind it. */
static void test_every_cut(void **state _unused_)
{
	static const char text[] =
		"{\"jsonrpc\":\"2.0\",\"id\":-12.5e+3,\"m\":[true,false,null,\"\\u00e9\\n\xc3\xa9\xf0\x9f\x98\x80\"],"
		"\"o\":{ \"a\" : [ { } , [ ] ] }}";

	for (size_t n = 0; n < sizeof(text) - 1; n++)
		if (scan((struct slice){ text, n }) == JSCAN_OK)
			fail_row(n, text);
	assert_int_equal(scan(slice_of(text)), JSCAN_OK);
}

static void test_trailing_bytes(void **state _unused_)
{
	char text[] = "{\"a\":1}?";

	for (int b = 0; b < 256; b++) {
		bool space = b == ' ' || b == '\t' || b == '\r' || b == '\n';

		text[7] = (char)b;
		assert_int_equal(scan((struct slice){ text, 8 }) == JSCAN_OK, space);
	}
}

/* Strings are skipped 16 bytes at a time: every byte value at every offset into such a piece. */
static void test_every_byte_in_a_string(void **state _unused_)
{
	for (size_t at = 1; at < 36; at++) {
		for (int b = 0; b < 256; b++) {
			char text[38];
			bool ok = b >= 0x20 && b < 0x80 && b != '"' && b != '\\';

			memset(text, 'a', sizeof(text));
			text[0] = text[sizeof(text) - 1] = '"';
			text[at] = (char)b;
			/* a backslash escapes the next byte, which is 'a' or the closing quote: neither is JSON */
			assert_int_equal(scan((struct slice){ text, sizeof(text) }) == JSCAN_OK,
					 ok);
		}
	}
}

static char *nested(size_t depth, const char *open, const char *close)
{
	size_t n = strlen(open), m = strlen(close);
	char *text = xalloc(depth * (n + m) + 2), *p = text;

	for (size_t i = 0; i < depth; i++, p += n)
		memcpy(p, open, n);
	*p++ = '1';
	for (size_t i = 0; i < depth; i++, p += m)
		memcpy(p, close, m);
	return text;
}

static void check_depth(const char *open, const char *close)
{
	for (size_t depth = JSON_DEPTH_MAX - 1; depth <= JSON_DEPTH_MAX + 1; depth++) {
		_cleanup_(freep) char *text = nested(depth, open, close);
		struct jslot slot = { .key = "a" };
		bool ok = depth <= JSON_DEPTH_MAX;

		assert_int_equal(scan(slice_of(text)), ok ? JSCAN_OK : JSCAN_E_DEPTH);
		/* the same bound where members are looked for */
		assert_int_equal(jscan_object(slice_of(text), &slot, 1), !ok ? JSCAN_E_DEPTH :
									 *open == '[' ?
									       JSCAN_E_NOT_OBJECT :
									       JSCAN_OK);
	}
}

static void test_depth(void **state _unused_)
{
	check_depth("[", "]");
	check_depth("{\"a\":", "}");
	check_depth("[ 0 , ", " , 0 ]");
}

static void test_depth_bomb(void **state _unused_)
{
	const size_t n = 4 << 20;
	_cleanup_(freep) char *text = xalloc(n);

	memset(text, '[', n);
	assert_int_equal(jscan_value((struct slice){ text, n }, NULL), JSCAN_E_DEPTH);
	for (size_t i = 0; i < n; i += 4)
		memcpy(text + i, "{\"\":", 4);
	assert_int_equal(jscan_value((struct slice){ text, n }, NULL), JSCAN_E_DEPTH);
}

static void test_type_and_span(void **state _unused_)
{
	static const struct {
		const char *text, *raw;
		enum jtype type;
	} rows[] = {
		{ " null ", "null", J_NULL },
		{ "\ttrue", "true", J_TRUE },
		{ "false\n", "false", J_FALSE },
		{ " -1.50e400 ", "-1.50e400", J_NUMBER },
		{ " \"a b\" ", "\"a b\"", J_STRING },
		{ " [ 1 ] ", "[ 1 ]", J_ARRAY },
		{ " { } ", "{ }", J_OBJECT },
		{ "-0", "-0", J_NUMBER },
		{ "0.10", "0.10", J_NUMBER },
		{ "12345678901234567890123", "12345678901234567890123", J_NUMBER },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct jval v = { J_NONE, SLICE_NONE };

		assert_int_equal(jscan_value(slice_of(rows[i].text), &v), JSCAN_OK);
		assert_int_equal(v.type, rows[i].type);
		assert_text(v.raw, rows[i].raw);
	}
}

static void test_error_names(void **state _unused_)
{
	for (int e = JSCAN_OK; e <= JSCAN_E_DUPLICATE; e++)
		assert_string_not_equal(jscan_strerror((enum jscan_error)e), "unknown");
	assert_string_equal(jscan_strerror((enum jscan_error)99), "unknown");
	assert_int_equal(scan(SLICE("[\xff]")), JSCAN_E_SYNTAX);
	assert_int_equal(scan(SLICE("[\"\xff\"]")), JSCAN_E_UTF8);
}

static void test_explains_where(void **state _unused_)
{
	static const struct {
		const char *text, *said;
	} rows[] = {
		{ "", "not valid JSON, line 1, column 1" },
		{ "{\"a\":[}", "not valid JSON, line 1, column 7" },
		{ "{\n  \"a\": 1,\n}\n", "not valid JSON, line 3, column 1" },
		{ "{\n  \"a\" 1\n}\n", "not valid JSON, line 2, column 7" },
		{ "{}\n\n x", "not valid JSON, line 3, column 2" },
		{ "{\n\"\xff\"}", "not valid UTF-8, line 2, column 2" },
		{ "[1]\n", "not an object" },
		{ "{\"k\":1,\n\"k\":2}", "a member appears twice" },
	};
	char out[JSCAN_TEXT_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct jslot slot = { .key = "k" };
		struct slice text = exact_copy(slice_of(rows[i].text));
		enum jscan_error e = jscan_object(text, &slot, 1);

		assert_string_equal(jscan_explain(text, e, out), rows[i].said);
		free((void *)text.p);
	}
}

/* The text of a file ends in a newline; its last member is one like the others. */
static void test_iterates_text_with_space_around(void **state _unused_)
{
	struct jval v = { J_OBJECT, SLICE(" \n{ \"a\": 1, \"b\": [ ] }\n\n") }, part;
	struct slice key = SLICE_NONE;
	struct jiter it;
	int n = 0;

	assert_true(jiter_init(&it, v));
	while (jiter_next(&it, &key, &part))
		n++;
	assert_int_equal(n, 2);
	assert_text(key, "b");
	assert_text(part.raw, "[ ]");
}

static void test_iterates_nothing_that_is_not_a_container(void **state _unused_)
{
	static const struct jval bad[] = {
		{ J_ARRAY, { "7", 1 } },    { J_OBJECT, { "7", 1 } },
		{ J_ARRAY, { "true", 4 } }, { J_ARRAY, { "{\"a\":1}", 7 } },
		{ J_OBJECT, { "[1]", 3 } }, { J_ARRAY, { NULL, 0 } },
	};
	struct jiter it;
	struct jval v;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		memset(&it, 'x', sizeof(it));
		assert_false(jiter_init(&it, bad[i]));
		assert_false(jiter_next(&it, NULL, &v));
	}
}

/* The loops: a text or a value, nested, left early, and what is no container of that kind. */
static void test_loops(void **state _unused_)
{
	struct slice text = SLICE("[[1,2],[3],7,[4,5]]"), pair = SLICE("{\"a\":1,\"b\":[]}");
	const struct jval wrong = { J_OBJECT, pair };
	size_t seen = 0;

	jarr_each_at(i, row, text) {
		if (row.type != J_ARRAY)
			continue;
		jarr_each(v, row) {
			seen = seen * 10 + (size_t)(*v.raw.p - '0');
			if (seen == 123)
				break;
		}
		if (i == 1)
			break;
	}
	assert_int_equal(seen, 123);
	jobj_each(key, v, wrong)
		seen += slice_is(key, "a") ? 1 : v.type == J_ARRAY ? 10 : 100;
	assert_int_equal(seen, 134);
	jarr_each(v, wrong)
		seen += v.raw.n;
	jarr_each(v, SLICE_NONE)
		seen += v.raw.n;
	jarr_each(v, pair)
		seen += v.raw.n;
	jobj_each(key, v, ((struct jval){ J_NONE, SLICE_NONE }))
		seen += key.n + v.raw.n;
	assert_int_equal(seen, 134);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accepted),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_every_cut),
		cmocka_unit_test(test_trailing_bytes),
		cmocka_unit_test(test_every_byte_in_a_string),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_depth_bomb),
		cmocka_unit_test(test_type_and_span),
		cmocka_unit_test(test_error_names),
		cmocka_unit_test(test_explains_where),
		cmocka_unit_test(test_iterates_text_with_space_around),
		cmocka_unit_test(test_iterates_nothing_that_is_not_a_container),
		cmocka_unit_test(test_loops),
	};

	return RUN(tests, NULL, NULL);
}
