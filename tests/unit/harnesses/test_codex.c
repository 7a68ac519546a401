/* What the recordings do not show: pieces out of order or missing, questions of every kind, failures of every class. */
#include "adapter_session.h"

#include "harnesses/codex/internal.h"

#define IDS "\"threadId\":\"t1\",\"turnId\":\"u1\""

static void line(const char *fmt, ...)
{
	char text[4000];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	assert_int_equal(fake_line(&f, slice_of(text)), 0);
}

static void open_with(const struct harness_req *req)
{
	assert_int_equal(fake_open(&f, &harness_codex, req), 0);
	line("{\"id\":1,\"result\":{\"userAgent\":\"acpd/0.169.0 (x)\"}}");
	line("{\"id\":2,\"result\":{\"data\":[]}}");
	line("{\"id\":3,\"result\":{\"thread\":{\"id\":\"t1\"},\"model\":\"m\",\"modelProvider\":\"openai\"}}");
	line("{\"id\":4,\"result\":{}}");
	assert_int_equal(f.readies, 1);
	buf_reset(&f.log);
}

static void in_turn(const struct harness_req *req)
{
	open_with(req);
	assert_int_equal(fake_prompt(&f, "[{\"type\":\"text\",\"text\":\"go\"}]", NULL), 0);
	line("{\"id\":5,\"result\":{\"turn\":{\"id\":\"u1\"}}}");
	buf_reset(&f.log);
}

static void assert_log_has(const char *text)
{
	if (!logged(text))
		fail_msg("not in the log: %s\n%.*s", text, (int)f.log.len, f.log.data);
}

static void answer(uint64_t id, const char *option)
{
	char text[100];

	snprintf(text, sizeof(text), "{\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"%s\"}}",
		 option);
	buf_reset(&f.log);
	f.ops->answer(f.h, id, slice_of(text));
}

#define COMMAND2 "{\"type\":\"webSearch\",\"id\":\"w\",\"query\":\"q\""
#define COMMAND                                                                                                 \
	"{\"type\":\"commandExecution\",\"id\":\"c1\",\"command\":\"/bin/bash -lc 'echo hi'\",\"cwd\":\"/ws\"," \
	"\"processId\":\"7\",\"commandActions\":[{\"type\":\"unknown\",\"command\":\"echo hi\"}]"

/* --- opening ------------------------------------------------------------------------------------------------- */

static void test_ready_tells_version_and_options(void **state _unused_)
{
	open_with(NULL);
	fake_close(&f);
	assert_int_equal(fake_open(&f, &harness_codex, NULL), 0);
	line("{\"id\":1,\"result\":{\"userAgent\":\"acpd/0.169.0 (x)\"}}");
	line("{\"id\":2,\"error\":{\"code\":-1,\"message\":\"no list\"}}");
	assert_log_has("\"sandbox\":\"read-only\"");
	line("{\"id\":3,\"result\":{\"thread\":{\"id\":\"t1\"},\"model\":\"m\",\"modelProvider\":\"openai\"}}");
	assert_log_has("\"sandboxPolicy\":{\"type\":\"dangerFullAccess\"}");
	line("{\"id\":4,\"result\":{}}");
	assert_log_has("ready t1 restored=0");
	assert_log_has(
		"{\"id\":\"model\",\"name\":\"Model\",\"category\":\"model\",\"type\":\"select\","
		"\"currentValue\":\"m\",\"options\":[{\"value\":\"m\",\"name\":\"m\"}]}");
}

static void test_another_provider_is_a_failure(void **state _unused_)
{
	struct harness_req req = fake_request();
	struct harness_provider p = { .api = (char *)"openai-responses", .key = (char *)"k" };

	req.provider = &p;
	assert_int_equal(fake_open(&f, &harness_codex, &req), 0);
	line("{\"id\":1,\"result\":{}}");
	line("{\"id\":2,\"result\":{\"data\":[]}}");
	line("{\"id\":3,\"result\":{\"thread\":{\"id\":\"t1\"},\"model\":\"m\",\"modelProvider\":\"openai\"}}");
	assert_int_equal(f.failures, 1);
	assert_log_has("PROVIDER_NOT_USED");
}

