/* Tests for agui/agui_said: which arguments are equal, and which tool calls fit which calls to the front end. */
#include "unit.h"

#include "agui/agui_said.h"
#include "base/buf.h"
#include "base/limits.h"
#include "json/jscan.h"

static void test_equal_arguments(void **state _unused_)
{
	static const struct {
		const char *a, *b;
		bool equal;
	} rows[] = {
		{ "{\"a\":1,\"b\":2}", " { \"b\" : 2 , \"a\" : 1 } ", true },
		{ "{\"a\":\"\\u00e4\\/\"}", "{\"\\u0061\":\"ä/\"}", true },
		{ "{\"a\":[1,2]}", "{\"a\":[2,1]}", false },
		{ "{\"a\":{}}", "{\"a\":[]}", false },
		{ "{\"a\":null}", "{\"a\":\"null\"}", false },
		{ "{\"a\":\"b\"}", "{\"b\":\"a\"}", false },
		{ "{\"a\":{\"b\":1}}", "{\"a\":{},\"b\":1}", false },
		{ "{\"a\":1}", "{\"a\":1,\"b\":null}", false },
		{ "{\"a\":true}", "{\"a\":false}", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(agui_args_digest(slice_of(rows[i].a)) ==
					 agui_args_digest(slice_of(rows[i].b)),
				 rows[i].equal);
}

static void test_no_arguments(void **state _unused_)
{
	static const char *const none[] = { "", "{}", "{ }", "null", "[1]", "\"x\"", "{", "{\"a\"" };

	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		assert_int_equal(agui_args_digest(slice_of(none[i])), 0);
}

static void test_deep_arguments(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	buf_puts(&b, "{\"a\":");
	for (int i = 1; i < JSON_DEPTH_MAX; i++)
		buf_putc(&b, '[');
	for (int i = 1; i < JSON_DEPTH_MAX; i++)
		buf_putc(&b, ']');
	buf_putc(&b, '}');
	assert_true(agui_args_digest(buf_slice(&b)) != 0);
}

#define ARGS "\"rawInput\":{\"a\":1}"

static void test_fits(void **state _unused_)
{
	static const struct {
		const char *update;
		enum agui_fit fit; /* with a call of t {"a":1} */
		bool other, may;   /* its kind, and whether it is worth to wait */
	} rows[] = {
		{ "{\"title\":\"t\"," ARGS "}", FIT_WHOLE, true, true },
		{ "{\"title\":\"t\",\"kind\":\"other\"," ARGS "}", FIT_WHOLE, true, true },
		{ "{\"title\":\"t\",\"kind\":\"read\"," ARGS "}", FIT_NONE, false, false },
		{ "{\"title\":\"t\"}", FIT_NAME, true, true },
		{ "{\"title\":\"t\",\"rawInput\":{}}", FIT_NAME, true, true },
		{ "{\"title\":\"t\",\"rawInput\":\"x\"}", FIT_NAME, true, true },
		{ "{\"title\":\"t\",\"rawInput\":{\"a\":2}}", FIT_NONE, true, true },
		{ "{\"title\":\"u\"," ARGS "}", FIT_NONE, true, false },
		{ "{\"title\":\"Ask t\"," ARGS "}", FIT_WHOLE, true, true },
		{ "{\"title\":\"\"," ARGS "}", FIT_WHOLE, true, true },
		{ "{\"title\":\"Ask t\"}", FIT_NONE, true, false },
		{ "{\"title\":\"Ask t\",\"rawInput\":{\"b\":1}}", FIT_NONE, true, false },
		{ "{\"title\":\"Ask t\",\"name\":\"t\"," ARGS "}", FIT_WHOLE, true, true },
		{ "{\"title\":\"t\",\"name\":\"u v\"," ARGS "}", FIT_NONE, true, false },
		{ "{" ARGS "}", FIT_WHOLE, true, true },
		{ "{}", FIT_NONE, true, false },
	};
	const struct slice tools =
		SLICE("[{\"name\":\"t\",\"parameters\":{\"properties\":{\"a\":{}}}}]");
	uint64_t args = agui_args_digest(SLICE("{\"a\":1}"));

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct slice update = slice_of(rows[i].update);
		struct agui_said s;

		assert_int_equal(agui_said_read(update, &s), rows[i].other);
		assert_int_equal(agui_said_fits(&s, "t", args), rows[i].fit);
		assert_int_equal(agui_said_may_fit(&s, jobj_get(update, "rawInput").raw, tools),
				 rows[i].may);
		assert_false(agui_said_may_fit(&s, jobj_get(update, "rawInput").raw, SLICE_NONE));
		agui_said_done(&s);
	}
}

/* A sentence without arguments fits no call without arguments: it could be anything. */
static void test_nothing_fits_nothing(void **state _unused_)
{
	struct agui_said s;

	assert_true(agui_said_read(SLICE("{\"title\":\"Ask t\"}"), &s));
	assert_int_equal(agui_said_fits(&s, "t", 0), FIT_NONE);
	agui_said_done(&s);
	assert_true(agui_said_read(SLICE("{\"title\":\"t\"}"), &s));
	assert_int_equal(agui_said_fits(&s, "t", 0), FIT_WHOLE);
	agui_said_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_arguments),	     cmocka_unit_test(test_no_arguments),
		cmocka_unit_test(test_deep_arguments),	     cmocka_unit_test(test_fits),
		cmocka_unit_test(test_nothing_fits_nothing),
	};

	return RUN(tests, NULL, NULL);
}
