/* "input_required" for a legacy client: questions to it, and the same request again with its answers. */
#include "mcp_rig.h"

#include "base/limits.h"
#include "tools/mcp/mcp_front_internal.h"

#define RPC_ "{\"jsonrpc\":\"2.0\","
#define ALL "{\"elicitation\":{\"form\":{},\"url\":{}},\"sampling\":{\"tools\":{}},\"roots\":{}}"
#define PARAMS "{\"name\":\"t\",\"arguments\":{\"n\":9007199254740993,\"f\":1.0}}"
#define PARAMS_AND(more)                                                                           \
	"{\"name\":\"t\",\"arguments\":{\"n\":9007199254740993,\"f\":1.0}," more LEGACY_META(      \
		ALL) "}"
#define CALL RPC_ "\"id\":\"q\",\"method\":\"tools/call\",\"params\":" PARAMS "}"
#define ANSWER(id, result) RPC_ "\"id\":" id ",\"result\":" result "}"
#define FORM                                                                                       \
	"{\"message\":\"\\ud83d\\ude00\",\"requestedSchema\":{\"n\":1.0},\"_meta\":{\"a\":null}}"
#define ASK(key, method, params) "\"" key "\":{\"method\":\"" method "\",\"params\":" params "}"
#define INPUT(questions, more)                                                                     \
	"{\"resultType\":\"input_required\",\"inputRequests\":{" questions "}" more "}"
#define QUESTION(id, method, params)                                                               \
	"< \"q\" " RPC_ "\"id\":" id ",\"method\":\"" method "\",\"params\":" params "}\n"
#define TAKEN_BACK(id)                                                                             \
	"< \"q\" " RPC_ "\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":" id     \
	"}}\n"
#define TOOL_ERROR(code, text)                                                                     \
	"<! \"q\" " RPC_                                                                           \
	"\"id\":\"q\",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"" text                \
	"\"}],\"structuredContent\":{\"error\":{\"code\":\"" code "\",\"message\":\"" text         \
	"\"}},\"isError\":true}}\n"

static struct mcp_rig *rig_asked(const char *capabilities, const char *result)
{
	struct mcp_rig *r = mcp_rig_legacy(capabilities, "{}");

	mcp_rig_say(r, CALL);
	buf_reset(&r->log);
	mcp_rig_result(r, 1, result);
	return r;
}

/* All kinds in one round, answered out of order; two rounds; every byte of questions, answers and state. */
static void test_rounds(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r = rig_asked(
		ALL,
		INPUT(ASK("\\u0061", "elicitation/create", FORM) "," ASK(
			      "b", "sampling/createMessage",
			      "{\"messages\":[],\"maxTokens\":1.0,\"tools\":[]}") ",\"c\":{\"method\":\"roots/list\"}",
		      ",\"requestState\":\"\\u0041\\/\\ud83d\\ude00=\""));

	assert_log(
		r,
		QUESTION("1", "elicitation/create", FORM) QUESTION(
			"2", "sampling/createMessage",
			"{\"messages\":[],\"maxTokens\":1.0,\"tools\":[]}") "< \"q\" " RPC_
									    "\"id\":3,\"method\":\"roots/list\"}\n");
	mcp_rig_say(r, ANSWER("3", "{\"roots\":[]}"));
	mcp_rig_say(r, ANSWER("4", "{}"));
	mcp_rig_say(r, ANSWER("1", "{\"action\":\"accept\",\"content\":{\"n\":9007199254740993}}"));
	assert_log(r, "");
	mcp_rig_say(r, ANSWER("2", "{\"role\":\"assistant\",\"content\":\"\\u00e9\"}"));
	assert_log(
		r,
		"> tools/call " PARAMS_AND(
			"\"inputResponses\":{\"c\":{\"roots\":[]},\"\\u0061\":{\"action\":\"accept\",\"content\":{\"n\":"
			"9007199254740993}},\"b\":{\"role\":\"assistant\",\"content\":\"\\u00e9\"}},"
			"\"requestState\":\"\\u0041\\/\\ud83d\\ude00=\",") "\n");
	/* the second round has only its own answers and state */
	mcp_rig_result(r, 2, INPUT(ASK("d", "elicitation/create", "{}"), ""));
	assert_log(r, QUESTION("4", "elicitation/create", "{}"));
	mcp_rig_say(r, ANSWER("4", "{\"action\":\"cancel\"}"));
	assert_log(r, "> tools/call " PARAMS_AND(
			      "\"inputResponses\":{\"d\":{\"action\":\"cancel\"}},") "\n");
	mcp_rig_notify(r, 3, "notifications/message", "{\"level\":\"info\"}");
	mcp_rig_result(r, 3, "{\"resultType\":\"complete\",\"content\":[]}");
	assert_log(r, "< \"q\" " RPC_
		      "\"method\":\"notifications/message\",\"params\":{\"level\":\"info\"}}\n"
		      "<! \"q\" " RPC_ "\"id\":\"q\",\"result\":{\"content\":[]}}\n");
}

