/* The field decoder: every type, every flag, and errors that name the field. */
#include "unit.h"

#include "json/jdec.h"
#include "json/jstr.h"

struct all {
	char *str, *need, *lenient;
	int64_t num;
	bool flag;
	struct slice obj, arr;
	struct jval raw;
};

static const struct jfield all_fields[] = {
	JF_STR(struct all, need, "need", JF_REQUIRED, 8),
	JF_STR(struct all, str, "str", 0, 8),
	JF_STR(struct all, lenient, "lenient", JF_LENIENT, 8),
	JF_INT(struct all, num, "num", 0, -10, 100),
	JF_BOOL(struct all, flag, "flag", 0),
	JF_OBJ(struct all, obj, "obj", 0),
	JF_ARR(struct all, arr, "arr", 0),
	JF_RAW(struct all, raw, "raw", 0),
	JF_END,
};

static int decode(const char *text, struct all *ret, struct err *e)
{
	_cleanup_(slice_freep) struct slice copy = exact_copy(slice_of(text));

	memset(ret, 0, sizeof(*ret));
	memset(e, 0, sizeof(*e));
	return jdec_object(copy, all_fields, NULL, ret, e);
}

static void test_all_types(void **state _unused_)
{
	static const char text[] =
		"{\"need\":\"n\\u00e9\",\"str\":\"s\",\"lenient\":\"l\",\"num\":-10,\"flag\":true,"
		"\"obj\":{\"a\":1},\"arr\":[1, 2],\"raw\":1e400,\"unknown\":[{}]}";
	struct all a = { 0 };

	assert_int_equal(jdec_object(slice_of(text), all_fields, NULL, &a, NULL), 0);
	assert_string_equal(a.need, "n\xc3\xa9");
	assert_string_equal(a.str, "s");
	assert_string_equal(a.lenient, "l");
	assert_int_equal(a.num, -10);
	assert_true(a.flag);
	assert_text(a.obj, "{\"a\":1}");
	assert_text(a.arr, "[1, 2]");
	assert_int_equal(a.raw.type, J_NUMBER);
	assert_text(a.raw.raw, "1e400");
	jdec_free(all_fields, &a);
	assert_null(a.need);
	jdec_free(all_fields, &a);
}

/* Optional members: absent and null are the same. */
static void test_absent_and_null(void **state _unused_)
{
	static const char *const texts[] = {
		"{\"need\":\"\"}",
		"{\"need\":\"\",\"str\":null,\"lenient\":null,\"num\":null,\"flag\":null,\"obj\":null,\"arr\":null}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct all a;
		struct err e;

		assert_int_equal(decode(texts[i], &a, &e), 0);
		assert_string_equal(a.need, "");
		assert_null(a.str);
		assert_null(a.lenient);
		assert_int_equal(a.num, 0);
		assert_false(a.flag);
		assert_int_equal(a.obj.n + a.arr.n, 0);
		assert_int_equal(a.raw.type, J_NONE);
		jdec_free(all_fields, &a);
	}
}

static void test_errors_name_the_field(void **state _unused_)
{
	static const struct {
		const char *text, *field, *reason;
	} rows[] = {
		{ "{}", "need", "FIELD_MISSING" },
		{ "{\"need\":null}", "need", "FIELD_INVALID" },
		{ "{\"need\":1}", "need", "FIELD_INVALID" },
		{ "{\"need\":\"123456789\"}", "need", "FIELD_TOO_LONG" },
		{ "{\"need\":\"a\\u0000\"}", "need", "FIELD_INVALID" },
		{ "{\"need\":\"\\ud800\"}", "need", "FIELD_INVALID" },
		{ "{\"need\":\"\",\"str\":[]}", "str", "FIELD_INVALID" },
		{ "{\"need\":\"\",\"num\":\"1\"}", "num", "FIELD_INVALID" },
		{ "{\"need\":\"\",\"num\":1.5}", "num", "FIELD_INVALID" },
		{ "{\"need\":\"\",\"num\":1e1}", "num", "FIELD_INVALID" },
		{ "{\"need\":\"\",\"num\":101}", "num", "FIELD_OUT_OF_RANGE" },
		{ "{\"need\":\"\",\"num\":-11}", "num", "FIELD_OUT_OF_RANGE" },
		{ "{\"need\":\"\",\"num\":99999999999999999999999999999}", "num",
		  "FIELD_OUT_OF_RANGE" },
		{ "{\"need\":\"\",\"flag\":1}", "flag", "FIELD_INVALID" },
		{ "{\"need\":\"\",\"flag\":\"true\"}", "flag", "FIELD_INVALID" },
		{ "{\"need\":\"\",\"obj\":[]}", "obj", "FIELD_INVALID" },
		{ "{\"need\":\"\",\"arr\":{}}", "arr", "FIELD_INVALID" },
		{ "{\"need\":\"\",\"str\":\"ok\",\"arr\":\"x\"}", "arr", "FIELD_INVALID" },
		{ "{\"need\":\"\",\"need\":\"\"}", "params", "PARAMS_INVALID" },
		{ "{\"need\":\"\",\"ne\\u0065d\":\"\"}", "params", "PARAMS_INVALID" },
		{ "[]", "params", "PARAMS_INVALID" },
		{ "{", "params", "PARAMS_INVALID" },
		{ "", "params", "PARAMS_INVALID" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct all a;
		struct err e;

		if (decode(rows[i].text, &a, &e) != -EINVAL)
			fail_row(i, rows[i].text);
		assert_int_equal(e.rpc, RPC_INVALID_PARAMS);
		assert_string_equal(e.field, rows[i].field);
		assert_string_equal(e.reason, rows[i].reason);
		assert_true(e.msg[0] != '\0');
		/* nothing is left to free */
		assert_null(a.need);
		assert_null(a.str);
		assert_null(a.lenient);
	}
}

static void test_range_is_inclusive(void **state _unused_)
{
	static const int ends[] = { -10, 100 };

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		char text[60];
		struct all a;
		struct err e;

		snprintf(text, sizeof(text), "{\"need\":\"12345678\",\"num\":%d}", ends[i]);
		assert_int_equal(decode(text, &a, &e), 0);
		assert_int_equal(a.num, ends[i]);
		jdec_free(all_fields, &a);
	}
}

