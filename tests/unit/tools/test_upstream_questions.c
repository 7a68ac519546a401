/* Questions of a legacy server in the middle of a call: the caller gets them as input_required, and its retry brings the answers. */
#include "upstream_rig.h"

#include "json/jscan.h"
#include "json/jstr.h"
#include "tools/mcp/tag_backend.h"

#define ALL "{\"elicitation\":{},\"sampling\":{},\"roots\":{}}"
#define WHO(s) ",\"acpd\":{\"session\":\"" s "\"}"
#define ARGS "\"name\":\"t\",\"arguments\":{\"a\":1.0}"

static struct told a, b;

static void call(struct told *t, const char *params)
{
	told_call(t, &ups->backend, "tools/call", params);
	loop_run_deferred(ups_loop);
}

static void over(struct told *t)
{
	buf_done(&t->text);
}

/* What the caller got is input_required; its requestState, raw. */
static char *state_of(const struct told *t)
{
	struct slice text = buf_slice(&t->text);
	struct jval state;

	assert_true(slice_skip(&text, "= "));
	assert_true(jstr_is(jobj_get(text, "resultType"), "input_required"));
	state = jobj_get(text, "requestState");
	assert_int_equal(state.type, J_STRING);
	return xstrndup(state.raw.p, state.raw.n);
}

static void asks(struct told *t, const char *want)
{
	struct slice text = buf_slice(&t->text);

	assert_true(t->done && slice_skip(&text, "= "));
	assert_text(jobj_get(text, "inputRequests").raw, want);
}

static void error_is(struct told *t, const char *reason)
{
	struct slice text = buf_slice(&t->text);

	loop_run_deferred(ups_loop);
	text = buf_slice(&t->text);
	assert_true(t->done && slice_skip(&text, "! "));
	assert_true(jstr_is(jobj_get(jobj_get(text, "data").raw, "reason"), reason));
	over(t);
}

static void retry(struct told *t, const char *args, const char *state, const char *responses,
		  const char *meta)
{
	_cleanup_(buf_done) struct buf p = { 0 };

	buf_printf(&p, "{%s,\"inputResponses\":%s,\"requestState\":%s,\"_meta\":{%s}}", args,
		   responses, state, meta);
	buf_putc(&p, '\0');
	call(t, p.data);
}

#define CAPS "\"io.modelcontextprotocol/clientCapabilities\":" ALL

static void elicit(const char *id)
{
	char text[200];

	snprintf(text, sizeof(text),
		 "{\"id\":%s,\"method\":\"elicitation/create\",\"params\":{\"message\":\"\\u00e9\","
		 "\"n\":1.0}}",
		 id);
	ups_feed(text);
}

/* --- the way it should go --------------------------------------------------------------------------------- */

static void test_one_question(void **state _unused_)
{
	_cleanup_(freep) char *key = NULL;

	ups_legacy("{}");
	call(&a, "{" ARGS "," META_WITH(ALL, ",\"progressToken\":\"one\"") "}");
	buf_reset(&ups_sent);
	elicit("\"q\\u0031\"");
	asks(&a,
	     "{\"ask-1\":{\"method\":\"elicitation/create\",\"params\":{\"message\":\"\\u00e9\","
	     "\"n\":1.0}}}");
	ups_expect("");
	key = state_of(&a);
	retry(&b, ARGS, key, "{\"ask-1\":{\"action\":\"accept\",\"content\":{\"x\":1.50}}}",
	      CAPS ",\"progressToken\":\"two\"");
	ups_expect("{\"jsonrpc\":\"2.0\",\"id\":\"q\\u0031\",\"result\":{\"action\":\"accept\","
		   "\"content\":{\"x\":1.50}}}\n");
	ups_feed("{\"method\":\"notifications/progress\",\"params\":{\"progressToken\":2}}");
	ups_feed("{\"id\":2,\"result\":{\"content\":[]}}");
	assert_buf(&b.text, "~ notifications/progress {\"progressToken\":\"two\"}\n"
			    "= {\"resultType\":\"complete\",\"content\":[]}");
	over(&a);
	over(&b);
}

