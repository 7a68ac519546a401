/* The gate of a session in front of a server: what is listed, refused, held, cut off, and what passes byte for byte. */
#include "toolgate_rig.h"

/* --- lists ------------------------------------------------------------------------------------------- */

#define TOOL(name, more) "{\"name\" : \"" name "\"" more "}"

static void denied_tools_are_not_listed(void **state _unused_)
{
	gate_make(
		"{\"srv\":{\"tools\":{\"rm*\":{\"policy\":\"deny\"},\"rmdir\":{\"policy\":\"ask\"}}}}",
		false, POLICY_ALLOW);
	call(0, "tools/list", "{}");
	fake_done(
		0,
		"{ \"x\":1.0,\"tools\": [" TOOL("rm", "") "," TOOL("ls", ",\"n\":12345678901234567890") ", " TOOL(
			"rmdir", ",\"s\":\"\\ud800\"") "], \"nextCursor\":\"c\",\"ttlMs\":0}",
		"");
	assert_string_equal(
		replies[0].result,
		"{ \"x\":1.0,\"tools\": [" TOOL("ls", ",\"n\":12345678901234567890") "," TOOL(
			"rmdir", ",\"s\":\"\\ud800\"") "], \"nextCursor\":\"c\",\"ttlMs\":0}");
	call(1, "tools/list", "{\"cursor\":\"c\"}");
	fake_done(1, "{\"tools\":[" TOOL("cat", "") "," TOOL("rm", "") "]}", "");
	assert_string_equal(replies[1].result, "{\"tools\":[" TOOL("cat", "") "]}");
}

/* Without anything to take out the result is not touched at all. */
static void lists_pass_byte_for_byte(void **state _unused_)
{
	const char *text =
		"{\"tools\" : [ " TOOL("a", "") " ,\t" TOOL("b", ",\"z\":null") " ] , \"u\":[1e0]}";

	gate_make("", false, POLICY_ALLOW);
	call(0, "tools/list", "{}");
	fake_done(0, text, "");
	assert_string_equal(replies[0].result, text);
	call(1, "tools/list", "{}");
	fake_done(1, "", "{\"code\":-32000,\"message\":\"no\"}");
	assert_string_equal(replies[1].error, "{\"code\":-32000,\"message\":\"no\"}");
}

static void fallback_decides_without_rules(void **state _unused_)
{
	gate_make("{\"srv\":{\"tools\":{\"a\":{\"policy\":\"allow\"}}}}", false, POLICY_DENY);
	call(0, "tools/list", "{}");
	fake_done(0, "{\"tools\":[" TOOL("a", "") "," TOOL("b", "") "]}", "");
	assert_string_equal(replies[0].result, "{\"tools\":[" TOOL("a", "") "]}");
	call_tool(1, "b");
	check_refused(1, "POLICY_DENIED");
}

/* --- calls ------------------------------------------------------------------------------------------- */

static void calls_pass_byte_for_byte(void **state _unused_)
{
	const char *params =
		"{\"name\":\"t\\u006fol\",\"arguments\":{\"a\":1.0,\"b\":98765432109876543210},\"x\":null,"
		"\"_meta\":{\"progressToken\":0}}";
	const char *result =
		"{ \"content\":[],\"n\":1.50,\"s\":\"\\udfff\",\"resultType\":\"complete\"}";

	gate_make("{\"*\":{\"timeoutMs\":60000}}", false, POLICY_ALLOW);
	call(0, "tools/call", params);
	assert_string_equal(fakes[0].params, params);
	fakes[0].ops->notify(fakes[0].ctx, "notifications/progress", SLICE("{\"progress\":1.0}"));
	assert_string_equal(replies[0].note, "{\"progress\":1.0}");
	fake_done(0, result, "");
	assert_string_equal(replies[0].result, result);
	call(1, "tools/call", params);
	fake_done(1, "", "{\"code\":-1,\"message\":\"e\",\"data\":1.0}");
	assert_string_equal(replies[1].error, "{\"code\":-1,\"message\":\"e\",\"data\":1.0}");
}

static void other_methods_pass(void **state _unused_)
{
	struct mcp_call *c;

	gate_make("{\"srv\":{\"policy\":\"deny\"}}", false, POLICY_ALLOW);
	c = call(0, "server/discover", "{}");
	assert_ptr_equal(c, &fakes[0].call);
	fake_done(0, "{\"a\":1}", "");
	assert_string_equal(replies[0].result, "{\"a\":1}");
}

