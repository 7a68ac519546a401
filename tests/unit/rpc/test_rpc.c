/* JSON-RPC envelopes: every kind of message, ids that come back as they came, answers to what is malformed. */
#include "unit.h"

#include "rpc/rpc.h"

static struct rpc_msg m;
static struct err e;

static enum rpc_parse_result parse(const char *text)
{
	memset(&m, 0xa5, sizeof(m));
	memset(&e, 0, sizeof(e));
	return rpc_parse(slice_of(text), &m, &e);
}

static void test_calls(void **state _unused_)
{
	static const struct {
		const char *text, *id, *method, *params;
	} rows[] = {
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a/b\",\"params\":{\"x\":1}}", "1",
		  "a/b", "{\"x\":1}" },
		{ "{\"id\":1,\"method\":\"m\"}", "1", "m", "{}" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"m\",\"params\":null}", "null", "m",
		  "{}" },
		{ "{\"method\":\"m\",\"id\":\"\",\"jsonrpc\":\"2\\u002e0\"}", "\"\"", "m", "{}" },
		{ "{\"id\":1,\"method\":\"\"}", "1", "", "{}" },
		{ "{\"id\":1,\"method\":\"m\\u0041\"}", "1", "mA", "{}" },
		{ "{\"id\":1,\"method\":\"m\",\"result\":1,\"error\":{}}", "1", "m", "{}" },
		{ "{\"id\":1,\"method\":\"a\\u0000b\"}", "1", "?", "{}" },
		{ "{\"id\":1,\"method\":\"\\ud800\"}", "1", "?", "{}" },
		{ "{\"id\":1,\"method\":\"m\",\"extra\":[1],\"_meta\":{}}", "1", "m", "{}" },
		{ " \t{ \"id\" : 1 , \"method\" : \"m\" , \"params\" : { } }\r\n", "1", "m",
		  "{ }" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (parse(rows[i].text) != RPC_PARSED)
			fail_row(i, rows[i].text);
		assert_int_equal(m.kind, RPC_REQUEST);
		assert_text(m.id, rows[i].id);
		assert_string_equal(m.method, rows[i].method);
		assert_text(m.params, rows[i].params);
	}
}

static void test_notifications(void **state _unused_)
{
	assert_int_equal(parse("{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{\"a\":1}}"),
			 RPC_PARSED);
	assert_int_equal(m.kind, RPC_NOTIFICATION);
	assert_int_equal(m.id.n, 0);
	assert_string_equal(m.method, "n");
	assert_text(m.params, "{\"a\":1}");
	/* nobody may answer these */
	assert_int_equal(parse("{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":[1]}"),
			 RPC_E_IGNORE);
	assert_int_equal(parse("{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":3}"),
			 RPC_E_IGNORE);
	assert_int_equal(parse("{\"jsonrpc\":\"2.0\",\"method\":7}"), RPC_E_IGNORE);
}

static void test_long_method(void **state _unused_)
{
	for (int n = METHOD_NAME_MAX - 1; n <= METHOD_NAME_MAX + 1; n++) {
		char name[METHOD_NAME_MAX + 2], text[METHOD_NAME_MAX + 64];

		memset(name, 'm', sizeof(name));
		name[n] = '\0';
		snprintf(text, sizeof(text), "{\"id\":1,\"method\":\"%s\"}", name);
		assert_int_equal(parse(text), RPC_PARSED);
		assert_string_equal(m.method, n <= METHOD_NAME_MAX ? name : "?");
	}
}

static void test_responses(void **state _unused_)
{
	assert_int_equal(parse("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"a\":[]}}"), RPC_PARSED);
	assert_int_equal(m.kind, RPC_RESPONSE);
	assert_text(m.id, "3");
	assert_text(m.result, "{\"a\":[]}");
	assert_int_equal(m.error.n, 0);
	assert_int_equal(parse("{\"id\":3,\"result\":null}"), RPC_PARSED);
	assert_text(m.result, "null");
	assert_int_equal(parse("{\"id\":3,\"error\":{\"code\":-1,\"message\":\"x\"}}"), RPC_PARSED);
	assert_text(m.error, "{\"code\":-1,\"message\":\"x\"}");
	assert_int_equal(m.result.n, 0);
	/* both: the error counts */
	assert_int_equal(parse("{\"id\":3,\"result\":1,\"error\":{}}"), RPC_PARSED);
	assert_text(m.error, "{}");
	assert_int_equal(parse("{\"id\":3,\"result\":1,\"error\":null}"), RPC_PARSED);
	assert_text(m.result, "1");
}

