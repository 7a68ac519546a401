/* The Pi adapter: what happens in a turn that the recorded conversations (test_pi_replay.c) do not hold. */
#include "pi_session.h"

/* --- turns --------------------------------------------------------------------------------------------------- */

#define ASSISTANT(stop, more)                                                                           \
	"{\"type\":\"message_end\",\"message\":{\"role\":\"assistant\",\"api\":\"openai-completions\"," \
	"\"provider\":\"openai\",\"model\":\"gpt\",\"stopReason\":\"" stop "\"" more "}}"
#define SETTLED "{\"type\":\"agent_settled\",\"aborted\":false}"
#define TEXT "[{\"type\":\"text\",\"text\":\"hi\"}]"

static void begin_turn(void)
{
	ready_session();
	assert_int_equal(fake_prompt(&f, TEXT, NULL), 0);
	assert_log("send {\"id\":\"6\",\"type\":\"prompt\",\"message\":\"hi\"}\n");
	feed(ANSWER("6", "prompt", "{\"disposition\":\"started\"}"));
}

static void test_prompt_content(void **state _unused_)
{
	ready_session();
	fake_prompt(
		&f,
		"[{\"type\":\"text\",\"text\":\"/acpd:set {}\"},{\"type\":\"image\",\"data\":\"AA\",\"mimeType\":"
		"\"image/png\"},{\"type\":\"resource_link\",\"name\":\"n\",\"uri\":\"file:///n\"},{\"type\":\"resource\","
		"\"resource\":{\"uri\":\"file:///r\",\"text\":\"inside\"}}]",
		NULL);
	/* the bridge's own command is no prompt's */
	assert_log(
		"send {\"id\":\"6\",\"type\":\"prompt\",\"message\":\" /acpd:set {}\\n[n](file:///n)\\n"
		"<resource uri=\\\"file:///r\\\">\\ninside\\n</resource>\",\"images\":[{\"type\":\"image\",\"data\":\"AA\","
		"\"mimeType\":\"image/png\"}]}\n");
}

static void test_text_that_is_none(void **state _unused_)
{
	ready_session();
	assert_int_equal(
		fake_prompt(&f,
			    "[{\"type\":\"text\",\"text\":\"hi\"},{\"type\":\"resource_link\","
			    "\"name\":\"\\ud800\",\"uri\":\"file:///n\"}]",
			    NULL),
		-EINVAL);
	assert_log("");
	assert_string_equal(f.err.reason, "CONTENT_UNSUPPORTED");
	assert_string_equal(f.err.field, "prompt[1]");
}

static void test_handled(void **state _unused_)
{
	ready_session();
	fake_prompt(&f, TEXT, NULL);
	buf_reset(&f.log);
	feed(ANSWER("6", "prompt", "{\"disposition\":\"handled\"}"));
	assert_log("timer 0\nend end_turn\n");
}

static void test_refused_prompt(void **state _unused_)
{
	ready_session();
	fake_prompt(&f, TEXT, NULL);
	buf_reset(&f.log);
	feed(REFUSED("6", "No API key found"));
	assert_log("timer 0\nend failed auth 0 retryable=0 No API key found\n");
	fake_prompt(&f, TEXT, NULL);
	buf_reset(&f.log);
	feed(REFUSED("7", "Agent is busy"));
	assert_log("timer 0\nend failed harness_error 0 retryable=0 Agent is busy\n");
}

/* The gauge is waited for, but not for ever. */
static void test_end_waits_for_gauge(void **state _unused_)
{
	begin_turn();
	feed(ASSISTANT("stop", ""));
	assert_log("send {\"id\":\"7\",\"type\":\"get_session_stats\"}\n");
	feed(SETTLED);
	assert_log("timer 500\n");
	f.ops->on_timer(f.h);
	assert_log("timer 0\nend end_turn\n");
	feed(ANSWER("7", "get_session_stats",
		    "{\"contextUsage\":{\"tokens\":1,\"contextWindow\":2}}"));
	assert_log("");
}

