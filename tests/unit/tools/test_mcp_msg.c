/* Raw text of MCP: what is not meant keeps every byte. */
#include "unit.h"

#include "base/limits.h"
#include "json/jscan.h"
#include "tools/mcp/msg.h"

#define ODD                                                                                        \
	"\"n\":9007199254740993,\"f\":1.0,\"e\":1E400,\"z\":-0,\"u\":\"\\ud800\",\"s\":\"\\/\",\"nil\":null"

struct row {
	const char *object, *arg, *want;
};

static void check_merge(void (*fn)(struct buf *, struct slice, struct slice),
			const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		_cleanup_(slice_freep) struct slice object = exact_copy(slice_of(rows[i].object));
		_cleanup_(buf_done) struct buf out = { 0 };

		fn(&out, object, slice_of(rows[i].arg));
		assert_int_equal(jscan_value(buf_slice(&out), NULL), JSCAN_OK);
		if (!slice_is(buf_slice(&out), rows[i].want))
			fail_row(i, out.data);
	}
}

static void test_object_merge(void **state _unused_)
{
	static const struct row rows[] = {
		{ "{}", "", "{}" },
		{ "{}", "\"a\":1", "{\"a\":1}" },
		{ "{\"a\":1}", "", "{\"a\":1}" },
		{ "{" ODD "}", "\"a\":1", "{" ODD ",\"a\":1}" },
		{ "{\"a\":{\"a\":1},\"b\":2}", "\"a\":3", "{\"b\":2,\"a\":3}" },
		{ "{\"\\u0061\":1}", "\"a\":3", "{\"a\":3}" },
		{ "{\"\\ud800\":1,\"ab\":0}", "\"a\":3", "{\"\\ud800\":1,\"ab\":0,\"a\":3}" },
		{ "[1]", "\"a\":3", "{\"a\":3}" },
	};

	check_merge(mcp_object_merge, rows, ARRAY_SIZE(rows));
}

static void test_meta_merge(void **state _unused_)
{
	static const struct row rows[] = {
		{ "{}", "\"k\":1", "{\"_meta\":{\"k\":1}}" },
		{ "{\"a\":1}", "\"k\":1", "{\"a\":1,\"_meta\":{\"k\":1}}" },
		{ "{\"_meta\":{\"progressToken\":0," ODD "},\"a\":[]}", "\"k\":1",
		  "{\"_meta\":{\"progressToken\":0," ODD ",\"k\":1},\"a\":[]}" },
		{ "{\"_meta\":{\"k\":2,\"l\":3}}", "\"k\":1", "{\"_meta\":{\"l\":3,\"k\":1}}" },
		{ "{\"_meta\":null,\"a\":1}", "\"k\":1", "{\"_meta\":{\"k\":1},\"a\":1}" },
		{ "{\"\\u005fmeta\":{\"l\":3}}", "\"k\":1", "{\"\\u005fmeta\":{\"l\":3,\"k\":1}}" },
		{ "{\"_meta\":{\"l\":3},\"_meta\":{\"m\":4}}", "\"k\":1",
		  "{\"_meta\":{\"l\":3,\"k\":1}}" },
		{ "{\"arguments\":{\"_meta\":{\"k\":2}}}", "\"k\":1",
		  "{\"arguments\":{\"_meta\":{\"k\":2}},\"_meta\":{\"k\":1}}" },
	};

	check_merge(mcp_meta_merge, rows, ARRAY_SIZE(rows));
}

static void strip_k(struct buf *out, struct slice object, struct slice arg _unused_)
{
	static const char *const keys[] = { "k", NULL };

	mcp_meta_strip(out, object, keys);
}

static void test_meta_strip(void **state _unused_)
{
	static const struct row rows[] = {
		{ "{}", "", "{}" },
		{ "{\"_meta\":{\"k\":1}}", "", "{}" },
		{ "{\"k\":1,\"_meta\":{\"k\":1,\"l\":null}}", "",
		  "{\"k\":1,\"_meta\":{\"l\":null}}" },
		{ "{\"_meta\":\"k\"}", "", "{\"_meta\":\"k\"}" },
	};

	check_merge(strip_k, rows, ARRAY_SIZE(rows));
}

static void strip_marks(struct buf *out, struct slice object, struct slice arg _unused_)
{
	mcp_object_strip(out, object, mcp_result_marks);
}