static void test_unknown_thread_is_opened_anew(void **state _unused_)
{
	struct harness_req req = fake_request();

	req.mode = HARNESS_RESTORE;
	req.native_id = "old";
	req.system_prompt = "be brief";
	req.system_override = true;
	req.additional_dirs = SLICE("[\"/more\"]");
	assert_int_equal(fake_open(&f, &harness_codex, &req), 0);
	line("{\"id\":1,\"result\":{}}");
	line("{\"id\":2,\"result\":{\"data\":[]}}");
	assert_log_has("\"method\":\"thread/resume\",\"params\":{\"threadId\":\"old\"");
	assert_log_has("\"baseInstructions\":\"be brief\"");
	assert_log_has("\"runtimeWorkspaceRoots\":[\"/ws\",\"/more\"]");
	line("{\"id\":3,\"error\":{\"code\":-32600,\"message\":\"no rollout found\"}}");
	assert_log_has("\"method\":\"thread/start\"");
	line("{\"id\":4,\"result\":{\"thread\":{\"id\":\"t2\"},\"model\":\"m\"}}");
	line("{\"id\":5,\"result\":{}}");
	assert_log_has("ready t2 restored=0");
}

static void test_refusals_and_faults(void **state _unused_)
{
	assert_int_equal(fake_open(&f, &harness_codex, NULL), 0);
	line("{\"id\":1,\"error\":{\"code\":-1,\"message\":\"too old\"}}");
	assert_log_has("failed -32603 HARNESS_OPEN_FAILED Codex refused initialize: too old");
	fake_close(&f);
	assert_int_equal(fake_open(&f, &harness_codex, NULL), 0);
	assert_int_equal(fake_line(&f, SLICE("Segmentation fault")), HARNESS_NOT_A_MESSAGE);
	assert_int_equal(fake_line(&f, SLICE("{\"id\":1,\"level\":\"info\"}")),
			 HARNESS_NOT_A_MESSAGE);
}

/* --- items --------------------------------------------------------------------------------------------------- */

static void test_first_piece_of_output_was_lost(void **state _unused_)
{
	in_turn(NULL);
	line("{\"method\":\"item/started\",\"params\":{" IDS ",\"item\":" COMMAND "}}}");
	assert_log_has(
		"event tool_call {\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"c1\",\"status\":\"in_progress\","
		"\"title\":\"echo hi\",\"name\":\"exec_command\",\"kind\":\"execute\"");
	line("{\"method\":\"item/commandExecution/outputDelta\",\"params\":{" IDS
	     ",\"itemId\":\"c1\",\"delta\":\"there\\n\"}}");
	assert_log_has("\"text\":\"there\\n\"");
	line("{\"method\":\"item/completed\",\"params\":{" IDS ",\"item\":" COMMAND
	     ",\"status\":\"completed\",\"exitCode\":2,\"aggregatedOutput\":\"hi\\nthere\\n\"}}}");
	assert_log_has(
		"\"status\":\"failed\",\"content\":[{\"type\":\"content\",\"content\":{\"type\":\"text\","
		"\"text\":\"hi\\nthere\\n\"}}],\"rawOutput\":{\"status\":\"completed\","
		"\"aggregatedOutput\":\"hi\\nthere\\n\",\"exitCode\":2}");
}

static void delta(int n)
{
	char text[2000];

	snprintf(text, sizeof(text), "%0*d", n, 7);
	line("{\"method\":\"item/commandExecution/outputDelta\",\"params\":{" IDS
	     ",\"itemId\":\"c1\",\"delta\":\"%s\"}}",
	     text);
}

static void test_little_that_adds_to_much_waits(void **state _unused_)
{
	in_turn(NULL);
	line("{\"method\":\"item/started\",\"params\":{" IDS ",\"item\":" COMMAND "}}}");
	delta(1000);
	buf_reset(&f.log);
	delta(10);
	assert_text(buf_slice(&f.log), "timer 200\n");
	f.ops->on_timer(f.h);
	assert_log_has("event tool_call_update ");
}