static void test_gauge(void **state _unused_)
{
	begin_turn();
	feed(ASSISTANT(
		"stop",
		",\"usage\":{\"input\":10,\"output\":4,\"cacheRead\":2,\"cacheWrite\":1,\"reasoning\":3,"
		"\"totalTokens\":17,\"cost\":{\"total\":0.5}},\"responseModel\":\"gpt-x\""));
	feed(SETTLED);
	buf_reset(&f.log);
	feed(ANSWER("7", "get_session_stats",
		    "{\"cost\":0.75,\"contextUsage\":{\"tokens\":17,\"contextWindow\":1000}}"));
	assert_log(
		"event usage_update {\"sessionUpdate\":\"usage_update\",\"used\":17,\"size\":1000,\"cost\":{\"amount\":0.75,"
		"\"currency\":\"USD\"}}\ntimer 0\nend end_turn\n");
}

static void test_usage(void **state _unused_)
{
	begin_turn();
	feed(ASSISTANT(
		"toolUse",
		",\"usage\":{\"input\":10,\"output\":4,\"cacheRead\":2,\"cacheWrite\":1,\"reasoning\":3,"
		"\"totalTokens\":17,\"cost\":{\"total\":0.5}},\"responseModel\":\"gpt-x\""));
	assert_true(logged(
		"usage call input=13 output=4 cache_read=2 cache_write=1 reasoning=3 total=17 cost=500000000000 "
		"model=gpt-x\n"));
	buf_reset(&f.log);
	/* zeros are no report, neither of tokens nor of money */
	feed(ASSISTANT(
		"aborted",
		",\"usage\":{\"input\":0,\"output\":0,\"cacheRead\":0,\"cacheWrite\":0,\"totalTokens\":0}"));
	assert_false(logged("usage call"));
	feed(ASSISTANT(
		"stop",
		",\"usage\":{\"input\":5,\"output\":1,\"cacheRead\":0,\"cacheWrite\":0,\"totalTokens\":6,"
		"\"cost\":{\"total\":0}}"));
	assert_true(logged("usage call input=5 output=1 cache_read=0 total=6 model=gpt\n"));
}

/* An abort before the run has begun does nothing to Pi, so it is sent again when it begins. */
static void test_cancel_before_start(void **state _unused_)
{
	ready_session();
	fake_prompt(&f, TEXT, NULL);
	buf_reset(&f.log);
	f.ops->cancel(f.h);
	f.ops->cancel(f.h);
	assert_log(
		"send {\"id\":\"7\",\"type\":\"clear_queue\"}\nsend {\"id\":\"8\",\"type\":\"abort\"}\n");
	feed("{\"type\":\"agent_start\"}");
	assert_log(
		"send {\"id\":\"9\",\"type\":\"clear_queue\"}\nsend {\"id\":\"10\",\"type\":\"abort\"}\n");
	feed(SETTLED);
	assert_log("timer 0\nend cancelled\n");
	f.ops->cancel(f.h);
	assert_log("");
}

static void test_steer(void **state _unused_)
{
	begin_turn();
	assert_int_equal(f.ops->steer(f.h, 4, SLICE(TEXT), &f.err), 0);
	assert_log("send {\"id\":\"7\",\"type\":\"steer\",\"message\":\"hi\"}\n");
	feed("{\"type\":\"queue_update\",\"steering\":[\"hi\"],\"followUp\":[]}");
	feed(ANSWER("7", "steer", "{\"disposition\":\"queued\"}"));
	feed("{\"type\":\"queue_update\",\"steering\":[],\"followUp\":[]}");
	feed("{\"type\":\"queue_update\",\"steering\":[],\"followUp\":[]}");
	assert_log(
		"event session_info_update {\"sessionUpdate\":\"session_info_update\",\"_meta\":{\"pi\":{\"steering\":[\"hi\"],"
		"\"followUp\":[]}}}\n"
		"reply 4 {\"outcome\":\"injected\"}\n"
		"event session_info_update {\"sessionUpdate\":\"session_info_update\",\"_meta\":{\"pi\":{\"steering\":[],"
		"\"followUp\":[]}}}\n");
	f.ops->steer(f.h, 5, SLICE(TEXT), &f.err);
	buf_reset(&f.log);
	feed(REFUSED("8", "no"));
	assert_log("reply 5 {\"outcome\":\"failed\"}\n");
}