/* A server that is busy gives a state and no question. */
static void test_state_only(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r = rig_asked(
		ALL,
		"{\"resultType\":\"input_required\",\"inputRequests\":{ },\"requestState\":\"s\"}");

	mcp_rig_run(r, MCP_PACE_MS / 2);
	assert_log(r, "");
	mcp_rig_run(r, MCP_PACE_MS);
	assert_log(r, "> tools/call " PARAMS_AND("\"requestState\":\"s\",") "\n");
}

static void test_url_gets_an_id(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r = rig_asked(
		ALL,
		INPUT(ASK("a", "elicitation/create", "{\"mode\":\"url\",\"url\":\"u:\\/\"}"), ""));
	struct slice log = buf_slice(&r->log);

	assert_true(slice_starts(log,
				 "< \"q\" " RPC_
				 "\"id\":1,\"method\":\"elicitation/create\",\"params\":{\"mode\":"
				 "\"url\",\"url\":\"u:\\/\",\"elicitationId\":\""));
	assert_non_null(strstr(log.p, "\"}}\n"));
	buf_reset(&r->log);
	mcp_rig_say(r, ANSWER("1", "{}"));
	buf_reset(&r->log);
	mcp_rig_result(
		r, 2,
		INPUT(ASK("a", "elicitation/create", "{\"mode\":\"url\",\"elicitationId\":\"1\"}"),
		      ""));
	assert_log(r, QUESTION("2", "elicitation/create",
			       "{\"mode\":\"url\",\"elicitationId\":\"1\"}"));
}

