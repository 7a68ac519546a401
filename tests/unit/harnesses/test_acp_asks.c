/* Requests of an ACP agent: permissions and elicitations become asks that are answered once, all else is refused. */
#include "adapter_session.h"

#include "harnesses/acp/internal.h"

static int setup(void **state _unused_)
{
	struct harness_req req = fake_request();

	req.elicitation = true;
	return fake_ready(&f, &harness_acp, &req) ? 0 : -1;
}

static int setup_without_elicitation(void **state _unused_)
{
	return fake_ready(&f, &harness_acp, NULL) ? 0 : -1;
}

#define answer(id, text) harness_acp_answer(f.h, id, SLICE(text))

#define OPTION(id) "{\"optionId\":\"" id "\",\"name\":\"N\",\"kind\":\"allow_once\"}"
#define PARAMS                                                                                     \
	"{\"sessionId\":\"n1\",\"toolCall\":{\"toolCallId\":\"c\"},\"options\":[" OPTION(          \
		"a") "," OPTION("b") "]}"
#define PERMISSION(id, params)                                                                     \
	"{\"id\":" id ",\"method\":\"session/request_permission\",\"params\":" params "}"
#define SELECTED "{\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"a\"}}"

static void test_permission(void **state _unused_)
{
	feed(PERMISSION("0", PARAMS));
	assert_log("ask 1 permission " PARAMS "\n");
	answer(1, SELECTED);
	assert_log("send {\"jsonrpc\":\"2.0\",\"id\":0,\"result\":" SELECTED "}\n");
	answer(1, SELECTED);
	answer(2, SELECTED);
	answer(0, SELECTED);
	assert_log("");
}

/* Several at once, under every kind of id, answered in any order. */
static void test_ids_are_echoed(void **state _unused_)
{
	feed(PERMISSION("\"caf\\u00e9\"", PARAMS));
	feed(PERMISSION("1e400", PARAMS));
	feed(PERMISSION("null", PARAMS));
	feed(PERMISSION("-0", PARAMS));
	buf_reset(&f.log);
	answer(3, "{}");
	answer(1, "{}");
	answer(4, "{}");
	answer(2, "{}");
	assert_log("send {\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{}}\n"
		   "send {\"jsonrpc\":\"2.0\",\"id\":\"caf\\u00e9\",\"result\":{}}\n"
		   "send {\"jsonrpc\":\"2.0\",\"id\":-0,\"result\":{}}\n"
		   "send {\"jsonrpc\":\"2.0\",\"id\":1e400,\"result\":{}}\n");
}

static void test_answered_from_within_the_ask(void **state _unused_)
{
	f.answer_at_once = SELECTED;
	feed(PERMISSION("5", PARAMS));
	assert_log("ask 1 permission " PARAMS "\n"
		   "send {\"jsonrpc\":\"2.0\",\"id\":5,\"result\":" SELECTED "}\n");
	f.answer_at_once = NULL;
	answer(1, SELECTED);
	assert_log("");
}

static void test_malformed_permissions(void **state _unused_)
{
	static const char *const rows[] = {
		"{}",
		"{\"toolCall\":{\"toolCallId\":\"c\"}}",
		"{\"toolCall\":{\"toolCallId\":\"c\"},\"options\":[]}",
		"{\"toolCall\":{\"toolCallId\":\"c\"},\"options\":{}}",
		"{\"toolCall\":{},\"options\":[" OPTION("a") "]}",
		"{\"toolCall\":{\"toolCallId\":1},\"options\":[" OPTION("a") "]}",
		"{\"toolCall\":\"c\",\"options\":[" OPTION("a") "]}",
		"{\"options\":[" OPTION("a") "]}",
		"{\"toolCall\":{\"toolCallId\":\"c\"},\"options\":[" OPTION("a") "," OPTION(
			"a") "]}",
		"{\"toolCall\":{\"toolCallId\":\"c\"},\"options\":[1]}",
		"{\"toolCall\":{\"toolCallId\":\"c\"},\"options\":[{\"optionId\":\"a\",\"name\":\"N\"}]}",
		"{\"toolCall\":{\"toolCallId\":\"c\"},\"options\":[{\"optionId\":\"a\",\"kind\":\"allow_once\"}]}",
		"{\"toolCall\":{\"toolCallId\":\"c\"},\"options\":[{\"name\":\"N\",\"kind\":\"allow_once\"}]}",
		"{\"toolCall\":{\"toolCallId\":\"c\"},\"options\":[{\"optionId\":7,\"name\":\"N\",\"kind\":\"x\"}]}",
		"{\"toolCall\":{\"toolCallId\":\"c\"},\"options\":[" OPTION(
			"a") "],\"options\":[" OPTION("a") "]}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[400];

		snprintf(text, sizeof(text), PERMISSION("9", "%s"), rows[i]);
		feed(text);
		if (f.asks)
			fail_row(i, rows[i]);
		assert_log(
			"send {\"jsonrpc\":\"2.0\",\"id\":9,\"error\":{\"code\":-32602,"
			"\"message\":\"malformed permission request\",\"data\":{\"reason\":\"PARAMS_INVALID\"}}}\n");
	}
}