static void test_lenient(void **state _unused_)
{
	static const char *const values[] = { "1", "[]", "\"too long for it\"", "\"\\ud800\"",
					      "null" };

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		char text[100];
		struct all a;
		struct err e;

		snprintf(text, sizeof(text), "{\"need\":\"\",\"lenient\":%s}", values[i]);
		assert_int_equal(decode(text, &a, &e), 0);
		assert_null(a.lenient);
		jdec_free(all_fields, &a);
	}
}

static void test_nullable_and_required(void **state _unused_)
{
	static const struct jfield fields[] = {
		JF_STR(struct all, need, "need", JF_REQUIRED | JF_NULLABLE, 8),
		JF_RAW(struct all, raw, "raw", JF_REQUIRED),
		JF_END,
	};
	struct all a = { 0 };
	struct err e;

	assert_int_equal(jdec_object(SLICE("{\"need\":null,\"raw\":null}"), fields, NULL, &a, &e),
			 0);
	assert_null(a.need);
	assert_int_equal(a.raw.type, J_NULL);
	assert_int_equal(jdec_object(SLICE("{\"raw\":1}"), fields, NULL, &a, &e), -EINVAL);
	assert_string_equal(e.field, "need");
	assert_int_equal(jdec_object(SLICE("{\"need\":\"x\"}"), fields, NULL, &a, &e), -EINVAL);
	assert_string_equal(e.field, "raw");
	assert_null(a.need);
}

static void test_prefix(void **state _unused_)
{
	struct all a = { 0 };
	struct err e;

	assert_int_equal(jdec_object(SLICE("{\"need\":7}"), all_fields, "servers[3].", &a, &e),
			 -EINVAL);
	assert_string_equal(e.field, "servers[3].need");
	assert_non_null(strstr(e.msg, "servers[3].need"));
}

static void test_int(void **state _unused_)
{
	static const struct {
		const char *text;
		int r;
		int64_t n;
	} rows[] = {
		{ "0", 0, 0 },
		{ "-0", 0, 0 },
		{ "9223372036854775807", 0, INT64_MAX },
		{ "-9223372036854775808", 0, INT64_MIN },
		{ "9223372036854775808", -ERANGE, 0 },
		{ "-9223372036854775809", -ERANGE, 0 },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "1234567890123456789012345678901234567890", -ERANGE, 0 },
		{ "1.0", -EINVAL, 0 },
		{ "1e0", -EINVAL, 0 },
		{ "1E5", -EINVAL, 0 },
		{ "-1.5", -EINVAL, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(slice_freep) struct slice text = exact_copy(slice_of(rows[i].text));
		int64_t n = 42;

		if (jdec_int((struct jval){ J_NUMBER, text }, &n) != rows[i].r)
			fail_row(i, rows[i].text);
		if (rows[i].r == 0)
			assert_int_equal(n, rows[i].n);
	}
	assert_int_equal(jdec_int((struct jval){ J_STRING, SLICE("\"1\"") }, &(int64_t){ 0 }),
			 -EINVAL);
	assert_int_equal(jdec_int((struct jval){ J_NONE, SLICE_NONE }, &(int64_t){ 0 }), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_types),
		cmocka_unit_test(test_absent_and_null),
		cmocka_unit_test(test_errors_name_the_field),
		cmocka_unit_test(test_range_is_inclusive),
		cmocka_unit_test(test_lenient),
		cmocka_unit_test(test_nullable_and_required),
		cmocka_unit_test(test_prefix),
		cmocka_unit_test(test_int),
	};

	return RUN(tests, NULL, NULL);
}