/* Calls that a script makes have no beginning in the model's message. */
static void test_nested_call(void **state _unused_)
{
	begin_turn();
	feed("{\"type\":\"tool_execution_start\",\"toolCallId\":\"c/1\",\"toolName\":\"bash\",\"args\":{\"command\":\"ls\"},"
	     "\"parentToolCallId\":\"c\"}");
	feed("{\"type\":\"tool_execution_update\",\"toolCallId\":\"c/1\",\"toolName\":\"bash\",\"partialResult\":{\"content\":[]}}");
	feed("{\"type\":\"tool_execution_end\",\"toolCallId\":\"c/1\",\"toolName\":\"bash\",\"result\":{\"content\":[{\"type\":"
	     "\"image\",\"data\":\"AA\",\"mimeType\":\"image/png\"},{\"type\":\"odd\"}],\"structuredContent\":{\"exit_code\":1}},"
	     "\"isError\":false,\"parentToolCallId\":\"c\"}");
	feed("{\"type\":\"tool_execution_end\",\"toolCallId\":\"c/1\",\"toolName\":\"bash\",\"result\":{}}");
	assert_log(
		"event tool_call {\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"c/1\",\"status\":\"in_progress\",\"name\":"
		"\"bash\",\"title\":\"ls\",\"kind\":\"execute\",\"rawInput\":{\"command\":\"ls\"},\"_meta\":{\"pi\":{"
		"\"parentToolCallId\":\"c\"}}}\n"
		"event tool_call_update {\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"c/1\",\"status\":\"failed\","
		"\"content\":[{\"type\":\"content\",\"content\":{\"type\":\"image\",\"data\":\"AA\",\"mimeType\":\"image/png\"}}],"
		"\"rawOutput\":{\"structuredContent\":{\"exit_code\":1}},\"_meta\":{\"pi\":{\"parentToolCallId\":\"c\"}}}\n");
}

/* Arguments are not known when a call begins. */
static void test_first_title(void **state _unused_)
{
	static const struct {
		const char *name, *title;
	} rows[] = { { "edit", "Edit" },
		     { "tool_search", "Search tools" },
		     { "ask_user", "Ask" },
		     { "bash", "bash" } };

	begin_turn();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char line[300], want[100];

		snprintf(
			line, sizeof(line),
			"{\"type\":\"message_update\",\"assistantMessageEvent\":{\"type\":\"toolcall_start\","
			"\"contentIndex\":0,\"id\":\"c%zu\",\"toolName\":\"%s\"}}",
			i, rows[i].name);
		snprintf(want, sizeof(want), "\"title\":\"%s\"", rows[i].title);
		feed(line);
		if (!logged(want))
			fail_row(i, rows[i].name);
		buf_reset(&f.log);
	}
}

static void test_block_without_deltas(void **state _unused_)
{
	begin_turn();
	feed("{\"type\":\"message_start\",\"message\":{\"role\":\"assistant\",\"timestamp\":17}}");
	feed("{\"type\":\"message_update\",\"assistantMessageEvent\":{\"type\":\"text_start\",\"contentIndex\":0}}");
	feed("{\"type\":\"message_update\",\"assistantMessageEvent\":{\"type\":\"text_end\",\"contentIndex\":0,\"content\":\"all\"}}");
	assert_log(
		"event agent_message_chunk {\"sessionUpdate\":\"agent_message_chunk\",\"messageId\":\"m17\",\"content\":{\"type\":"
		"\"text\",\"text\":\"all\"}}\n");
}

