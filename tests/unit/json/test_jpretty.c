/* JSON laid out for people says what was given, to the last digit and byte. */
#include "unit.h"

#include "json/jpretty.h"

static void test_exact(void **state _unused_)
{
	static const struct {
		const char *text, *laid_out;
	} rows[] = {
		{ "{\"n\":9007199254740993}", "{\n\t\"n\":\t9007199254740993\n}" },
		{ "{\"n\":-0.10000000000000000001e+400}",
		  "{\n\t\"n\":\t-0.10000000000000000001e+400\n}" },
		{ "{\"s\":\"a\\u0000b\"}", "{\n\t\"s\":\t\"a\\u0000b\"\n}" },
		{ "{\"s\":\"\\ud83d\\ude00 \\/ \\ud800\"}",
		  "{\n\t\"s\":\t\"\\ud83d\\ude00 \\/ \\ud800\"\n}" },
		{ " [1, [ ], {\"a\":null}] \n", "[1, [], {\n\t\t\"a\":\tnull\n\t}]" },
		{ "{\"q\\\"k\":true}", "{\n\t\"q\\\"k\":\ttrue\n}" },
		/* a name that cJSON cannot hold: the text as it came, nothing cut off */
		{ "{\"a\\u0000b\":1}", "{\"a\\u0000b\":1}" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct slice text = exact_copy(slice_of(rows[i].text));
		_cleanup_(freep) char *out = jpretty(text);

		assert_non_null(out);
		assert_string_equal(out, rows[i].laid_out);
		free((void *)text.p);
	}
}

static void test_no_json(void **state _unused_)
{
	assert_null(jpretty(SLICE("")));
	assert_null(jpretty(SLICE("{\"a\":}")));
	assert_null(jpretty(SLICE("1 2")));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_exact),
					    cmocka_unit_test(test_no_json) };

	return RUN(tests, NULL, NULL);
}