/* A call must not wait for ever because the error that answers it is no object. */
static void test_odd_errors_still_answer(void **state _unused_)
{
	static const char *const rows[] = {
		"{\"id\":3,\"error\":\"boom\"}",
		"{\"id\":3,\"error\":-32603}",
		"{\"id\":3,\"error\":[1]}",
		"{\"id\":3,\"error\":null}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (parse(rows[i]) != RPC_PARSED)
			fail_row(i, rows[i]);
		assert_int_equal(m.kind, RPC_RESPONSE);
		assert_text(m.id, "3");
		assert_text(m.error, "{}");
	}
}

/* In place, and in a copy: all but the id, which is echoed. */
static void test_ids_are_not_repaired(void **state _unused_)
{
	char text[] = "{\"a\":\"\\ud83d\",\"id\":\"i\\ud800\",\"method\":\"m\",\"params\":{\"a\":"
		      "\"\\udc00\"}}";
	_cleanup_(buf_done) struct buf b = { 0 };

	assert_int_equal(rpc_parse_repaired(slice_of(text), &b, &m, &e), RPC_PARSED);
	assert_text(m.id, "\"i\\ud800\"");
	assert_text(m.params, "{\"a\":\"\\ufffd\"}");
	assert_int_equal(rpc_parse(slice_of(text), &m, &e), RPC_PARSED);
	assert_int_equal(rpc_repair_halves(text, strlen(text), &m), 2);
	assert_text(m.id, "\"i\\ud800\"");
	assert_text(m.params, "{\"a\":\"\\ufffd\"}");
}

static void test_repaired(void **state _unused_)
{
	static const struct {
		const char *text, *params; /* NULL: not valid, repaired or not */
		bool copied;
	} rows[] = {
		{ "{\"id\":1,\"method\":\"m\",\"params\":{\"a\":\"b\"}}", "{\"a\":\"b\"}", false },
		{ "{\"id\":1,\"method\":\"m\",\"params\":{\"a\":\"\\ud83d\"}}",
		  "{\"a\":\"\\ufffd\"}", true },
		{ "{\"id\":1,\"method\":\"m\",\"params\":{\"a\":\"\xff\"}}",
		  "{\"a\":\"\xef\xbf\xbd\"}", true },
		{ "{\"id\":1,\"method\":\"m\",\"params\":{\"a\":\"\xff}", NULL, true },
		{ "{\"id\":1,\"method\":\"m\",\"params\":{\"a\":\"\\ud83d}", NULL, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf b = { 0 };
		enum rpc_parse_result r = rpc_parse_repaired(slice_of(rows[i].text), &b, &m, &e);

		if (r != (rows[i].params ? RPC_PARSED : RPC_E_ANSWER) ||
		    (buf_len(&b) > 0) != rows[i].copied || m.repair)
			fail_row(i, rows[i].text);
		if (!rows[i].params)
			continue;
		assert_text(m.params, rows[i].params);
		assert_text(m.id, "1");
	}
}

static void test_ids_are_echoed(void **state _unused_)
{
	static const char *const ids[] = {
		"0",
		"1",
		"-1",
		"-0",
		"1.0",
		"1.50",
		"1e400",
		"-1E-400",
		"123456789012345678901234567890",
		"null",
		"\"\"",
		"\"a\"",
		"\"\xc3\xa9\"",
		"\"\\u00e9\"",
		"\"\\\"\\\\\\/\\n\"",
		"\"\\ud800\"",
		"\"\\u0000\"",
		"\"6ba7b810-9dad-11d1-80b4-00c04fd430c8\"",
		"\"\xf0\x9f\x98\x80\"",
		"\" 1 \"",
	};

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		_cleanup_(buf_done) struct buf b = { 0 };
		char text[200], want[200];

		snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\": %s ,\"method\":\"m\"}",
			 ids[i]);
		assert_int_equal(parse(text), RPC_PARSED);
		assert_text(m.id, ids[i]);
		rpc_put_result(&b, m.id, SLICE("{}"));
		snprintf(want, sizeof(want), "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}",
			 ids[i]);
		assert_buf(&b, want);
	}
}