/* --- dialogs, notes, settings --------------------------------------------------------------------------------- */

/* A client without elicitations has none; a question of an extension must not wait for ever. */
static void test_dialog_dismissed(void **state _unused_)
{
	begin_turn();
	feed("{\"type\":\"extension_ui_request\",\"id\":\"d1\",\"method\":\"confirm\",\"title\":\"Sure?\"}");
	feed("{\"type\":\"extension_ui_request\",\"id\":\"d2\",\"method\":\"select\",\"title\":\"Which?\",\"options\":[\"a\"]}");
	assert_log("send {\"type\":\"extension_ui_response\",\"id\":\"d1\",\"cancelled\":true}\n"
		   "send {\"type\":\"extension_ui_response\",\"id\":\"d2\",\"cancelled\":true}\n");
}

#define PERMISSION                                                                                                       \
	"{\"type\":\"extension_ui_request\",\"id\":\"p1\",\"method\":\"select\",\"title\":\"{\\\"type\\\":"              \
	"\\\"permission\\\",\\\"toolCallId\\\":\\\"c1\\\",\\\"toolName\\\":\\\"bash\\\",\\\"input\\\":{\\\"command\\\":" \
	"\\\"ls\\\"}}\",\"options\":[\"allow_once\"]}"

static void test_permission_cancelled(void **state _unused_)
{
	ready_session();
	feed(PERMISSION); /* outside of a turn nobody is asked */
	assert_log("send {\"type\":\"extension_ui_response\",\"id\":\"p1\",\"cancelled\":true}\n");
	fake_prompt(&f, TEXT, NULL);
	buf_reset(&f.log);
	feed(PERMISSION);
	assert_true(logged(
		"ask 1 permission {\"toolCall\":{\"toolCallId\":\"c1\",\"status\":\"pending\",\"name\":\"bash\""));
	buf_reset(&f.log);
	f.ops->answer(f.h, 9, SLICE("{}"));
	assert_log("");
	f.ops->answer(f.h, 1, SLICE("{\"outcome\":{\"outcome\":\"cancelled\"}}"));
	assert_log("send {\"type\":\"extension_ui_response\",\"id\":\"p1\",\"cancelled\":true}\n");
	feed(PERMISSION);
	buf_reset(&f.log);
	feed(SETTLED);
	assert_true(logged("unask 2\n"));
}

#define APPROVED                                                                                                         \
	"{\"type\":\"extension_ui_request\",\"id\":\"p1\",\"method\":\"select\",\"title\":\"{\\\"type\\\":"              \
	"\\\"permission\\\",\\\"toolCallId\\\":\\\"c1\\\",\\\"toolName\\\":\\\"bash\\\",\\\"input\\\":{\\\"command\\\":" \
	"\\\"ls\\\"},\\\"approved\\\":true}\",\"options\":[\"allow_once\"]}"

/* The bridge asks because of rules about what the approval allows; it is told of them before a prompt, once. */
static void test_rules(void **state _unused_)
{
	ready_session();
	f.rules = HARNESS_RULES | HARNESS_RULES_READS;
	f.ops->limit(f.h, -1);
	assert_true(logged("set {\\\"calls\\\":null,\\\"rules\\\":3}"));
	buf_reset(&f.log);
	f.ops->limit(f.h, -1);
	assert_log("");
	fake_prompt(&f, TEXT, NULL);
	buf_reset(&f.log);
	feed(APPROVED);
	assert_true(logged("ask 1 permission approved {"));
	f.rules = 0;
}

