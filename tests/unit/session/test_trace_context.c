/* Trace contexts: what of _meta is taken, and what counts as absent. */
#include "unit.h"

#include "session/core/trace_context.h"

#define P "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

static void test_parents(void **state _unused_)
{
	static const struct {
		const char *meta;
		bool parent, state;
	} rows[] = {
		{ "{\"traceparent\":\"" P "\",\"tracestate\":\"a=1\"}", true, true },
		{ "{\"traceparent\":\"" P "\"}", true, false },
		{ "{\"traceparent\":\"01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-ff\"}",
		  true, false },
		{ "{\"tracestate\":\"a=1\"}", false, false },
		{ "{\"traceparent\":\"ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\"}",
		  false, false },
		{ "{\"traceparent\":\"00-00000000000000000000000000000000-b7ad6b7169203331-01\"}",
		  false, false },
		{ "{\"traceparent\":\"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01\"}",
		  false, false },
		{ "{\"traceparent\":\"00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\"}",
		  false, false },
		{ "{\"traceparent\":\"" P "-\",\"tracestate\":\"a=1\"}", false, false },
		{ "{\"traceparent\":\"" P "\",\"tracestate\":\"a=\\u0001\"}", true, false },
		{ "{\"traceparent\":\"" P "\",\"tracestate\":\"\"}", true, false },
		{ "{\"traceparent\":\"00\"}", false, false },
		{ "{\"traceparent\":null}", false, false },
		{ "{}", false, false },
		{ "", false, false },
	};
	struct trace_context t = { .state = NULL };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(slice_freep) struct slice meta = exact_copy(slice_of(rows[i].meta));

		trace_context_read(&t, meta);
		assert_int_equal(*t.parent != '\0', rows[i].parent);
		assert_int_equal(t.state != NULL, rows[i].state);
		assert_int_equal(trace_context_is_empty(&t), !rows[i].parent);
	}
	trace_context_done(&t);
}

static void test_headers(void **state _unused_)
{
	static const struct {
		const char *parent, *with;
		bool has, state;
	} rows[] = {
		{ P, "a=1", true, true },   { P, "", true, false },
		{ P, "a=\t", true, false }, { P "0", "a=1", false, false },
		{ "?", "", false, false },  { "", "a=1", false, false },
	};
	struct trace_context t = { .state = NULL };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		trace_context_read_headers(&t, rows[i].parent, rows[i].with);
		assert_int_equal(*t.parent != '\0', rows[i].has);
		assert_int_equal(t.state != NULL, rows[i].state);
	}
	trace_context_done(&t);
}

static void test_others(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct trace_context t = { .state = NULL }, copy = { .state = NULL };

	trace_context_read(&t, SLICE("{\"baggage\":\"a=b\",\"requestId\":\"r 1\"}"));
	trace_context_copy(&copy, &t);
	assert_string_equal(copy.baggage, "a=b");
	assert_string_equal(copy.request_id, "r 1");
	buf_printf(&b, "{\"requestId\":\"%0129d\",\"baggage\":\"\\u00e9\"}", 1);
	trace_context_read(&t, buf_slice(&b));
	assert_true(trace_context_is_empty(&t));
	trace_context_done(&t);
	trace_context_done(&copy);
}

static void test_made(void **state _unused_)
{
	char text[TRACEPARENT_SIZE], again[TRACEPARENT_SIZE];

	trace_parent_make(text, "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", true);
	assert_string_equal(text, P);
	assert_true(trace_parent_set(again, text) && trace_is_sampled(again));
	assert_true(slice_is(trace_id_of(text), "0af7651916cd43dd8448eb211c80319c"));
	assert_true(slice_is(trace_span_of(text), "b7ad6b7169203331"));
	trace_parent_make(text, "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", false);
	assert_false(trace_is_sampled(text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parents),
		cmocka_unit_test(test_headers),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_made),
	};

	return RUN(tests, NULL, NULL);
}