/* What a client has not announced it is not asked; the result names it. */
static void test_capabilities(void **state _unused_)
{
	static const struct {
		const char *capabilities, *method, *params, *missing; /* NULL: it is asked */
	} rows[] = {
		{ "{}", "elicitation/create", "{}", "elicitation.form" },
		{ "{\"elicitation\":null}", "elicitation/create", "{}", "elicitation.form" },
		{ "{\"elicitation\":{}}", "elicitation/create", "{}", NULL },
		{ "{\"elicitation\":{}}", "elicitation/create", "{\"mode\":\"form\"}", NULL },
		{ "{\"elicitation\":{}}", "elicitation/create", "{\"mode\":\"url\"}",
		  "elicitation.url" },
		{ "{\"elicitation\":{\"url\":{}}}", "elicitation/create", "{}",
		  "elicitation.form" },
		{ "{\"elicitation\":{\"url\":{},\"form\":{}}}", "elicitation/create", "{}", NULL },
		{ "{\"sampling\":{}}", "sampling/createMessage", "{}", NULL },
		{ "{\"roots\":{}}", "sampling/createMessage", "{}", "sampling" },
		{ "{\"sampling\":{}}", "sampling/createMessage", "{\"toolChoice\":{}}",
		  "sampling.tools" },
		{ "{\"sampling\":{\"tools\":{}}}", "sampling/createMessage", "{\"tools\":[]}",
		  NULL },
		{ "{\"roots\":{\"listChanged\":true}}", "roots/list", "{}", NULL },
		{ "{\"roots\":{}}", "roots/list", "null", NULL },
		{ "{}", "roots/list", "{}", "roots" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf result = { 0 }, want = { 0 };
		_cleanup_(mcp_rig_free) struct mcp_rig *r = NULL;

		buf_printf(&result, INPUT(ASK("k", "%s", "%s"), ""), rows[i].method,
			   rows[i].params);
		r = rig_asked(rows[i].capabilities, result.data);
		if (rows[i].missing)
			buf_printf(
				&want,
				TOOL_ERROR(
					"CAPABILITY_MISSING",
					"tools/call asked for %s, and the client has not announced the capability \\\"%s\\\""),
				rows[i].method, rows[i].missing, rows[i].method, rows[i].missing);
		if (!rows[i].missing && !slice_starts(buf_slice(&r->log), "< \"q\""))
			fail_row(i, r->log.data);
		if (rows[i].missing)
			assert_log(r, want.data);
	}
}

/* Results that say "input_required" and nothing that can be done. */
static void test_invalid_rounds(void **state _unused_)
{
	static const char *const rows[][2] = {
		{ "{\"resultType\":\"input_required\"}",
		  "tools/call needs input and does not say which" },
		{ INPUT("", ""), "tools/call needs input and does not say which" },
		{ INPUT("", ",\"requestState\":7"),
		  "tools/call needs input and does not say which" },
		{ INPUT(ASK("k", "ping", "{}"), ""),
		  "tools/call asked for input in a way that MCP has not got: \\\"k\\\"" },
		{ INPUT("\"k\":7", ""),
		  "tools/call asked for input in a way that MCP has not got: \\\"k\\\"" },
		{ INPUT("\"k\":{\"method\":\"elicitation/create\"}", ""),
		  "tools/call asked for input in a way that MCP has not got: \\\"k\\\"" },
		{ INPUT(ASK("k", "elicitation/create", "null"), ""),
		  "tools/call asked for input in a way that MCP has not got: \\\"k\\\"" },
		{ INPUT(ASK("k", "roots/list", "[]"), ""),
		  "tools/call asked for input in a way that MCP has not got: \\\"k\\\"" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(mcp_rig_free) struct mcp_rig *r = rig_asked(ALL, rows[i][0]);
		_cleanup_(buf_done) struct buf want = { 0 };

		buf_printf(&want, TOOL_ERROR("INPUT_INVALID", "%s"), rows[i][1], rows[i][1]);
		assert_log(r, want.data);
	}
}

static void test_too_many_questions(void **state _unused_)
{
	_cleanup_(buf_done) struct buf result = { 0 };
	_cleanup_(mcp_rig_free) struct mcp_rig *r = NULL;

	buf_puts(&result, "{\"resultType\":\"input_required\",\"inputRequests\":{");
	for (int i = 0; i <= MCP_ASKS_MAX; i++)
		buf_printf(&result, "%s" ASK("%d", "roots/list", "{}"), i ? "," : "", i);
	buf_puts(&result, "}}");
	buf_putc(&result, '\0');
	r = rig_asked(ALL, result.data);
	assert_log(r,
		   TOOL_ERROR("INPUT_INVALID", "tools/call asked more than 32 questions at once"));
}

static void test_too_many_rounds(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r =
		rig_asked(ALL, INPUT(ASK("k", "roots/list", "{}"), ""));

	for (unsigned i = 1; i < MCP_ROUNDS_MAX; i++) {
		char answer[100];

		snprintf(answer, sizeof(answer), ANSWER("%u", "{}"), i);
		mcp_rig_say(r, answer);
		mcp_rig_result(r, i + 1, INPUT(ASK("k", "roots/list", "{}"), ""));
	}
	mcp_rig_say(r, ANSWER("8", "{}"));
	buf_reset(&r->log);
	mcp_rig_result(r, MCP_ROUNDS_MAX + 1, INPUT(ASK("k", "roots/list", "{}"), ""));
	assert_log(r, TOOL_ERROR("INPUT_ROUNDS",
				 "tools/call still needs input after 8 rounds of questions"));
}

#define TWO INPUT(ASK("a", "elicitation/create", "{}") "," ASK("b", "roots/list", "{}"), "")

/* One refused question ends the round; the others are taken back. */
static void test_refused(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r = rig_asked(ALL, TWO);

	buf_reset(&r->log);
	mcp_rig_say(r, RPC_ "\"id\":2,\"error\":{\"code\":-1,\"message\":\"not\\nnow\"}}");
	assert_log(r, TAKEN_BACK("1")
			      TOOL_ERROR("INPUT_REFUSED",
					 "tools/call needs an answer from the client: not now"));
	mcp_rig_say(r, ANSWER("1", "{}"));
	assert_log(r, "");
}

static void test_cancelled_while_asking(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r = rig_asked(ALL, TWO);

	buf_reset(&r->log);
	mcp_rig_say(r, RPC_
		    "\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"q\"}}");
	assert_log(r, TAKEN_BACK("1") TAKEN_BACK("2") "gone \"q\"\n");
	mcp_rig_say(r, ANSWER("1", "{}"));
	assert_log(r, "");
}

static void test_nobody_answers(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r = rig_asked(ALL, TWO);
	struct loop_timer *timer = &list_first(&r->front->open, struct front_request, link)->timer;

	buf_reset(&r->log);
	assert_true(timer->due > 0);
	timer->fn(timer->ctx); /* ten minutes later */
	assert_log(
		r,
		TAKEN_BACK("1") TAKEN_BACK("2") TOOL_ERROR(
			"INPUT_TIMEOUT",
			"tools/call needs an answer from the client, which has not come within 630 "
			"seconds"));
}

/* Where there is no model to read a result, and where MCP has no questions. */
static void test_other_methods(void **state _unused_)
{
	static const char *const rows[][2] = {
		{ "prompts/get",
		  "{\"code\":-32603,\"message\":\"prompts/get asked for roots/list, and the client has not "
		  "announced the capability \\\"roots\\\"\",\"data\":{\"reason\":\"CAPABILITY_MISSING\"}}" },
		{ "resources/read",
		  "{\"code\":-32603,\"message\":\"resources/read asked for roots/list, and the client has not "
		  "announced the capability \\\"roots\\\"\",\"data\":{\"reason\":\"CAPABILITY_MISSING\"}}" },
		{ "tools/list",
		  "{\"code\":-32603,\"message\":\"the server needs input for a method that cannot have any\","
		  "\"data\":{\"reason\":\"INPUT_INVALID\"}}" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(mcp_rig_free) struct mcp_rig *r = mcp_rig_legacy("{}", "{}");
		_cleanup_(buf_done) struct buf text = { 0 };

		buf_printf(&text, RPC_ "\"id\":1,\"method\":\"%s\"}", rows[i][0]);
		mcp_rig_say(r, text.data);
		buf_reset(&r->log);
		mcp_rig_result(r, 1, INPUT(ASK("k", "roots/list", "{}"), ""));
		buf_reset(&text);
		buf_printf(&text, "<! 1 " RPC_ "\"id\":1,\"error\":%s}\n", rows[i][1]);
		assert_log(r, text.data);
	}
}

/* A front that goes while questions are open leaves nothing behind. */
static void test_free_while_asking(void **state _unused_)
{
	_cleanup_(mcp_rig_free) struct mcp_rig *r = rig_asked(ALL, TWO);

	buf_reset(&r->log);
	r->front = mcp_front_free(r->front);
	assert_log(r, "");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rounds),
		cmocka_unit_test(test_state_only),
		cmocka_unit_test(test_url_gets_an_id),
		cmocka_unit_test(test_capabilities),
		cmocka_unit_test(test_invalid_rounds),
		cmocka_unit_test(test_too_many_questions),
		cmocka_unit_test(test_too_many_rounds),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_cancelled_while_asking),
		cmocka_unit_test(test_nobody_answers),
		cmocka_unit_test(test_other_methods),
		cmocka_unit_test(test_free_while_asking),
	};

	return RUN(tests, NULL, NULL);
}