static void test_compaction(void **state _unused_)
{
	begin_turn();
	feed("{\"type\":\"compaction_start\",\"reason\":\"threshold\"}");
	assert_true(logged("\"status\":\"in_progress\""));
	buf_reset(&f.log);
	feed("{\"type\":\"compaction_end\",\"result\":{\"summary\":\"short\",\"usage\":{\"input\":9,\"output\":2,\"cacheRead\":0,"
	     "\"cacheWrite\":0,\"totalTokens\":11}},\"aborted\":false}");
	assert_true(logged(
		"\"status\":\"completed\",\"summary\":[{\"type\":\"text\",\"text\":\"short\"}]}"));
	assert_true(logged("usage call input=9 output=2 cache_read=0 total=11 model=m-1\n"));
	feed("{\"type\":\"compaction_start\"}");
	feed("{\"type\":\"compaction_end\",\"aborted\":true}");
	assert_true(logged("\"status\":\"cancelled\"}"));
	feed("{\"type\":\"compaction_start\"}");
	feed("{\"type\":\"compaction_end\",\"aborted\":false,\"errorMessage\":\"no\"}");
	assert_true(logged("\"status\":\"failed\",\"error\":\"no\"}"));
}

static void test_notes(void **state _unused_)
{
	ready_session();
	feed("{\"type\":\"session_info_changed\",\"name\":\"Work\"}");
	feed("{\"type\":\"session_info_changed\"}");
	feed("{\"type\":\"extension_error\",\"error\":\"boom\"}");
	feed("{\"type\":\"extension_ui_request\",\"id\":\"n\",\"method\":\"notify\",\"message\":\"look\",\"notifyType\":\"warning\"}");
	assert_log(
		"event session_info_update {\"sessionUpdate\":\"session_info_update\",\"title\":\"Work\"}\n"
		"event session_info_update {\"sessionUpdate\":\"session_info_update\",\"title\":null}\n"
		"event notice {\"sessionUpdate\":\"notice\",\"severity\":\"error\",\"title\":\"An extension of Pi failed\","
		"\"description\":\"boom\"}\n"
		"event notice {\"sessionUpdate\":\"notice\",\"severity\":\"warning\",\"title\":\"Pi\",\"description\":\"look\"}\n");
}

static void test_level_by_itself(void **state _unused_)
{
	ready_session();
	feed("{\"type\":\"thinking_level_changed\",\"level\":\"high\"}");
	assert_true(logged("event config_option_update "));
	assert_true(logged("\"currentValue\":\"high\""));
}

static void test_setting_refused(void **state _unused_)
{
	ready_session();
	assert_int_equal(f.ops->set_config(
				 f.h, 3, SLICE("\"configId\":\"model\",\"value\":\"m-9\""), &f.err),
			 0);
	assert_log(
		"send {\"id\":\"6\",\"type\":\"set_model\",\"provider\":\"acpd\",\"modelId\":\"m-9\"}\n");
	/* our own change is not told twice */
	feed("{\"type\":\"thinking_level_changed\",\"level\":\"high\"}");
	feed(REFUSED("6", "Model not found: acpd/m-9"));
	assert_log("reply 3 error -32603 Model not found: acpd/m-9\n");
	assert_true(f.ops->set_config(f.h, 4, SLICE("\"configId\":\"colour\",\"value\":\"red\""),
				      &f.err) < 0);
	assert_true(f.ops->set_config(f.h, 4, SLICE("\"configId\":\"mode\",\"value\":true"),
				      &f.err) < 0);
}

#define T(fn) cmocka_unit_test_teardown(fn, session_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_prompt_content),
		T(test_text_that_is_none),
		T(test_handled),
		T(test_refused_prompt),
		T(test_end_waits_for_gauge),
		T(test_gauge),
		T(test_usage),
		T(test_cancel_before_start),
		T(test_steer),
		T(test_nested_call),
		T(test_first_title),
		T(test_block_without_deltas),
		T(test_dialog_dismissed),
		T(test_permission_cancelled),
		T(test_rules),
		T(test_compaction),
		T(test_notes),
		T(test_level_by_itself),
		T(test_setting_refused),
	};

	return RUN(tests, NULL, NULL);
}