static void denied_calls_are_refused(void **state _unused_)
{
	gate_make("{\"srv\":{\"tools\":{\"rm\":{\"policy\":\"deny\"}}}}", false, POLICY_ALLOW);
	call_tool(0, "rm");
	assert_false(replies[0].done); /* never from inside */
	check_refused(0, "POLICY_DENIED");
	assert_non_null(strstr(replies[0].result, "\"isError\":true"));
	assert_non_null(strstr(replies[0].result, "\"structuredContent\""));
	assert_int_equal(nfakes, 0);
	mcp_call_cancel(call_tool(1, "rm"));
	turn();
	assert_false(replies[1].done);
}

static void a_call_needs_a_name(void **state _unused_)
{
	static const char *const rows[] = { "{}", "{\"name\":1}", "{\"name\":\"\\ud800\"}",
					    "{\"name\":\"a\\u0000\"}" };

	gate_make("", false, POLICY_ALLOW);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		call(i, "tools/call", rows[i]);
		turn();
		assert_non_null(replies[i].error);
		assert_non_null(strstr(replies[i].error, "-32602"));
	}
	assert_int_equal(nfakes, 0);
}

static void layers_of_rules(void **state _unused_)
{
	static const struct {
		const char *tool;
		const char *code; /* NULL: goes through */
	} rows[] = { { "a", NULL },
		     { "b", "POLICY_DENIED" },
		     { "c", "POLICY_DENIED" },
		     { "dx", NULL },
		     { "dy", "POLICY_DENIED" } };

	gate_make(
		"{\"*\":{\"policy\":\"allow\",\"tools\":{\"b\":{\"policy\":\"deny\"},\"a\":{\"policy\":\"deny\"}}},"
		"\"srv\":{\"policy\":\"deny\",\"tools\":{\"a\":{\"policy\":\"allow\"},\"d*\":{\"policy\":\"deny\"},"
		"\"dx\":{\"policy\":\"allow\"}}}}",
		false, POLICY_ALLOW);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		call_tool(i, rows[i].tool);
		if (rows[i].code)
			check_refused(i, rows[i].code);
		else
			fake_done(nfakes - 1, "{}", "");
	}
}

/* --- limits ------------------------------------------------------------------------------------------ */

static void calls_are_counted(void **state _unused_)
{
	gate_make(
		"{\"srv\":{\"maxCalls\":3,\"tools\":{\"a\":{\"maxCalls\":1},\"z*\":{\"policy\":\"deny\"}}}}",
		false, POLICY_ALLOW);
	call_tool(0, "a");
	fake_done(0, "{}", "");
	call_tool(1, "a");
	check_refused(1, "MAX_CALLS");
	assert_non_null(strstr(replies[1].result, "\"limit\":\"maxCalls\",\"value\":1"));
	call_tool(2, "z"); /* refused: not counted */
	check_refused(2, "POLICY_DENIED");
	call_tool(3, "b");
	fake_done(1, "{}", "");
	call_tool(4, "b");
	fake_done(2, "", "{\"code\":1,\"message\":\"\"}");
	call_tool(5, "b");
	check_refused(5, "MAX_CALLS");
	assert_non_null(strstr(replies[5].result, "\"value\":3"));
	assert_int_equal(nfakes, 3);
}

static void large_results_are_refused(void **state _unused_)
{
	gate_make("{\"*\":{\"maxResultBytes\":12}}", false, POLICY_ALLOW);
	call_tool(0, "a");
	fake_done(0, "{\"a\":\"12345\"}", "");
	check_refused(0, "RESULT_TOO_LARGE");
	assert_non_null(strstr(replies[0].result, "\"limit\":\"maxResultBytes\",\"value\":12"));
	assert_non_null(strstr(replies[0].result, "(maxResultBytes 12)"));
	call_tool(1, "a");
	fake_done(1, "{\"a\":\"1234\"}", "");
	assert_string_equal(replies[1].result, "{\"a\":\"1234\"}");
	call_tool(2, "a");
	fake_done(2, "", "{\"code\":-32000,\"message\":\"far too long\"}");
	assert_null(replies[2].result);
	assert_non_null(strstr(replies[2].error, "RESULT_TOO_LARGE"));
}