static void test_questions_together_and_again(void **state _unused_)
{
	_cleanup_(freep) char *one = NULL, *two = NULL;
	struct told c;

	ups_legacy("{}");
	call(&a, "{" ARGS "," META_WITH(ALL, "") "}");
	ups_feed("[{\"id\":7,\"method\":\"roots/list\"},{\"id\":8,\"method\":"
		 "\"sampling/createMessage\",\"params\":{\"maxTokens\":1}}]");
	asks(&a, "{\"ask-1\":{\"method\":\"roots/list\",\"params\":{}},\"ask-2\":{\"method\":"
		 "\"sampling/createMessage\",\"params\":{\"maxTokens\":1}}}");
	one = state_of(&a);
	elicit("9"); /* while the caller is away */
	buf_reset(&ups_sent);
	retry(&b, ARGS, one, "{\"ask-2\":{\"role\":\"assistant\"},\"other\":{}}", CAPS);
	ups_expect("{\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{\"role\":\"assistant\"}}\n");
	asks(&b, "{\"ask-1\":{\"method\":\"roots/list\",\"params\":{}},\"ask-3\":{\"method\":"
		 "\"elicitation/create\",\"params\":{\"message\":\"\\u00e9\",\"n\":1.0}}}");
	two = state_of(&b);
	assert_string_not_equal(one, two);
	retry(&c, ARGS, one, "{}", CAPS); /* of use once */
	error_is(&c, "REQUEST_STATE_INVALID");
	retry(&c, ARGS, two, "{\"ask-1\":{\"roots\":[]},\"ask-3\":{\"action\":\"decline\"}}", CAPS);
	ups_feed("{\"id\":2,\"error\":{\"code\":1,\"message\":\"x\"}}");
	assert_buf(&c.text, "! {\"code\":1,\"message\":\"x\"}");
	over(&a);
	over(&b);
	over(&c);
}

static void test_server_does_not_wait(void **state _unused_)
{
	_cleanup_(freep) char *key = NULL;

	ups_legacy("{}");
	call(&a, "{" ARGS "," META_WITH(ALL, "") "}");
	elicit("5");
	key = state_of(&a);
	buf_reset(&ups_sent);
	ups_feed("{\"id\":2,\"result\":{\"a\":1}}");
	ups_expect("{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":-32603,\"message\":"
		   "\"the call is over\",\"data\":{\"reason\":\"CANCELLED\"}}}\n");
	retry(&b, ARGS, key, "{\"ask-1\":{}}", CAPS);
	assert_buf(&b.text, "= {\"resultType\":\"complete\",\"a\":1}");
	ups_expect("");
	over(&a);
	over(&b);
}

static void test_question_taken_back(void **state _unused_)
{
	_cleanup_(freep) char *key = NULL;

	ups_legacy("{}");
	call(&a, "{" ARGS "," META_WITH(ALL, "") "}");
	elicit("5");
	key = state_of(&a);
	ups_feed("{\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":5}}");
	buf_reset(&ups_sent);
	retry(&b, ARGS, key, "{\"ask-1\":{}}", CAPS);
	ups_expect("");
	assert_false(b.done);
	mcp_call_cancel(b.call);
	ups_expect("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":"
		   "{\"requestId\":2}}\n");
	over(&a);
}

/* --- what is not taken ------------------------------------------------------------------------------------- */

static void test_states_of_others(void **state _unused_)
{
	_cleanup_(freep) char *key = NULL;
	static const char *const bad[] = { "\"\"", "\"acpd1.\"",
					   "\"acpd1.00000000000000ff.0000000000000001."
					   "00000000000000000000000000000000"
					   "00000000000000000000000000000000\"" };

	ups_legacy("{}");
	call(&a, "{" ARGS "," META_WITH(ALL, WHO("s1")) "}");
	elicit("5");
	key = state_of(&a);
	retry(&b, ARGS, key, "{\"ask-1\":{}}", CAPS WHO("s2"));
	error_is(&b, "REQUEST_STATE_INVALID");
	retry(&b, ARGS, key, "{\"ask-1\":{}}", CAPS);
	error_is(&b, "REQUEST_STATE_INVALID");
	retry(&b, "\"name\":\"t\",\"arguments\":{\"a\":2}", key, "{\"ask-1\":{}}", CAPS WHO("s1"));
	error_is(&b, "REQUEST_STATE_INVALID");
	retry(&b, ARGS, bad[0], "{}", CAPS WHO("s1"));
	error_is(&b, "REQUEST_STATE_INVALID");
	retry(&b, ARGS, bad[1], "{}", CAPS WHO("s1"));
	error_is(&b, "REQUEST_STATE_INVALID");
	retry(&b, ARGS, bad[2], "{}", CAPS WHO("s1"));
	error_is(&b, "REQUEST_STATE_EXPIRED");
	for (size_t i = 1; i + 1 < strlen(key); i += 7) {
		char was = key[i];

		key[i] = was == '0' ? '1' : '0';
		retry(&b, ARGS, key, "{\"ask-1\":{}}", CAPS WHO("s1"));
		loop_run_deferred(ups_loop);
		assert_true(b.done && b.text.data[0] == '!');
		over(&b);
		key[i] = was;
	}
	/* trace ids may be others, and the true one still holds */
	retry(&b, ARGS, key, "{\"ask-1\":{}}", CAPS WHO("s1") ",\"traceparent\":\"00-b\"");
	assert_false(b.done);
	mcp_call_cancel(b.call);
	over(&a);
}