static void test_an_end_without_a_start(void **state _unused_)
{
	in_turn(NULL);
	line("{\"method\":\"item/completed\",\"params\":{" IDS ",\"item\":" COMMAND
	     ",\"status\":\"declined\"}}}");
	assert_log_has("event tool_call ");
	assert_log_has("\"status\":\"failed\"");
	buf_reset(&f.log);
	line("{\"method\":\"item/completed\",\"params\":{" IDS ",\"item\":" COMMAND "}}}");
	line("{\"method\":\"item/agentMessage/delta\",\"params\":{\"threadId\":\"t1\",\"turnId\":\"old\","
	     "\"itemId\":\"a\",\"delta\":\"late\"}}");
	line("{\"method\":\"item/agentMessage/delta\",\"params\":{\"threadId\":\"t9\",\"turnId\":\"u1\","
	     "\"itemId\":\"a\",\"delta\":\"another thread's\"}}");
	assert_int_equal(f.log.len, 0);
	line("{\"method\":\"item/started\",\"params\":{\"threadId\":\"t9\",\"turnId\":\"u9\",\"item\":" COMMAND2
	     "}}}");
	assert_log_has("event tool_call "); /* of a subagent */
}

static void test_what_was_not_streamed_comes_whole(void **state _unused_)
{
	in_turn(NULL);
	line("{\"method\":\"item/completed\",\"params\":{" IDS
	     ",\"item\":{\"type\":\"agentMessage\",\"id\":\"a1\",\"text\":\"all\"}}}");
	assert_log_has(
		"event agent_message_chunk {\"sessionUpdate\":\"agent_message_chunk\",\"messageId\":\"a1\","
		"\"content\":{\"type\":\"text\",\"text\":\"all\"}}");
	line("{\"method\":\"item/completed\",\"params\":{" IDS
	     ",\"item\":{\"type\":\"reasoning\",\"id\":\"r1\",\"summary\":[\"one\",\"two\"],\"content\":[]}}}");
	assert_log_has("\"messageId\":\"r1\",\"content\":{\"type\":\"text\",\"text\":\"two\"}}");
	line("{\"method\":\"item/reasoning/summaryPartAdded\",\"params\":{" IDS
	     ",\"itemId\":\"r2\",\"summaryIndex\":1}}");
	assert_log_has("\"messageId\":\"r2\",\"content\":{\"type\":\"text\",\"text\":\"\\n\\n\"}}");
	line("{\"method\":\"item/started\",\"params\":{" IDS
	     ",\"item\":{\"type\":\"contextCompaction\",\"id\":\"k\"}}}");
	assert_log_has("\"compactionId\":\"k\",\"status\":\"in_progress\"");
}

/* --- questions ----------------------------------------------------------------------------------------------- */

static void test_command_decisions(void **state _unused_)
{
	in_turn(NULL);
	line("{\"method\":\"item/commandExecution/requestApproval\",\"id\":0,\"params\":{" IDS
	     ",\"itemId\":\"c1\",\"command\":\"touch a\",\"reason\":\"must\",\"availableDecisions\":[\"accept\","
	     "{\"acceptWithExecpolicyAmendment\":{\"execpolicy_amendment\":[\"touch\"]}},\"cancel\"]}}");
	assert_log_has(
		"ask 1 permission {\"toolCall\":{\"toolCallId\":\"c1\",\"status\":\"pending\",\"title\":\"touch a\"");
	assert_log_has("\"_meta\":{\"reason\":\"must\"}");
	answer(1, "allow_always");
	assert_log_has(
		"send {\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"decision\":{\"acceptWithExecpolicyAmendment\":"
		"{\"execpolicy_amendment\":[\"touch\"]}}}}");
	line("{\"method\":\"item/commandExecution/requestApproval\",\"id\":\"x\",\"params\":{" IDS
	     ",\"itemId\":\"c2\",\"command\":\"touch b\"}}");
	answer(2, "reject_once");
	assert_log_has("\"id\":\"x\",\"result\":{\"decision\":\"decline\"}}");
	line("{\"method\":\"execCommandApproval\",\"id\":3,\"params\":{\"callId\":\"c3\",\"command\":[\"ls\"]}}");
	answer(3, "nonsense");
	assert_log_has("\"id\":3,\"result\":{\"decision\":\"abort\"}}");
}

