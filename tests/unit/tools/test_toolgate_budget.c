/* The gate of a session before its budgets of tool calls: what may begin, and that it ends. */
#include "toolgate_rig.h"

/* What a budget refuses is not counted by the policy, and what the policy refuses not by a budget. */
static void budgets_hold(void **state _unused_)
{
	gate_make(
		"{\"srv\":{\"maxCalls\":2,\"tools\":{\"z\":{\"policy\":\"deny\"},\"q\":{\"policy\":\"ask\"}}}}",
		false, POLICY_ALLOW);
	may_begin = 1;
	call_tool(0, "z");
	check_refused(0, "POLICY_DENIED");
	call_tool(1, "q");
	assert_int_equal(not_ended, 1); /* it is asked about, and nothing else may begin */
	call_tool(2, "b");
	check_refused(2, "BUDGET_SPENT");
	assert_non_null(strstr(replies[2].result, "\"limit\":\"toolCalls\",\"value\":7"));
	toolgate_answer(asked, TOOLGATE_ALLOW);
	fake_done(0, "{}", "");
	assert_int_equal(not_ended, 0);
	may_begin = 1;
	mcp_call_cancel(mcp_backend_call(toolgate_outside(gate), "tools/call",
					 SLICE("{\"name\":\"b\"}"), &reply_ops, &replies[3]));
	assert_int_equal(not_ended, 0);
	assert_int_equal(outsiders, 1);
	may_begin = 1;
	call_tool(4, "b"); /* the policy has let two through */
	check_refused(4, "MAX_CALLS");
	assert_int_equal(may_begin, 1);
	assert_int_equal(nfakes, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(budgets_hold, teardown),
	};

	return RUN(tests, NULL, NULL);
}