/* Capabilities of the client, and what the server asks. */
static const struct {
	const char *caps, *ask;
	bool taken;
} abilities[] = {
	{ "{}", "\"elicitation/create\"", false },
	{ "{\"elicitation\":{}}", "\"elicitation/create\"", true },
	{ "{\"elicitation\":{\"url\":{}}}", "\"elicitation/create\"", false },
	{ "{\"elicitation\":{\"form\":{},\"url\":{}}}", "\"elicitation/create\"", true },
	{ "{\"elicitation\":{}}", "\"elicitation/create\",\"params\":{\"mode\":\"url\"}", false },
	{ "{\"elicitation\":{\"url\":{}}}", "\"elicitation/create\",\"params\":{\"mode\":\"url\"}",
	  true },
	{ "{\"sampling\":{}}", "\"sampling/createMessage\"", true },
	{ "{\"sampling\":{}}", "\"sampling/createMessage\",\"params\":{\"tools\":[]}", false },
	{ "{\"sampling\":{\"tools\":{}}}", "\"sampling/createMessage\",\"params\":{\"tools\":[]}",
	  true },
	{ "{\"sampling\":null}", "\"sampling/createMessage\"", false },
	{ "{\"roots\":{}}", "\"roots/list\"", true },
	{ "{\"roots\":{}}", "\"roots/read\"", false },
};

static void test_abilities(void **state _unused_)
{
	ups_legacy("{}");
	for (size_t i = 0; i < ARRAY_SIZE(abilities); i++) {
		_cleanup_(buf_done) struct buf p = { 0 }, ask = { 0 };

		buf_printf(&p, "{\"_meta\":{\"io.modelcontextprotocol/clientCapabilities\":%s}}%c",
			   abilities[i].caps, 0);
		buf_printf(&ask, "{\"id\":%zu,\"method\":%s}%c", i, abilities[i].ask, 0);
		call(&a, p.data);
		buf_reset(&ups_sent);
		ups_feed(ask.data);
		if (a.done != abilities[i].taken)
			fail_row(i, abilities[i].ask);
		if (!a.done) {
			assert_non_null(memmem(ups_sent.data, ups_sent.len, "-32601", 6));
			mcp_call_cancel(a.call);
		}
		over(&a);
	}
}

static void test_whose_question(void **state _unused_)
{
	ups_legacy("{}");
	elicit("1"); /* in no call */
	assert_non_null(memmem(ups_sent.data, ups_sent.len, "CALL_UNKNOWN", 12));
	call(&a, "{" ARGS "," META_WITH(ALL, WHO("s1")) "}");
	call(&b, "{" ARGS "," META_WITH(ALL, WHO("s2")) "}");
	elicit("2"); /* of one of two sessions */
	assert_false(a.done || b.done);
	ups_feed_from(3, "{\"id\":3,\"method\":\"roots/list\"}");
	assert_false(a.done);
	asks(&b, "{\"ask-1\":{\"method\":\"roots/list\",\"params\":{}}}");
	ups_feed_from(77, "{\"id\":4,\"method\":\"roots/list\"}");
	assert_false(a.done);
	buf_reset(&ups_sent);
	ups_feed("{\"id\":\"p\",\"method\":\"ping\"}");
	ups_expect("{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"result\":{}}\n");
	mcp_call_cancel(a.call);
	over(&a);
	over(&b);
}

static void test_askers(void **state _unused_)
{
	struct mcp_backend *one = caller_tag_new(&ups->backend, "s\"1");
	struct mcp_backend *two = caller_tag_new(&ups->backend, "s2");

	ups_legacy("{}");
	/* what a caller says of itself does not count */
	told_call(&a, one, "tools/call", "{" ARGS "," META_WITH(ALL, WHO("s2")) "}");
	told_call(&b, two, "tools/call", "{}");
	ups_expect("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{" ARGS
		   "}}\n"
		   "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{}}\n");
	elicit("2");
	assert_false(a.done || b.done);
	mcp_call_cancel(b.call);
	elicit("3");
	assert_true(a.done);
	over(&a);
	mcp_backend_free(one);
	mcp_backend_free(two);
}

/* One asker's second call may carry the question of its first: the answer finds its way by the id. */
static void test_two_calls_of_one(void **state _unused_)
{
	ups_legacy("{}");
	call(&a, "{" ARGS "," META_WITH(ALL, "") "}");
	call(&b, "{" ARGS "," META_WITH(ALL, "") "}");
	elicit("2");
	assert_true(a.done);
	elicit("3");
	assert_true(b.done);
	over(&a);
	over(&b);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, ups_setup, ups_teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_one_question),	 CASE(test_questions_together_and_again),
		CASE(test_server_does_not_wait), CASE(test_question_taken_back),
		CASE(test_states_of_others),	 CASE(test_abilities),
		CASE(test_whose_question),	 CASE(test_askers),
		CASE(test_two_calls_of_one),
	};

	return RUN(tests, NULL, NULL);
}
