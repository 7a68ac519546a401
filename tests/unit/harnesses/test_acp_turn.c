/* The generic ACP adapter at work: prompts, updates, how turns end, cancel, settings, and what is no message. */
#include "adapter_session.h"

#include "harnesses/acp/internal.h"

static int setup(void **state _unused_)
{
	return fake_ready(&f, &harness_acp, NULL) ? 0 : -1;
}

#define TEXT "[{\"type\":\"text\",\"text\":\"hi\"}]"
#define CHUNK                                                                                      \
	"{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"t\"}}"

static void prompt(void)
{
	assert_int_equal(fake_prompt(&f, TEXT, NULL), 0);
	buf_reset(&f.log);
}

static void test_prompt(void **state _unused_)
{
	assert_int_equal(fake_prompt(&f, TEXT, "{\"traceparent\":\"00-1\"}"), 0);
	assert_log(
		"send {\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"n1\","
		"\"prompt\":" TEXT ",\"_meta\":{\"traceparent\":\"00-1\"}}}\n");
	feed("{\"id\":3,\"result\":{\"stopReason\":\"end_turn\",\"usage\":{\"inputTokens\":1}}}");
	assert_log("usage turn input=1\nend end_turn\n");
	assert_int_equal(fake_prompt(&f, TEXT, NULL), 0);
	assert_log(
		"send {\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"n1\","
		"\"prompt\":" TEXT "}}\n");
}

static void test_stop_reasons(void **state _unused_)
{
	static const char *const reasons[] = { "end_turn", "max_tokens", "max_turn_requests",
					       "refusal", "cancelled" };

	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		char text[100], want[40];

		prompt();
		snprintf(text, sizeof(text), "{\"id\":%zu,\"result\":{\"stopReason\":\"%s\"}}",
			 i + 3, reasons[i]);
		feed(text);
		snprintf(want, sizeof(want), "end %s\n", reasons[i]);
		assert_log(want);
	}
}

/* An answer without a known reason is a failure, not an empty success. */
static void test_no_stop_reason(void **state _unused_)
{
	static const char *const results[] = {
		"{}",
		"null",
		"[]",
		"\"end_turn\"",
		"{\"stopReason\":\"done\"}",
		"{\"stopReason\":null}",
		"{\"stopReason\":\"END_TURN\"}",
		"{\"stopReason\":\"end_turn\",\"stopReason\":\"cancelled\"}"
	};

	for (size_t i = 0; i < ARRAY_SIZE(results); i++) {
		char text[120];

		prompt();
		snprintf(text, sizeof(text), "{\"id\":%zu,\"result\":%s}", i + 3, results[i]);
		feed(text);
		assert_log("end failed harness_protocol 0 retryable=0 "
			   "the harness ended the turn without a known stop reason\n");
	}
}