static void test_withdrawn_and_unknown_requests(void **state _unused_)
{
	in_turn(NULL);
	line("{\"method\":\"item/fileChange/requestApproval\",\"id\":0,\"params\":{" IDS
	     ",\"itemId\":\"p\"}}");
	line("{\"method\":\"serverRequest/resolved\",\"params\":{\"threadId\":\"t1\",\"requestId\":0}}");
	assert_log_has("unask 1\n");
	buf_reset(&f.log);
	answer(1, "allow_once");
	assert_int_equal(f.log.len, 0);
	line("{\"method\":\"currentTime/read\",\"id\":1,\"params\":{}}");
	assert_log_has("\"id\":1,\"error\":{\"code\":-32601");
	line("{\"method\":\"item/tool/requestUserInput\",\"id\":2,\"params\":{" IDS
	     ",\"questions\":[]}}");
	assert_log_has("\"id\":2,\"result\":{\"answers\":{}}}");
	line("{\"method\":\"mcpServer/elicitation/request\",\"id\":3,\"params\":{" IDS
	     ",\"mode\":\"form\",\"message\":\"m\",\"requestedSchema\":{}}}");
	assert_log_has(
		"\"id\":3,\"result\":{\"action\":\"decline\",\"content\":null,\"_meta\":null}}");
	line("{\"method\":\"item/permissions/requestApproval\",\"id\":4,\"params\":{" IDS
	     ",\"itemId\":\"q\",\"permissions\":{\"network\":{\"enabled\":true},\"fileSystem\":null}}}");
	answer(2, "allow_always");
	assert_log_has(
		"\"id\":4,\"result\":{\"permissions\":{\"network\":{\"enabled\":true}},\"scope\":\"session\"}}");
}

static void test_forms(void **state _unused_)
{
	struct harness_req req = fake_request();

	req.elicitation = true;
	in_turn(&req);
	line("{\"method\":\"mcpServer/elicitation/request\",\"id\":0,\"params\":{" IDS
	     ",\"mode\":\"form\",\"message\":\"Name?\",\"requestedSchema\":{\"type\":\"object\"}}}");
	assert_log_has(
		"ask 1 elicitation {\"mode\":\"form\",\"message\":\"Name?\",\"requestedSchema\":{\"type\":\"object\"}}");
	f.ops->answer(f.h, 1, SLICE("{\"action\":\"accept\",\"content\":{\"n\":1}}"));
	assert_log_has(
		"\"id\":0,\"result\":{\"action\":\"accept\",\"content\":{\"n\":1},\"_meta\":null}}");
	line("{\"method\":\"item/tool/requestUserInput\",\"id\":1,\"params\":{" IDS
	     ",\"questions\":[{\"id\":\"q\",\"header\":\"H\",\"question\":\"Which?\",\"isOther\":false,"
	     "\"options\":[{\"label\":\"A\",\"description\":\"a\"}]}]}}");
	assert_log_has(
		"\"properties\":{\"q\":{\"type\":\"string\",\"title\":\"H\",\"description\":\"Which?\","
		"\"oneOf\":[{\"const\":\"A\",\"title\":\"A\",\"description\":\"a\"}]}}");
	f.ops->answer(f.h, 2, SLICE("{\"action\":\"accept\",\"content\":{\"q\":\"A\"}}"));
	assert_log_has("\"id\":1,\"result\":{\"answers\":{\"q\":{\"answers\":[\"A\"]}}}}");
}