static void test_result_strip(void **state _unused_)
{
	static const struct row rows[] = {
		{ "{\"resultType\":\"complete\",\"tools\":[{\"ttlMs\":1}],\"ttlMs\":5,\"cacheScope\":\"private\","
		  "\"nextCursor\":\"\\u0063\"}",
		  "", "{\"tools\":[{\"ttlMs\":1}],\"nextCursor\":\"\\u0063\"}" },
		{ "{\"resulttype\":1}", "", "{\"resulttype\":1}" },
	};

	check_merge(strip_marks, rows, ARRAY_SIZE(rows));
}

static void test_result_is(void **state _unused_)
{
	assert_true(mcp_result_is(SLICE("{}"), "complete"));
	assert_true(mcp_result_is(SLICE("{\"resultType\":\"input_required\"}"), "input_required"));
	assert_true(mcp_result_is(SLICE("{\"resultType\":\"task\"}"), "task"));
	assert_false(mcp_result_is(SLICE("{\"resultType\":\"task\"}"), "complete"));
	assert_false(mcp_result_is(SLICE("{\"resultType\":7}"), "complete"));
}

static void test_ids(void **state _unused_)
{
	assert_true(mcp_id_equal(SLICE("1"), SLICE("1")));
	assert_false(mcp_id_equal(SLICE("1"), SLICE("\"1\"")));
	assert_false(mcp_id_equal(SLICE("9007199254740992"), SLICE("9007199254740993")));
	assert_true(mcp_id_equal(SLICE("\"\\u0061\""), SLICE("\"a\"")));
	assert_false(mcp_id_equal(SLICE("\"\\ud800\""), SLICE("\"\\ud801\"")));
	assert_true(mcp_id_equal(SLICE("\"\\ud800\""), SLICE("\"\\ud800\"")));
	assert_false(mcp_id_equal(SLICE("\"a\""), SLICE("\"\\u0000\"")));
}

static void test_flatten(void **state _unused_)
{
	char text[] = "{\r\n\"a\":\n1}";

	mcp_flatten(text, strlen(text));
	assert_string_equal(text, "{  \"a\": 1}");
}

static void test_too_large_sticks(void **state _unused_)
{
	_cleanup_(buf_done) struct buf out = { .max = 300 };
	char text[400] = "{\"a\":\"";

	memset(text + 6, 'x', 380);
	memcpy(text + 386, "\"}", 3);
	mcp_meta_merge(&out, slice_of(text), SLICE("\"k\":1"));
	assert_true(out.failed);
}

static void test_messages(void **state _unused_)
{
	_cleanup_(buf_done) struct buf out = { 0 };
	struct err e;

	mcp_put_request(&out, SLICE("\"x\""), "a/b", SLICE_NONE);
	assert_buf(&out, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"a/b\"}");
	buf_reset(&out);
	mcp_put_notification(&out, "a/b", SLICE("{\"c\":1.0}"));
	assert_buf(&out, "{\"jsonrpc\":\"2.0\",\"method\":\"a/b\",\"params\":{\"c\":1.0}}");
	buf_reset(&out);
	err_field(&e, "params.uri", "URI_INVALID", "no");
	mcp_put_error(&out, &e, SLICE("\"more\":1"));
	assert_buf(
		&out,
		"{\"code\":-32602,\"message\":\"no\",\"data\":{\"reason\":\"URI_INVALID\",\"field\":"
		"\"params.uri\",\"more\":1}}");
	buf_reset(&out);
	mcp_put_tool_error(&out, &e, SLICE_NONE);
	assert_buf(
		&out,
		"{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\",\"text\":\"no\"}],"
		"\"structuredContent\":{\"error\":{\"code\":\"URI_INVALID\",\"message\":\"no\"}},"
		"\"isError\":true}");
}

static void test_methods(void **state _unused_)
{
	assert_null(mcp_method_find("tasks/get"));
	assert_int_equal(mcp_method_find("ping")->flags, MCP_IN_LEGACY);
	assert_true(mcp_method_find("subscriptions/listen")->flags & MCP_LASTS);
	assert_true(mcp_method_find("resources/read")->flags & MCP_MAY_ASK);
	assert_false(mcp_method_find("tools/list")->flags & MCP_MAY_ASK);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_object_merge), cmocka_unit_test(test_meta_merge),
		cmocka_unit_test(test_meta_strip),   cmocka_unit_test(test_result_strip),
		cmocka_unit_test(test_result_is),    cmocka_unit_test(test_ids),
		cmocka_unit_test(test_flatten),	     cmocka_unit_test(test_too_large_sticks),
		cmocka_unit_test(test_messages),     cmocka_unit_test(test_methods),
	};

	return RUN(tests, NULL, NULL);
}