static void time_is_limited(void **state _unused_)
{
	uint64_t end = clock_mono_ms() + 60000;

	gate_make("{\"srv\":{\"timeoutMs\":30,\"tools\":{\"slow\":{\"timeoutMs\":0}}}}", false,
		  POLICY_ALLOW);
	call_tool(0, "a");
	call_tool(1, "slow");
	while (!replies[0].done && clock_mono_ms() < end) {
		struct pollfd p = { loop_fd(loop), POLLIN, 0 };

		poll(&p, 1, 100);
		loop_dispatch(loop);
	}
	check_refused(0, "TIMEOUT");
	assert_non_null(strstr(replies[0].result, "\"limit\":\"timeoutMs\",\"value\":30"));
	assert_int_equal(cancelled, 1);
	assert_false(fakes[0].open);
	assert_true(fakes[1].open);
	fake_done(1, "{}", "");
	assert_true(replies[1].done);
}

/* --- dry runs ---------------------------------------------------------------------------------------- */

static void dry_runs_are_recorded(void **state _unused_)
{
	gate_make("{\"srv\":{\"dryRun\":true,\"tools\":{\"look\":{\"dryRun\":false}}}}", false,
		  POLICY_ALLOW);
	call_tool(0, "a");
	check_refused(0, "DRY_RUN");
	assert_string_equal(record, "a {\"n\":1.0}");
	assert_non_null(strstr(replies[0].result, "\"structuredContent\":{\"dryRun\":true}"));
	assert_non_null(strstr(replies[0].result, "\"isError\":false"));
	assert_int_equal(nfakes, 0);
	call_tool(1, "look");
	assert_int_equal(nfakes, 1);
	fake_done(0, "{}", "");
}

/* Clients hold structuredContent against the announced schema: where there is one, ours is left out, and the result is an error. */
static void announced_schemas_are_respected(void **state _unused_)
{
	gate_make("{\"srv\":{\"maxCalls\":0,\"tools\":{\"dry\":{\"dryRun\":true}}}}", false,
		  POLICY_ALLOW);
	call(0, "tools/list", "{}");
	fake_done(0, "{\"tools\":[" TOOL("a", ",\"outputSchema\":{}") "," TOOL("b", "") "]}", "");
	call_tool(1, "a");
	check_refused(1, "MAX_CALLS");
	assert_null(strstr(replies[1].result, "structuredContent"));
	call_tool(2, "b");
	check_refused(2, "MAX_CALLS");
	assert_non_null(strstr(replies[2].result, "structuredContent"));
}

/* --- questions --------------------------------------------------------------------------------------- */

static void asks_are_held(void **state _unused_)
{
	gate_make("{\"*\":{\"policy\":\"ask\"}}", false, POLICY_ALLOW);
	call_tool(0, "a");
	assert_int_equal(nfakes, 0);
	assert_string_equal(question, "a|srv: a|{\"n\":1.0}|");
	toolgate_answer(asked, TOOLGATE_ALLOW);
	assert_int_equal(nfakes, 1);
	assert_string_equal(fakes[0].params, "{\"name\":\"a\",\"arguments\":{\"n\":1.0}}");
	toolgate_answer(asked, TOOLGATE_REJECT); /* too late: nothing happens */
	fake_done(0, "{}", "");
	assert_string_equal(replies[0].result, "{}");

	call_tool(1, "a");
	toolgate_answer(asked, TOOLGATE_REJECT);
	check_refused(1, "PERMISSION_REJECTED");
	assert_int_equal(nfakes, 1);

	mcp_call_cancel(call_tool(2, "a"));
	assert_int_equal(nunasked, 1);
	turn();
	assert_false(replies[2].done);
}

static void running_calls_are_cancelled(void **state _unused_)
{
	gate_make("{\"*\":{\"timeoutMs\":20}}", false, POLICY_ALLOW);
	mcp_call_cancel(call_tool(0, "a"));
	assert_int_equal(cancelled, 1);
	poll(NULL, 0, 40);
	loop_dispatch(loop);
	assert_false(replies[0].done);
	mcp_call_cancel(call(1, "tools/list", "{}"));
	assert_int_equal(cancelled, 2);
}

/* A server that asks its client for something: the second round is the same call, once. */
static void rounds_are_one_call(void **state _unused_)
{
	static const char again[] =
		"{\"name\":\"a\",\"arguments\":{\"n\":1.0},\"inputResponses\":{\"k\":{}},\"requestState\":\"s\"}";

	gate_make("{\"srv\":{\"policy\":\"ask\",\"maxCalls\":2}}", false, POLICY_ALLOW);
	call(0, "tools/call", again); /* never asked for: a call like others */
	assert_int_equal(nasked, 1);
	toolgate_answer(asked, TOOLGATE_ALLOW);
	fake_done(
		0,
		"{\"resultType\":\"input_required\",\"inputRequests\":{\"k\":{\"method\":\"elicitation/create\",\"params\":{\"_meta\":{"
		"\"acpd\":{\"permission\":{}}}}}},\"requestState\":\"s\"}",
		""); /* not a server of ours: its questions are the client's */
	assert_non_null(strstr(replies[0].result, "input_required"));
	call(1, "tools/call", again);
	assert_int_equal(nasked, 1);
	fake_done(1, "{}", "");
	call(2, "tools/call", again);
	assert_int_equal(nasked, 2);
	toolgate_answer(asked, TOOLGATE_REJECT);
	turn();
	call_tool(3, "a");
	check_refused(3, "MAX_CALLS");
}