/* The client's files and terminals are not the sandbox's. */
static void test_other_requests_are_refused(void **state _unused_)
{
	static const char *const methods[] = { "fs/read_text_file",
					       "fs/write_text_file",
					       "terminal/create",
					       "_vendor/x",
					       "session/update",
					       "session/request_permissions",
					       "" };

	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		char text[100];

		snprintf(text, sizeof(text), "{\"id\":\"r\",\"method\":\"%s\",\"params\":{}}",
			 methods[i]);
		feed(text);
		assert_log(
			"send {\"jsonrpc\":\"2.0\",\"id\":\"r\",\"error\":{\"code\":-32601,"
			"\"message\":\"Method not found\",\"data\":{\"reason\":\"METHOD_NOT_FOUND\"}}}\n");
	}
}

/* Parameters by position are JSON-RPC all the same: the request is refused, the agent lives. */
static void test_positional_parameters(void **state _unused_)
{
	feed("{\"id\":6,\"method\":\"_vendor/x\",\"params\":[1]}");
	assert_non_null(strstr(f.log.data, "\"id\":6,\"error\""));
	buf_reset(&f.log);
	feed("{\"method\":\"_vendor/x\",\"params\":[1]}");
	assert_log("");
}

#define ELICITATION                                                                                \
	"{\"sessionId\":\"n1\",\"mode\":\"form\",\"message\":\"m\",\"requestedSchema\":{}}"

static void test_elicitation(void **state _unused_)
{
	feed("{\"id\":1,\"method\":\"elicitation/create\",\"params\":" ELICITATION "}");
	assert_log("ask 1 elicitation " ELICITATION "\n");
	answer(1, "{\"action\":\"accept\",\"content\":{}}");
	assert_log(
		"send {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"action\":\"accept\",\"content\":{}}}\n");
}

static void test_elicitation_not_offered(void **state _unused_)
{
	feed("{\"id\":1,\"method\":\"elicitation/create\",\"params\":" ELICITATION "}");
	assert_log(
		"send {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,"
		"\"message\":\"Method not found\",\"data\":{\"reason\":\"METHOD_NOT_FOUND\"}}}\n");
}

#define WITHDRAW(id) "{\"method\":\"$/cancel_request\",\"params\":{\"requestId\":" id "}}"

static void test_withdrawn(void **state _unused_)
{
	feed(PERMISSION("7", PARAMS));
	feed(PERMISSION("\"7\"", PARAMS));
	buf_reset(&f.log);
	feed(WITHDRAW("8"));
	feed(WITHDRAW("null"));
	feed("{\"method\":\"$/cancel_request\",\"params\":{}}");
	feed("{\"method\":\"$/cancel_request\"}");
	assert_log("");
	feed(WITHDRAW("\"7\""));
	assert_log("send {\"jsonrpc\":\"2.0\",\"id\":\"7\",\"error\":{\"code\":-32800,"
		   "\"message\":\"Request cancelled\",\"data\":{\"reason\":\"CANCELLED\"}}}\n"
		   "unask 2\n");
	feed(WITHDRAW("\"7\""));
	answer(2, SELECTED);
	assert_log("");
	answer(1, SELECTED);
	assert_log("send {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":" SELECTED "}\n");
}

static void test_child_does_not_read(void **state _unused_)
{
	feed(PERMISSION("7", PARAMS));
	f.send_result = -EPIPE;
	answer(1, SELECTED);
	feed(PERMISSION("8", "{}"));
	f.send_result = 0;
	answer(1, SELECTED);
	assert_log("ask 1 permission " PARAMS "\n");
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, session_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_permission),
		T(test_ids_are_echoed),
		T(test_answered_from_within_the_ask),
		T(test_malformed_permissions),
		T(test_other_requests_are_refused),
		T(test_positional_parameters),
		T(test_elicitation),
		cmocka_unit_test_setup_teardown(test_elicitation_not_offered,
						setup_without_elicitation, session_teardown),
		T(test_withdrawn),
		T(test_child_does_not_read),
	};

	return RUN(tests, NULL, NULL);
}
