/* SPDX-License-Identifier: Apache-2.0 */
/* Values held against shapes: what fits is let alone, what does not is mended into something that does. */
#include "unit.h"

#include "harnesses/harness.h"
#include "json/jshape.h"

static const char *const colours[] = { "red", "green", NULL };
static const struct jshape colour = { JS_WORD, .words = colours };
static const struct jshape digit = { JS_INTEGER, .min = 0, .max = 9 };
static const struct jmember pen_members[] = {
	JS_MEMBER("id", jshape_name, JS_REQUIRED | JS_ID, NULL),
	JS_MEMBER("colour", colour, JS_REQUIRED, "\"red\""),
	JS_MEMBER("width", digit, JS_NULLABLE, NULL),
	JS_MEMBER("at", jshape_time, 0, NULL),
	JS_LAST,
};
static const struct jshape pen = { JS_OBJECT, .members = JS_MEMBERS(pen_members) };
static const struct jshape pens = { JS_ARRAY, .items = &pen };

/* to NULL: nothing is left; equal to from: it fits. */
static const struct {
	const struct jshape *shape;
	const char *from, *to;
} rows[] = {
	{ &pen, "{\"id\":\"a\",\"colour\":\"red\"}", "{\"id\":\"a\",\"colour\":\"red\"}" },
	{ &pen, "{\"id\":\"a\",\"colour\":\"gr\\u0065en\",\"width\":null}",
	  "{\"id\":\"a\",\"colour\":\"gr\\u0065en\",\"width\":null}" },
	{ &pen, "{\"id\":\"a\",\"colour\":\"blue\"}", "{\"id\":\"a\",\"colour\":\"red\"}" },
	{ &pen, "{\"id\":\"a\",\"colour\":\"red\",\"width\":10}",
	  "{\"id\":\"a\",\"colour\":\"red\"}" },
	{ &pen, "{\"id\":\"a\",\"colour\":\"red\",\"width\":7.00}",
	  "{\"id\":\"a\",\"colour\":\"red\",\"width\":7}" },
	{ &pen, "{\"id\":\"a\",\"colour\":\"red\",\"width\":7.5}",
	  "{\"id\":\"a\",\"colour\":\"red\"}" },
	{ &pen, "{\"id\":\"a\",\"colour\":\"red\",\"width\":1e0}",
	  "{\"id\":\"a\",\"colour\":\"red\"}" },
	{ &pen, "{\"id\":\"a\",\"id\":\"b\",\"colour\":\"red\"}",
	  "{\"id\":\"a\",\"colour\":\"red\"}" },
	{ &pen, "{\"ID\":\"a\",\"colour\":\"red\"}", NULL },
	{ &pen, "{\"id\":\"\",\"colour\":\"red\"}", NULL },
	{ &pen, "{\"id\":null,\"colour\":\"red\"}", NULL },
	{ &pen, "{\"x\":[1,{\"y\":2}],\"id\":\"a\",\"colour\":{}}",
	  "{\"id\":\"a\",\"colour\":\"red\"}" },
	{ &pen, "[]", NULL },
	{ &pen, "{}", NULL },
	{ &pens, "[]", "[]" },
	{ &pens, "[7,{\"id\":\"a\",\"colour\":\"red\"},{}]",
	  "[{\"id\":\"a\",\"colour\":\"red\"}]" },
	{ &pens, "{}", NULL },
	{ &jshape_time, "\"2026-01-31T12:34:56Z\"", "\"2026-01-31T12:34:56Z\"" },
	{ &jshape_time, "\"2026-01-31T12:34:56.5+01:00\"", "\"2026-01-31T12:34:56.5+01:00\"" },
	{ &jshape_time, "\"2026-01-31T12:34:56\"", NULL },
	{ &jshape_time, "\"2026-01-31T12:34:56.Z\"", NULL },
	{ &jshape_time, "\"2026-01-31 12:34:56Z\"", NULL },
	{ &jshape_time, "\"\"", NULL },
};

static void test_rows(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct slice from = exact_copy(slice_of(rows[i].from));
		_cleanup_(buf_done) struct buf out = { 0 };
		struct jval v, id;
		bool left;

		assert_int_equal(jscan_value(from, &v), JSCAN_OK);
		left = jshape_mend(rows[i].shape, v, &out);
		if (left != (rows[i].to != NULL) ||
		    (left && !slice_is(buf_slice(&out), rows[i].to)))
			fail_msg("row %zu: %s -> %.*s", i, rows[i].from, (int)out.len, out.data);
		assert_int_equal(jshape_fits(rows[i].shape, v, &id),
				 rows[i].to && strcmp(rows[i].from, rows[i].to) == 0);
		if (left) {
			assert_int_equal(jscan_value(buf_slice(&out), &v), JSCAN_OK);
			assert_true(jshape_fits(rows[i].shape, v, &id));
			assert_int_equal(id.type, rows[i].shape == &pen ? J_STRING : J_NONE);
		}
		free((char *)from.p);
	}
}

/* Two readers would see two updates: one with the first of the two goes on. */
static void test_update_with_a_member_twice(void **state _unused_)
{
	static const char *const updates[] = {
		"{\"sessionUpdate\":\"plan\",\"sessionUpdate\":\"plan_removed\",\"entries\":[]}",
		"{\"sessionUpdate\":\"plan\",\"entries\":[],\"entries\":[{\"content\":\"x\"}]}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(updates); i++) {
		_cleanup_(buf_done) struct buf out = { 0 };

		assert_int_equal(harness_update_check(UPDATE_PLAN, slice_of(updates[i]), &out,
						      NULL),
				 CHECK_MENDED);
		assert_true(
			slice_is(buf_slice(&out), "{\"sessionUpdate\":\"plan\",\"entries\":[]}"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows),
					    cmocka_unit_test(test_update_with_a_member_twice) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