#define OURS                                                                                                                   \
	"{\"resultType\":\"input_required\",\"inputRequests\":{\"appr\\u006fve\":{\"method\":\"elicitation/create\","          \
	"\"params\":{\"message\":\"m\",\"_meta\":{\"acpd\":{\"permission\":{\"tool\":\"a\",\"title\":\"Write \\u0061\"}}}}}}," \
	"\"requestState\":\"st\\u0061te\"}"

static void questions_of_our_servers(void **state _unused_)
{
	gate_make("{\"srv\":{\"maxCalls\":2}}", true, POLICY_ALLOW);
	call(0, "tools/call",
	     "{\"name\":\"a\",\"arguments\":{\"n\":1.0},\"_meta\":{\"io.modelcontextprotocol/clientCapabilities\":{\"x\":{}},"
	     "\"progressToken\":0}}");
	assert_string_equal(
		fakes[0].params,
		"{\"name\":\"a\",\"arguments\":{\"n\":1.0},\"_meta\":{\"progressToken\":0,"
		"\"io.modelcontextprotocol/clientCapabilities\":{\"x\":{},\"elicitation\":{\"form\":{}}}}}");
	fake_done(0, OURS, "");
	assert_false(replies[0].done);
	assert_string_equal(question,
			    "a|Write a|{\"n\":1.0}|{\"tool\":\"a\",\"title\":\"Write \\u0061\"}");
	toolgate_answer(asked, TOOLGATE_ALLOW);
	assert_non_null(strstr(
		fakes[1].params,
		"\"inputResponses\":{\"appr\\u006fve\":{\"action\":\"accept\",\"content\":{\"approve\":true}}},"
		"\"requestState\":\"st\\u0061te\""));
	assert_int_equal(jscan_value(slice_of(fakes[1].params), NULL), JSCAN_OK);
	fake_done(1, "{\"ok\":1}", "");
	assert_string_equal(replies[0].result, "{\"ok\":1}");

	call_tool(1, "a");
	fake_done(2, OURS, "");
	toolgate_answer(asked, TOOLGATE_REJECT);
	check_refused(1, "PERMISSION_REJECTED");
	call_tool(2, "a");
	check_refused(2, "MAX_CALLS");
}

static void our_questions_can_be_withdrawn(void **state _unused_)
{
	struct mcp_call *c;

	gate_make("", true, POLICY_ALLOW);
	c = call_tool(0, "a");
	fake_done(0, OURS, "");
	mcp_call_cancel(c);
	assert_int_equal(nunasked, 1);
	assert_int_equal(cancelled, 0);
}

/* --- the rules' text --------------------------------------------------------------------------------- */