static void patch_at(const char *path, unsigned id)
{
	line("{\"method\":\"item/started\",\"params\":{" IDS
	     ",\"item\":{\"type\":\"fileChange\",\"id\":\"p%u\",\"changes\":[{\"path\":\"%s\",\"kind\":{\"type\":\"add\"},"
	     "\"diff\":\"x\"}]}}}",
	     id, path);
	buf_reset(&f.log);
	line("{\"method\":\"item/fileChange/requestApproval\",\"id\":%u,\"params\":{" IDS
	     ",\"itemId\":\"p%u\"}}",
	     id, id);
}

static void test_accepted_edits(void **state _unused_)
{
	static const struct {
		const char *path;
		bool asked;
	} rows[] = {
		{ "/ws/a", false },	 { "/more/x/y", false }, { "/wsx/a", true },
		{ "/etc/passwd", true }, { "/ws/../etc", true }, { "/ws/a/..", true },
		{ "a", true },
	};
	struct harness_req req = fake_request();

	req.approval = APPROVAL_ACCEPT_EDITS;
	req.additional_dirs = SLICE("[\"/more/\"]");
	in_turn(&req);
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		patch_at(rows[i].path, i);
		if (slice_starts(buf_slice(&f.log), "ask ") != rows[i].asked)
			fail_row(i, rows[i].path);
	}
	line("{\"method\":\"item/commandExecution/requestApproval\",\"id\":50,\"params\":{" IDS
	     ",\"itemId\":\"c\",\"command\":\"ls\"}}");
	assert_log_has("ask ");
}

/* --- ends ---------------------------------------------------------------------------------------------------- */