static void test_long_ids(void **state _unused_)
{
	for (int n = RPC_ID_MAX - 1; n <= RPC_ID_MAX + 1; n++) {
		char id[RPC_ID_MAX + 4], text[RPC_ID_MAX + 100];

		memset(id, 'i', sizeof(id));
		id[0] = id[n + 1] = '"';
		id[n + 2] = '\0';
		snprintf(text, sizeof(text), "{\"id\":%s,\"method\":\"m\"}", id);
		assert_int_equal(parse(text), n <= RPC_ID_MAX ? RPC_PARSED : RPC_E_ID_TOO_LONG);
		if (n <= RPC_ID_MAX)
			assert_text(m.id, id);
	}
}

static void test_malformed_is_answered(void **state _unused_)
{
	static const struct {
		const char *text;
		int code;
		const char *reason;
	} rows[] = {
		{ "", RPC_PARSE_ERROR, "PARSE_ERROR" },
		{ "{", RPC_PARSE_ERROR, "PARSE_ERROR" },
		{ "{\"id\":1,\"method\":\"m\"}x", RPC_PARSE_ERROR, "PARSE_ERROR" },
		{ "{\"id\":1,\"method\":\"\xff\"}", RPC_PARSE_ERROR, "PARSE_ERROR" },
		{ "hello", RPC_PARSE_ERROR, "PARSE_ERROR" },
		{ "[]", RPC_INVALID_REQUEST, "BATCH_UNSUPPORTED" },
		{ "[{\"id\":1,\"method\":\"m\"}]", RPC_INVALID_REQUEST, "BATCH_UNSUPPORTED" },
		{ "1", RPC_INVALID_REQUEST, "INVALID_REQUEST" },
		{ "\"x\"", RPC_INVALID_REQUEST, "INVALID_REQUEST" },
		{ "null", RPC_INVALID_REQUEST, "INVALID_REQUEST" },
		{ "{}", RPC_INVALID_REQUEST, "INVALID_REQUEST" },
		{ "{\"id\":1}", RPC_INVALID_REQUEST, "INVALID_REQUEST" },
		{ "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"m\"}", RPC_INVALID_REQUEST,
		  "INVALID_REQUEST" },
		{ "{\"jsonrpc\":2.0,\"id\":1,\"method\":\"m\"}", RPC_INVALID_REQUEST,
		  "INVALID_REQUEST" },
		{ "{\"id\":1,\"method\":null}", RPC_INVALID_REQUEST, "INVALID_REQUEST" },
		{ "{\"id\":1,\"method\":[]}", RPC_INVALID_REQUEST, "INVALID_REQUEST" },
		{ "{\"id\":{},\"method\":\"m\"}", RPC_INVALID_REQUEST, "INVALID_REQUEST" },
		{ "{\"id\":true,\"method\":\"m\"}", RPC_INVALID_REQUEST, "INVALID_REQUEST" },
		{ "{\"id\":1,\"id\":2,\"method\":\"m\"}", RPC_INVALID_REQUEST, "DUPLICATE_MEMBER" },
		{ "{\"id\":1,\"method\":\"m\",\"me\\u0074hod\":\"n\"}", RPC_INVALID_REQUEST,
		  "DUPLICATE_MEMBER" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (parse(rows[i].text) != RPC_E_ANSWER)
			fail_row(i, rows[i].text);
		assert_int_equal(e.rpc, rows[i].code);
		assert_string_equal(e.reason, rows[i].reason);
		assert_text(m.id, "null");
	}
}

/* The request is known, only its parameters are not: the answer goes to its id. */
static void test_params_that_are_no_object(void **state _unused_)
{
	assert_int_equal(parse("{\"id\":\"x\",\"method\":\"m\",\"params\":[1]}"), RPC_E_ANSWER);
	assert_int_equal(e.rpc, RPC_INVALID_PARAMS);
	assert_string_equal(e.field, "params");
	assert_text(m.id, "\"x\"");
}

static void test_params_in_the_same_pass(void **state _unused_)
{
	struct jslot p[] = { { .key = "a" }, { .key = "b" } };

	assert_int_equal(rpc_parse_params(SLICE("{\"params\":{\"b\":[1]},\"method\":\"m\"}"), &m, p,
					  2, &e),
			 RPC_PARSED);
	assert_text(m.params, "{\"b\":[1]}");
	assert_int_equal(p[0].v.type, J_NONE);
	assert_text(p[1].v.raw, "[1]");
	assert_int_equal(rpc_parse_params(SLICE("{\"id\":1,\"result\":{\"a\":1}}"), &m, p, 2, &e),
			 RPC_PARSED);
	assert_int_equal(p[0].v.type + p[1].v.type, J_NONE);
	assert_int_equal(rpc_parse_params(SLICE("{\"method\":\"m\",\"params\":[{\"a\":1}]}"), &m, p,
					  2, &e),
			 RPC_E_IGNORE);
	assert_int_equal(rpc_parse_params(SLICE("{\"method\":\"m\",\"params\":{\"a\":1,\"a\":1}}"),
					  &m, p, 2, &e),
			 RPC_E_ANSWER);
	assert_int_equal(rpc_parse_params(SLICE("{\"method\":\"m\",\"params\":{\"x\":1,\"x\":1}}"),
					  &m, p, 2, &e),
			 RPC_PARSED);
}

static void test_error_encoding(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct err err = { 0 };

	err_field(&err, "a.b", "SOME_REASON", "it \"says\" so");
	snprintf(err.session, sizeof(err.session), "s1");
	rpc_put_error(&b, SLICE("1e400"), &err, SLICE("\"known\":[1]"));
	assert_buf(
		&b,
		"{\"jsonrpc\":\"2.0\",\"id\":1e400,\"error\":{\"code\":-32602,\"message\":\"it \\\"says\\\" so\","
		"\"data\":{\"reason\":\"SOME_REASON\",\"field\":\"a.b\",\"sessionId\":\"s1\",\"known\":[1]}}}");
	buf_reset(&b);
	memset(&err, 0, sizeof(err));
	rpc_put_error(&b, SLICE("null"), &err, SLICE_NONE);
	assert_buf(&b,
		   "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32603,\"message\":\"\","
		   "\"data\":{\"reason\":\"INTERNAL\"}}}");
}

/* Text that was cut in the middle of a character must not make the message invalid. */
static void test_error_text_is_repaired(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct err err = { 0 };
	char text[400] = "x";

	for (int i = 0; i < 190; i++)
		strcat(text, "\xc3\xa9");
	err_field(&err, text, "R", "%s", text);
	rpc_put_error(&b, SLICE("1"), &err, SLICE_NONE);
	assert_int_equal(jscan_value(buf_slice(&b), NULL), JSCAN_OK);
}

static void test_call_encoding(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	rpc_put_request(&b, 2147483646, "a/b", SLICE("{\"x\":1}"));
	assert_buf(
		&b,
		"{\"jsonrpc\":\"2.0\",\"id\":2147483646,\"method\":\"a/b\",\"params\":{\"x\":1}}");
	assert_int_equal(rpc_parse(buf_slice(&b), &m, &e), RPC_PARSED);
	buf_reset(&b);
	rpc_put_notification(&b, "n", SLICE("{}"));
	assert_buf(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{}}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_notifications),
		cmocka_unit_test(test_long_method),
		cmocka_unit_test(test_responses),
		cmocka_unit_test(test_odd_errors_still_answer),
		cmocka_unit_test(test_ids_are_not_repaired),
		cmocka_unit_test(test_repaired),
		cmocka_unit_test(test_ids_are_echoed),
		cmocka_unit_test(test_long_ids),
		cmocka_unit_test(test_malformed_is_answered),
		cmocka_unit_test(test_params_that_are_no_object),
		cmocka_unit_test(test_params_in_the_same_pass),
		cmocka_unit_test(test_error_encoding),
		cmocka_unit_test(test_error_text_is_repaired),
		cmocka_unit_test(test_call_encoding),
	};

	return RUN(tests, NULL, NULL);
}
