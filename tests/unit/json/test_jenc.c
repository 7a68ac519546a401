/* The writer: commas, nesting, numbers, what is left out, and copying members. */
#include "unit.h"

#include "json/jenc.h"

static void test_nesting_and_commas(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	jw_obj(&w, NULL);
	jw_arr(&w, "a");
	jw_end_arr(&w);
	jw_obj(&w, "o");
	jw_end_obj(&w);
	jw_arr(&w, "m");
	jw_int(&w, NULL, 1);
	jw_obj(&w, NULL);
	jw_bool(&w, "t", true);
	jw_bool(&w, "f", false);
	jw_null(&w, "n");
	jw_end_obj(&w);
	jw_arr(&w, NULL);
	jw_null(&w, NULL);
	jw_end_arr(&w);
	jw_str(&w, NULL, "s");
	jw_end_arr(&w);
	jw_str(&w, "z", "q\"\n");
	jw_end_obj(&w);
	assert_buf(&b,
		   "{\"a\":[],\"o\":{},\"m\":[1,{\"t\":true,\"f\":false,\"n\":null},[null],\"s\"],"
		   "\"z\":\"q\\\"\\n\"}");
	assert_int_equal(jscan_value(buf_slice(&b), NULL), JSCAN_OK);
}

static void test_numbers(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	jw_arr(&w, NULL);
	jw_int(&w, NULL, 0);
	jw_int(&w, NULL, -1);
	jw_int(&w, NULL, INT64_MAX);
	jw_int(&w, NULL, INT64_MIN);
	jw_uint(&w, NULL, UINT64_MAX);
	jw_uint(&w, NULL, 10);
	jw_end_arr(&w);
	assert_buf(&b, "[0,-1,9223372036854775807,-9223372036854775808,18446744073709551615,10]");
}

/* What is absent leaves no comma behind. */
static void test_left_out(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	jw_obj(&w, NULL);
	jw_str(&w, "a", NULL);
	jw_raw(&w, "b", SLICE_NONE);
	jw_str(&w, "c", "");
	jw_raw(&w, "d", SLICE(""));
	jw_raw(&w, "e", SLICE("[1, 2]"));
	jw_slice(&w, "f", SLICE_NONE);
	jw_end_obj(&w);
	assert_buf(&b, "{\"c\":\"\",\"e\":[1, 2],\"f\":\"\"}");
}

static void test_foreign_keys(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	jw_obj(&w, NULL);
	jw_lead_key(&w, "a\"b");
	jw_int(&w, NULL, 1);
	jw_lead_key(&w, "");
	jw_obj(&w, NULL);
	jw_lead_key(&w, "\xff");
	jw_null(&w, NULL);
	jw_end_obj(&w);
	jw_int(&w, "c", 2);
	jw_end_obj(&w);
	assert_buf(&b, "{\"a\\\"b\":1,\"\":{\"\xef\xbf\xbd\":null},\"c\":2}");
}

static void members(struct buf *b, const char *object, const char *skip)
{
	struct jw w = JW(b);

	buf_reset(b);
	jw_obj(&w, NULL);
	jw_int(&w, "first", 1);
	jw_members(&w, slice_of(object), skip);
	jw_int(&w, "last", 2);
	jw_end_obj(&w);
}

static void test_members(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	members(&b, " { \"a\" : 1 , \"sess\\u0069on\" : [ ] , \"b\":{\"session\":3} } ", "session");
	assert_buf(&b, "{\"first\":1,\"a\":1,\"b\":{\"session\":3},\"last\":2}");
	members(&b, "{\"a\\\"\":1e400}", NULL);
	assert_buf(&b, "{\"first\":1,\"a\\\"\":1e400,\"last\":2}");
	members(&b, "{}", NULL);
	assert_buf(&b, "{\"first\":1,\"last\":2}");
	members(&b, "[1]", NULL);
	assert_buf(&b, "{\"first\":1,\"last\":2}");
	members(&b, "{\"a\":", NULL);
	assert_buf(&b, "{\"first\":1,\"last\":2}");
}

static void test_full_buffer(void **state _unused_)
{
	for (size_t max = 1; max < 40; max++) {
		_cleanup_(buf_done) struct buf b = { .max = max };
		struct jw w = JW(&b);

		jw_obj(&w, NULL);
		jw_str(&w, "key", "value that is long");
		jw_uint(&w, "n", 12345);
		jw_end_obj(&w);
		assert_int_equal(b.failed, max < 38);
		if (!b.failed)
			assert_buf(&b, "{\"key\":\"value that is long\",\"n\":12345}");
	}
}

/* Each kind of member, one that is left out, and an object within. */
static void test_whole_object(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	jw_arr(&w, NULL);
	jw_object(&w, NULL, JW_STR("s", "a\"b"), JW_STR("absent", NULL), JW_SLICE("t", SLICE("xy")),
		  JW_RAW("r", SLICE("[1]")), JW_RAW("none", SLICE_NONE), JW_INT("i", -7),
		  JW_OBJ("o", JW_UINT("u", UINT64_MAX), JW_OBJ("e", JW_STR("absent", NULL))),
		  JW_BOOL("b", true));
	jw_object(&w, NULL, JW_INT("last", 0));
	jw_end_arr(&w);
	assert_text(buf_slice(&b), "[{\"s\":\"a\\\"b\",\"t\":\"xy\",\"r\":[1],\"i\":-7,"
				   "\"o\":{\"u\":18446744073709551615,\"e\":{}},\"b\":true},"
				   "{\"last\":0}]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_object), cmocka_unit_test(test_nesting_and_commas),
		cmocka_unit_test(test_numbers),	     cmocka_unit_test(test_left_out),
		cmocka_unit_test(test_foreign_keys), cmocka_unit_test(test_members),
		cmocka_unit_test(test_full_buffer),
	};

	return RUN(tests, NULL, NULL);
}