static void wrong_rules_are_named(void **state _unused_)
{
	static const struct {
		const char *text, *field;
	} rows[] = {
		{ "[]", "policy" },
		{ "{\"a\":1}", "policy.a" },
		{ "{\"a\":{\"policy\":\"maybe\"}}", "policy.a.policy" },
		{ "{\"a\":{\"policy\":null}}", "policy.a.policy" },
		{ "{\"a\":{\"timeoutMs\":-1}}", "policy.a.timeoutMs" },
		{ "{\"a\":{\"timeoutMs\":1.5}}", "policy.a.timeoutMs" },
		{ "{\"a\":{\"maxCalls\":\"1\"}}", "policy.a.maxCalls" },
		{ "{\"a\":{\"maxResultBytes\":99999999999}}", "policy.a.maxResultBytes" },
		{ "{\"a\":{\"dryRun\":1}}", "policy.a.dryRun" },
		{ "{\"a\":{\"dryrun\":true}}", "policy.a.dryrun" },
		{ "{\"a\":{\"tools\":[]}}", "policy.a.tools" },
		{ "{\"a\":{\"tools\":{\"t\":{\"tools\":{}}}}}", "policy.a.tools.t.tools" },
		{ "{\"a\":{\"tools\":{\"t\":{\"policy\":\"no\"}}}}", "policy.a.tools.t.policy" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(slice_freep) struct slice text = exact_copy(slice_of(rows[i].text));
		struct mcp_policy *r = NULL;
		struct err e = { 0 };

		if (mcp_policy_parse(text, FIELD, &r, &e) != -EINVAL || r)
			fail_row(i, rows[i].text);
		if (strcmp(e.field, rows[i].field) != 0)
			fail_msg("%s: names %s", rows[i].text, e.field);
	}
}

static void whole_servers_can_be_denied(void **state _unused_)
{
	gate_make(
		"{\"no\":{\"policy\":\"deny\"},\"some\":{\"policy\":\"deny\",\"tools\":{\"a\":{\"policy\":\"ask\"}}},"
		"\"yes\":{\"policy\":\"allow\"}}",
		false, POLICY_ALLOW);
	assert_false(mcp_policy_serve(rules, "no", POLICY_ALLOW));
	assert_true(mcp_policy_serve(rules, "some", POLICY_ALLOW));
	assert_true(mcp_policy_serve(rules, "yes", POLICY_DENY));
	assert_true(mcp_policy_serve(rules, "other", POLICY_ASK));
	assert_false(mcp_policy_serve(rules, "other", POLICY_DENY));
	assert_true(mcp_policy_serve(NULL, "other", POLICY_ALLOW));
}

#define FILE_MADE "{\"name\":\"n\",\"type\":\"t\",\"text\":\"0123456789\"}"
#define WITH_FILE(file) "{\"a\":1.0,\"_meta\":{\"x\":null,\"acpd\":{\"artifact\":" file "}}}"

/* Files of our own server go to the session, before the result's size is judged; what comes from others is theirs. */
static void files_of_our_server(void **state _unused_)
{
	gate_make("{\"srv\":{\"maxResultBytes\":75}}", true, POLICY_ALLOW);
	call_tool(0, "t");
	fake_done(0, WITH_FILE(FILE_MADE), "");
	assert_string_equal(replies[0].result, WITH_FILE("{\"id\":\"art_1\",\"was\":43}"));
	call_tool(1, "t");
	fake_done(1, WITH_FILE("\"no object\""), "");
	assert_string_equal(replies[1].result, "{\"a\":1.0,\"_meta\":{\"x\":null}}");
	gate_make("", false, POLICY_ALLOW);
	call_tool(0, "t");
	fake_done(0, WITH_FILE(FILE_MADE), "");
	assert_string_equal(replies[0].result, WITH_FILE(FILE_MADE));
}

/* What a harness must wait for. */
static void longest_call_that_a_harness_waits_for(void **state _unused_)
{
	static const struct {
		const char *rules;
		int64_t longest;
	} rows[] = {
		{ "{}", 0 },
		{ "{\"a\":{\"policy\":\"ask\"},\"b\":{\"timeoutMs\":0}}", 0 },
		{ "{\"a\":{\"timeoutMs\":5},\"*\":{\"timeoutMs\":7000000}}", 7000000 },
		{ "{\"*\":{\"timeoutMs\":5},\"a\":{\"tools\":{\"x\":{\"timeoutMs\":6},\"y*\":{\"timeoutMs\":9}}}}",
		  9 },
	};
	struct err e;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct mcp_policy *r;

		assert_int_equal(mcp_policy_parse(slice_of(rows[i].rules), FIELD, &r, &e), 0);
		if (mcp_policy_longest(r) != rows[i].longest)
			fail_row(i, rows[i].rules);
		mcp_policy_free(r);
	}
}

int main(void)
{
#define T(f) cmocka_unit_test_teardown(f, teardown)
	const struct CMUnitTest tests[] = {
		T(longest_call_that_a_harness_waits_for),
		T(denied_tools_are_not_listed),
		T(longest_call_that_a_harness_waits_for),
		T(denied_tools_are_not_listed),
		T(lists_pass_byte_for_byte),
		T(fallback_decides_without_rules),
		T(calls_pass_byte_for_byte),
		T(other_methods_pass),
		T(denied_calls_are_refused),
		T(a_call_needs_a_name),
		T(layers_of_rules),
		T(calls_are_counted),
		T(large_results_are_refused),
		T(time_is_limited),
		T(dry_runs_are_recorded),
		T(announced_schemas_are_respected),
		T(asks_are_held),
		T(running_calls_are_cancelled),
		T(rounds_are_one_call),
		T(questions_of_our_servers),
		T(our_questions_can_be_withdrawn),
		T(files_of_our_server),
		T(wrong_rules_are_named),
		T(whole_servers_can_be_denied),
	};

	return RUN(tests, NULL, NULL);
}