static void test_error_classes(void **state _unused_)
{
	static const struct {
		const char *error, *end;
	} rows[] = {
		{ "{\"code\":-32000,\"message\":\"login\"}", "auth 0 retryable=0 login" },
		{ "{\"code\":-32603,\"message\":\"m\",\"data\":{\"statusCode\":401}}",
		  "auth 401 retryable=0 m" },
		{ "{\"code\":-32603,\"message\":\"m\",\"data\":{\"status\":403}}",
		  "auth 403 retryable=0 m" },
		{ "{\"code\":-32603,\"message\":\"m\",\"data\":{\"httpStatus\":429}}",
		  "rate_limit 429 retryable=1 m" },
		{ "{\"code\":-32603,\"message\":\"m\",\"data\":{\"statusCode\":500}}",
		  "provider 500 retryable=1 m" },
		{ "{\"code\":-32603,\"message\":\"m\",\"data\":{\"statusCode\":404}}",
		  "provider 404 retryable=0 m" },
		{ "{\"code\":-32603,\"message\":\"m\",\"data\":{\"statusCode\":\"500\"}}",
		  "harness_error 0 retryable=0 m" },
		{ "{\"code\":-32603,\"message\":\"m\",\"data\":{\"statusCode\":7}}",
		  "harness_error 0 retryable=0 m" },
		{ "{\"code\":-32603,\"message\":\"m\",\"data\":{\"statusCode\":1e3}}",
		  "harness_error 0 retryable=0 m" },
		{ "{\"code\":-32603,\"message\":\"m\",\"data\":{\"errorName\":\"APIError\"}}",
		  "provider 0 retryable=0 m" },
		{ "{\"code\":-32603,\"message\":\"m\",\"data\":\"text\"}",
		  "harness_error 0 retryable=0 m" },
		{ "{\"code\":1e400,\"message\":\"\\u00e9\"}",
		  "harness_error 0 retryable=0 \xc3\xa9" },
		{ "{\"code\":\"x\"}",
		  "harness_error 0 retryable=0 the harness reported an error without a message" },
		{ "{\"message\":\"\"}",
		  "harness_error 0 retryable=0 the harness reported an error without a message" },
		{ "{\"message\":\"a\\u0000b\"}", "harness_error 0 retryable=0 a\xef\xbf\xbd"
						 "b" },
		{ "\"boom\"",
		  "harness_error 0 retryable=0 the harness reported an error without a message" },
		{ "null",
		  "harness_error 0 retryable=0 the harness reported an error without a message" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[200], want[200];

		prompt();
		snprintf(text, sizeof(text), "{\"id\":%zu,\"error\":%s}", i + 3, rows[i].error);
		feed(text);
		snprintf(want, sizeof(want), "end failed %s\n", rows[i].end);
		assert_log(want);
	}
}

/* One line, whatever the agent writes as its message. */
static void test_error_message_is_one_line(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct slice log;

	prompt();
	buf_puts(&b, "{\"id\":3,\"error\":{\"code\":-32603,\"message\":\"a\\nb\\r\\tc");
	for (int i = 0; i < 1000; i++)
		buf_puts(&b, "\xc3\xa9");
	buf_puts(&b, "\"}}");
	assert_int_equal(fake_line(&f, buf_slice(&b)), 0);
	log = buf_slice(&f.log);
	assert_non_null(memmem(log.p, log.n, "a b  c", 6));
	assert_ptr_equal(memchr(log.p, '\n', log.n), log.p + log.n - 1);
}

static void test_answered_once(void **state _unused_)
{
	prompt();
	feed("{\"id\":4,\"result\":{\"stopReason\":\"end_turn\"}}");
	feed("{\"id\":\"3\",\"result\":{\"stopReason\":\"end_turn\"}}");
	feed("{\"id\":null,\"result\":{\"stopReason\":\"end_turn\"}}");
	feed("{\"id\":3.0,\"result\":{\"stopReason\":\"end_turn\"}}");
	feed("{\"result\":{\"stopReason\":\"end_turn\"}}");
	assert_log("");
	feed("{\"id\":3,\"result\":{\"stopReason\":\"refusal\"}}");
	feed("{\"id\":3,\"result\":{\"stopReason\":\"end_turn\"}}");
	feed("{\"id\":3,\"error\":{\"code\":1,\"message\":\"late\"}}");
	feed("{\"id\":2,\"result\":{\"sessionId\":\"other\"}}");
	feed("{\"id\":1,\"result\":{\"protocolVersion\":1}}");
	assert_log("end refusal\n");
}

/* --- updates ----------------------------------------------------------------------------------------------- */

#define UPDATE(params) "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":" params "}"

static void test_updates(void **state _unused_)
{
	prompt();
	feed(UPDATE("{\"sessionId\":\"n1\",\"update\":" CHUNK "}"));
	feed(UPDATE("{\"_meta\":{\"a\":1e400},\"update\":" CHUNK
		    ",\"sess\\u0069onId\":\"n\\u0031\",\"x\":0}"));
	assert_log("event agent_message_chunk " CHUNK "\n"
		   "event agent_message_chunk " CHUNK " meta={\"a\":1e400}\n");
	/* byte for byte, spaces, escapes and unknown members included */
	feed(UPDATE(
		"{\"sessionId\":\"n1\",\"update\": { \"sessionUpdate\" : \"plan\", \"entries\":[ ],\"\\u0078\":-0} }"));
	assert_log("event plan { \"sessionUpdate\" : \"plan\", \"entries\":[ ],\"\\u0078\":-0}\n");
}

static void test_updates_that_are_not_passed_on(void **state _unused_)
{
	static const char *const params[] = {
		"{}",
		"{\"sessionId\":\"n1\"}",
		"{\"sessionId\":\"other\",\"update\":" CHUNK "}",
		"{\"update\":" CHUNK "}",
		"{\"sessionId\":1,\"update\":" CHUNK "}",
		"{\"sessionId\":\"n1\",\"update\":[]}",
		"{\"sessionId\":\"other\",\"update\":{\"sessionUpdate\":\"invented\"}}",
		"{\"sessionId\":\"n1\",\"update\":{\"sessionUpdate\":\"agent_message_chunk\"}}",
		"{\"sessionId\":\"n1\",\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"content\":\"t\"}}",
		"[]",
		"7",
	};

	for (size_t i = 0; i < ARRAY_SIZE(params); i++) {
		char text[400];

		snprintf(text, sizeof(text), UPDATE("%s"), params[i]);
		feed(text);
		if (buf_len(&f.log))
			fail_row(i, params[i]);
	}
	feed("{\"method\":\"session/updates\",\"params\":{\"sessionId\":\"n1\",\"update\":" CHUNK
	     "}}");
	feed("{\"method\":\"_vendor/thing\"}");
	feed("{\"method\":\"$/progress\",\"params\":{}}");
	assert_log("");
}

static void test_updates_of_unknown_kinds(void **state _unused_)
{
	feed(UPDATE("{\"sessionId\":\"n1\",\"update\":{}}"));
	assert_log("unknown {}\n");
	feed(UPDATE("{\"sessionId\":\"n1\",\"update\":{\"sessionUpdate\":\"invented\", \"x\":1}}"));
	assert_log("unknown {\"sessionUpdate\":\"invented\", \"x\":1}\n");
	feed(UPDATE("{\"sessionId\":\"n1\",\"update\":{\"sessionUpdate\":7}}"));
	assert_log("unknown {\"sessionUpdate\":7}\n");
}

/* Two readers could see two updates: none of them is passed on. A member that is twice in the update itself is the core's to mend: test_shapes.c. */
static void test_update_with_a_member_twice(void **state _unused_)
{
	static const char *const params[] = {
		"{\"sessionId\":\"n1\",\"update\":" CHUNK ",\"update\":" CHUNK "}",
		"{\"sessionId\":\"n1\",\"sessionId\":\"n1\",\"update\":" CHUNK "}",
		"{\"sessionId\":\"n1\",\"session\\u0049d\":\"n2\",\"update\":" CHUNK "}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(params); i++) {
		char text[400];

		snprintf(text, sizeof(text), UPDATE("%s"), params[i]);
		fake_line(&f, slice_of(text));
		if (buf_len(&f.log))
			fail_row(i, params[i]);
	}
}

/* --- cancel ------------------------------------------------------------------------------------------------- */

static void test_cancel(void **state _unused_)
{
	prompt();
	harness_acp_cancel(f.h);
	assert_log(
		"send {\"jsonrpc\":\"2.0\",\"method\":\"session/cancel\",\"params\":{\"sessionId\":\"n1\"}}\n");
	feed(UPDATE("{\"sessionId\":\"n1\",\"update\":" CHUNK "}"));
	feed("{\"id\":3,\"result\":{\"stopReason\":\"cancelled\"}}");
	assert_log("event agent_message_chunk " CHUNK "\nend cancelled\n");
}

/* --- settings ----------------------------------------------------------------------------------------------- */

static void test_set_mode(void **state _unused_)
{
	assert_int_equal(harness_acp_set_mode(f.h, 70, "a\"b", &f.err), 0);
	assert_log(
		"send {\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"session/set_mode\",\"params\":{\"sessionId\":\"n1\","
		"\"modeId\":\"a\\\"b\"}}\n");
	feed("{\"id\":3,\"result\":{}}");
	assert_log("reply 70 {}\n");
}

static void test_set_config(void **state _unused_)
{
	assert_int_equal(harness_acp_set_config(f.h, UINT64_MAX,
						SLICE("\"configId\":\"m\",\"value\":true"), &f.err),
			 0);
	assert_log(
		"send {\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"session/set_config_option\",\"params\":"
		"{\"sessionId\":\"n1\",\"configId\":\"m\",\"value\":true}}\n");
	feed("{\"id\":3,\"result\":{\"configOptions\":[]}}");
	assert_log("reply 18446744073709551615 {\"configOptions\":[]}\n");
}

static void test_setting_refused(void **state _unused_)
{
	static const struct {
		const char *error, *reply;
	} rows[] = {
		{ "{\"code\":-32602,\"message\":\"no such mode\"}", "error -32602 no such mode" },
		{ "{\"code\":-32601,\"message\":\"Method not found\"}",
		  "error -32601 Method not found" },
		{ "{\"code\":-32000,\"message\":\"x\\ny\"}", "error -32603 x y" },
		{ "{\"code\":1}", "error -32603 the harness reported an error without a message" },
		{ "7", "error -32603 the harness reported an error without a message" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[150], want[150];

		assert_int_equal(harness_acp_set_mode(f.h, 9, "m", &f.err), 0);
		buf_reset(&f.log);
		snprintf(text, sizeof(text), "{\"id\":%zu,\"error\":%s}", i + 3, rows[i].error);
		feed(text);
		snprintf(want, sizeof(want), "reply 9 %s\n", rows[i].reply);
		assert_log(want);
	}
}

/* A prompt and settings are open at once; each gets its own answer. */
static void test_answers_out_of_order(void **state _unused_)
{
	prompt();
	harness_acp_set_mode(f.h, 1, "a", &f.err);
	harness_acp_set_mode(f.h, 2, "b", &f.err);
	buf_reset(&f.log);
	feed("{\"id\":5,\"result\":{}}");
	feed("{\"id\":3,\"result\":{\"stopReason\":\"end_turn\"}}");
	feed("{\"id\":4,\"result\":{}}");
	assert_log("reply 2 {}\nend end_turn\nreply 1 {}\n");
}

static void test_child_does_not_read(void **state _unused_)
{
	f.send_result = -EPIPE;
	assert_int_equal(fake_prompt(&f, TEXT, NULL), -EPIPE);
	assert_string_equal(f.err.reason, "HARNESS_GONE");
	assert_int_equal(harness_acp_set_mode(f.h, 1, "m", &f.err), -EPIPE);
	assert_int_equal(harness_acp_set_config(f.h, 1, SLICE("\"configId\":\"m\""), &f.err),
			 -EPIPE);
	harness_acp_cancel(f.h);
	f.send_result = 0;
	/* what was not sent is not waited for */
	feed("{\"id\":3,\"result\":{\"stopReason\":\"end_turn\"}}");
	assert_log("");
}

/* The core ends what is open when the child dies: freeing says nothing more. */
static void test_free_is_silent(void **state _unused_)
{
	prompt();
	harness_acp_set_mode(f.h, 1, "m", &f.err);
	feed("{\"id\":\"q\",\"method\":\"session/request_permission\",\"params\":{\"sessionId\":\"n1\","
	     "\"toolCall\":{\"toolCallId\":\"c\"},\"options\":[{\"optionId\":\"a\",\"name\":\"A\",\"kind\":\"allow_once\"}]}}");
	buf_reset(&f.log);
	f.h = harness_acp_free(f.h);
	assert_log("");
	assert_null(harness_acp_free(NULL));
}

/* --- lines that are no messages ---------------------------------------------------------------------------- */

static void test_lines_without_a_message(void **state _unused_)
{
	static const char *const rows[] = {
		"hello",
		"{",
		"{\"id\":3,\"result\":{}} {}",
		"[]",
		"[{\"method\":\"x\"}]",
		"1",
		"null",
		"\"s\"",
		"{}",
		"{\"id\":1}",
		"{\"jsonrpc\":\"1.0\",\"method\":\"x\"}",
		"{\"id\":[],\"method\":\"x\"}",
		"{\"method\":\"\xff\"}",
		"{\"id\":3,\"id\":3,\"result\":{}}",
		"{\"id\":1,\"method\":7}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (fake_line(&f, slice_of(rows[i])) != HARNESS_NOT_A_MESSAGE)
			fail_row(i, rows[i]);
		assert_log("");
	}
}

static void test_id_too_long(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	buf_puts(&b, "{\"method\":\"x\",\"id\":\"");
	for (int i = 0; i < 1100; i++)
		buf_putc(&b, 'i');
	buf_puts(&b, "\"}");
	assert_int_equal(fake_line(&f, buf_slice(&b)), HARNESS_NOT_A_MESSAGE);
	assert_log("");
}

static void test_blank_lines(void **state _unused_)
{
	feed("");
	feed(" ");
	feed("\t \t");
	assert_log("");
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, session_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_prompt),
		T(test_stop_reasons),
		T(test_no_stop_reason),
		T(test_error_classes),
		T(test_error_message_is_one_line),
		T(test_answered_once),
		T(test_updates),
		T(test_updates_that_are_not_passed_on),
		T(test_updates_of_unknown_kinds),
		T(test_update_with_a_member_twice),
		T(test_cancel),
		T(test_set_mode),
		T(test_set_config),
		T(test_setting_refused),
		T(test_answers_out_of_order),
		T(test_child_does_not_read),
		T(test_free_is_silent),
		T(test_lines_without_a_message),
		T(test_id_too_long),
		T(test_blank_lines),
	};

	return RUN(tests, NULL, NULL);
}