static void test_error_classes(void **state _unused_)
{
	static const struct {
		const char *error, *want;
	} rows[] = {
		{ "{\"message\":\"x\",\"codexErrorInfo\":{\"httpConnectionFailed\":{\"httpStatusCode\":403}}}",
		  "end failed auth 403 retryable=0 x\n" },
		{ "{\"message\":\"x\",\"codexErrorInfo\":{\"httpConnectionFailed\":{\"httpStatusCode\":402}}}",
		  "end failed quota 402 retryable=0 x\n" },
		{ "{\"message\":\"x\",\"codexErrorInfo\":{\"responseTooManyFailedAttempts\":{\"httpStatusCode\":429}}}",
		  "end failed rate_limit 429 retryable=1 x\n" },
		{ "{\"message\":\"x\",\"codexErrorInfo\":\"internalServerError\"}",
		  "end failed provider 500 retryable=1 x\n" },
		{ "{\"message\":\"x\",\"codexErrorInfo\":{\"responseStreamDisconnected\":{\"httpStatusCode\":null}}}",
		  "end failed provider 0 retryable=1 x\n" },
		{ "{\"message\":\"stream disconnected before completion: x\",\"codexErrorInfo\":\"other\"}",
		  "end failed provider 0 retryable=1 stream disconnected before completion: x\n" },
		{ "{\"message\":\"{\\\"error\\\":{\\\"message\\\":\\\"bad\\\"}}\",\"codexErrorInfo\":\"other\"}",
		  "end failed provider 400 retryable=0 bad\n" },
		{ "{\"message\":\"x\",\"codexErrorInfo\":\"contextWindowExceeded\"}",
		  "end failed context_overflow 0 retryable=0 x\n" },
		{ "{\"message\":\"x\",\"codexErrorInfo\":\"usageLimitExceeded\"}",
		  "end failed quota 0 retryable=0 x\n" },
		{ "{\"message\":\"x\",\"codexErrorInfo\":\"ofTomorrow\"}",
		  "end failed harness_error 0 retryable=0 x\n" },
		{ "{\"message\":\"Incomplete response returned, reason: max_output_tokens\",\"codexErrorInfo\":\"other\"}",
		  "end max_tokens\n" },
		{ "{\"message\":\"x\",\"codexErrorInfo\":\"cyberPolicy\"}", "end refusal\n" },
		{ "null",
		  "end failed harness_error 0 retryable=0 Codex ended the turn with an error without a message\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		in_turn(NULL);
		line("{\"method\":\"turn/completed\",\"params\":{\"threadId\":\"t1\",\"turn\":{\"id\":\"u1\","
		     "\"status\":\"failed\",\"error\":%s}}}",
		     rows[i].error);
		assert_log_has(rows[i].want);
		fake_close(&f);
	}
}

static void test_cancel_waits_until_commands_are_gone(void **state _unused_)
{
	open_with(NULL);
	assert_int_equal(fake_prompt(&f, "[]", NULL), 0);
	f.ops->cancel(f.h); /* before the turn has an id */
	buf_reset(&f.log);
	line("{\"id\":5,\"result\":{\"turn\":{\"id\":\"u1\"}}}");
	assert_log_has(
		"\"method\":\"turn/interrupt\",\"params\":{\"threadId\":\"t1\",\"turnId\":\"u1\"}");
	line("{\"method\":\"item/commandExecution/requestApproval\",\"id\":0,\"params\":{" IDS
	     ",\"itemId\":\"c\",\"command\":\"ls\"}}");
	assert_log_has("\"id\":0,\"result\":{\"decision\":\"cancel\"}");
	line("{\"id\":6,\"result\":{}}");
	line("{\"method\":\"turn/completed\",\"params\":{\"threadId\":\"t1\",\"turn\":{\"id\":\"u1\",\"status\":\"interrupted\"}}}");
	assert_log_has("thread/backgroundTerminals/clean");
	assert_int_equal(f.ends, 0);
	line("{\"id\":7,\"result\":{}}");
	assert_log_has("end cancelled\n");
	line("{\"method\":\"turn/completed\",\"params\":{\"threadId\":\"t1\",\"turn\":{\"id\":\"u1\",\"status\":\"interrupted\"}}}");
	assert_int_equal(f.ends, 1);
}

static void test_a_turn_that_does_not_start(void **state _unused_)
{
	open_with(NULL);
	assert_int_equal(fake_prompt(&f, "[]", NULL), 0);
	line("{\"id\":5,\"error\":{\"code\":-32600,\"message\":\"busy\"}}");
	assert_log_has("end failed harness_error 0 retryable=0 busy\n");
}

static void test_usage_of_calls_only(void **state _unused_)
{
#define TOKENS(total_in, total_out, in, out)                                                       \
	"{\"method\":\"thread/tokenUsage/updated\",\"params\":{" IDS                               \
	",\"tokenUsage\":{\"total\":{\"inputTokens\":" total_in ",\"outputTokens\":" total_out     \
	"},\"last\":{\"inputTokens\":" in ",\"outputTokens\":" out ",\"totalTokens\":" in          \
	"},\"modelContextWindow\":1000}}}"
	in_turn(NULL);
	line(TOKENS("100", "5", "100", "5"));
	assert_log_has("usage call input=100 output=5 total=100 model=m\n");
	buf_reset(&f.log);
	line(TOKENS("100", "5", "100", "5"));
	line(TOKENS("100", "5", "0", "0"));
	assert_null(memmem(f.log.data, f.log.len, "usage call", 10));
	line(TOKENS("130", "9", "0", "0")); /* met the token limit */
	assert_log_has("usage call input=30 output=4 model=m\n");
}

static void test_settings_notices_and_steering(void **state _unused_)
{
	in_turn(NULL);
	assert_int_equal(f.ops->set_config(
				 f.h, 9, SLICE("\"configId\":\"mode\",\"value\":\"plan\""), &f.err),
			 0);
	assert_log_has(
		"\"collaborationMode\":{\"mode\":\"plan\",\"settings\":{\"model\":\"m\",\"reasoning_effort\":null");
	line("{\"id\":6,\"error\":{\"message\":\"no\"}}");
	assert_log_has("reply 9 error -32603 no");
	assert_true(f.ops->set_config(f.h, 9, SLICE("\"configId\":\"mode\",\"value\":\"x\""),
				      &f.err) < 0);
	line("{\"method\":\"thread/settings/updated\",\"params\":{\"threadId\":\"t1\",\"threadSettings\":{\"model\":\"n\","
	     "\"effort\":\"low\",\"collaborationMode\":{\"mode\":\"plan\"}}}}");
	assert_log_has("event config_option_update ");
	line("{\"method\":\"error\",\"params\":{" IDS
	     ",\"willRetry\":true,\"error\":{\"message\":\"Reconnecting... 1/1\",\"additionalDetails\":\"429\"}}}");
	assert_log_has(
		"{\"sessionUpdate\":\"notice\",\"severity\":\"warning\",\"title\":\"Reconnecting... 1/1: 429\"}");
	line("{\"method\":\"turn/plan/updated\",\"params\":{" IDS
	     ",\"plan\":[{\"step\":\"a\",\"status\":\"inProgress\"}]}}");
	assert_log_has(
		"\"entries\":[{\"content\":\"a\",\"priority\":\"medium\",\"status\":\"in_progress\"}]");
	line("{\"method\":\"thread/name/updated\",\"params\":{\"threadId\":\"t1\",\"threadName\":\"T\"}}");
	assert_log_has("{\"sessionUpdate\":\"session_info_update\",\"title\":\"T\"}");
	buf_reset(&f.log);
	line("{\"method\":\"warning\",\"params\":{\"threadId\":\"t1\",\"message\":\"w\"}}");
	line("{\"method\":\"warning\",\"params\":{\"threadId\":\"t1\",\"message\":\"w\"}}");
	assert_text(
		buf_slice(&f.log),
		"event notice {\"sessionUpdate\":\"notice\",\"severity\":\"warning\",\"title\":\"w\"}\n");
	assert_int_equal(
		f.ops->steer(f.h, 3, SLICE("[{\"type\":\"text\",\"text\":\"more\"}]"), &f.err), 0);
	assert_log_has(
		"\"method\":\"turn/steer\",\"params\":{\"threadId\":\"t1\",\"expectedTurnId\":\"u1\"");
	line("{\"id\":7,\"result\":{\"turnId\":\"u1\"}}");
	assert_log_has("reply 3 {\"outcome\":\"injected\"}");
}

static void test_input(void **state _unused_)
{
	open_with(NULL);
	assert_int_equal(
		fake_prompt(
			&f,
			"[{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"QQ==\"},"
			"{\"type\":\"resource_link\",\"uri\":\"file:///a\",\"name\":\"a\"},"
			"{\"type\":\"resource\",\"resource\":{\"uri\":\"file:///b\",\"text\":\"B\"}},"
			"{\"type\":\"resource\",\"resource\":{\"uri\":\"file:///c\",\"blob\":\"QQ==\"}}]",
			NULL),
		0);
	assert_log_has(
		"{\"type\":\"image\",\"url\":\"data:image/png;base64,QQ==\"},"
		"{\"type\":\"text\",\"text\":\"[@a](file:///a)\",\"text_elements\":[]},"
		"{\"type\":\"text\",\"text\":\"<context ref=\\\"file:///b\\\">\\nB\\n</context>\",\"text_elements\":[]},"
		"{\"type\":\"text\",\"text\":\"[@file:///c](file:///c)\",\"text_elements\":[]}]");
}

#define T(fn) cmocka_unit_test_teardown(fn, session_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_ready_tells_version_and_options),
		T(test_another_provider_is_a_failure),
		T(test_unknown_thread_is_opened_anew),
		T(test_refusals_and_faults),
		T(test_first_piece_of_output_was_lost),
		T(test_little_that_adds_to_much_waits),
		T(test_an_end_without_a_start),
		T(test_what_was_not_streamed_comes_whole),
		T(test_command_decisions),
		T(test_withdrawn_and_unknown_requests),
		T(test_forms),
		T(test_accepted_edits),
		T(test_error_classes),
		T(test_cancel_waits_until_commands_are_gone),
		T(test_a_turn_that_does_not_start),
		T(test_usage_of_calls_only),
		T(test_settings_notices_and_steering),
		T(test_input),
	};

	return RUN(tests, NULL, NULL);
}
