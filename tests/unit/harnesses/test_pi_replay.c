/*
 * Replays conversations of the adapter with the real Pi (tests/fixtures/pi/record.mjs): what Pi wrote is fed back line by line, and
 * whatever the adapter sends must be what it sent then, byte for byte. What it does not send by itself the client caused: the call of
 * the contract is made that leads to that line.
 */
#include "replay.h"

#include "harnesses/harness.h"
#include "json/jenc.h"
#include "json/jstr.h"

static struct harness_req req;
static char key[] = "sk-recorded";
static const struct harness_provider provider = { .key = key };

static int setup(void **state)
{
	req = fake_request();
	req.session_id = "sess_recorded";
	req.model = "scripted-1";
	req.elicitation = true;
	req.provider = &provider;
	return replay_setup(state);
}

/* --- the client's side -------------------------------------------------------------------------------------- */

static void do_set(const char *id, struct jval value)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	jw_str(&w, "configId", id);
	jw_raw(&w, "value", value.raw);
	assert_int_equal(f.ops->set_config(f.h, 7, buf_slice(&b), &f.err), 0);
}

static void do_prompt(struct jval message)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	_cleanup_(freep) char *text = NULL;
	struct jw w = JW(&b);

	assert_int_equal(jstr_decode(message, 4096, &text), 0);
	if (strncmp(text, "/acpd:set ", 10) == 0) {
		struct slice json = slice_of(text + 10);
		struct jval mode = jobj_get(json, "mode"), approval = jobj_get(json, "approval");

		if (mode.type)
			do_set("mode", mode);
		else
			do_set("approval", approval);
		return;
	}
	jw_arr(&w, NULL);
	jw_obj(&w, NULL);
	jw_str(&w, "type", "text");
	jw_raw(&w, "text", message.raw);
	jw_end_obj(&w);
	jw_end_arr(&w);
	assert_int_equal(f.ops->prompt(f.h, buf_slice(&b), SLICE_NONE, &f.err), 0);
}

/* The client answers what it was asked last: a permission and an elicitation are told apart by the adapter. */
static void do_answer(struct slice m)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jval value = jobj_get(m, "value");
	struct jw w = JW(&b);

	jw_obj(&w, NULL);
	jw_obj(&w, "outcome");
	jw_raw(&w, "optionId", value.raw);
	jw_end_obj(&w);
	jw_str(&w, "action", value.type ? "accept" : "cancel");
	jw_obj(&w, "content");
	jw_raw(&w, "answer", value.raw);
	jw_end_obj(&w);
	jw_end_obj(&w);
	f.ops->answer(f.h, f.asks, buf_slice(&b));
}

/* With a turn the core also cancels what is asked in it. */
static void do_cancel(void)
{
	f.ops->cancel(f.h);
	f.ops->answer(f.h, f.asks, SLICE("{\"outcome\":{\"outcome\":\"cancelled\"}}"));
}

static void client_acts(struct slice m)
{
	struct jval type = jobj_get(m, "type");

	if (jstr_is(type, "get_state"))
		assert_int_equal(fake_open(&f, &harness_pi, &req), 0);
	else if (jstr_is(type, "prompt"))
		do_prompt(jobj_get(m, "message"));
	else if (jstr_is(type, "clear_queue"))
		do_cancel();
	else if (jstr_is(type, "set_model"))
		do_set("model", jobj_get(m, "modelId"));
	else if (jstr_is(type, "set_thinking_level"))
		do_set("thought_level", jobj_get(m, "level"));
	else if (jstr_is(type, "extension_ui_response"))
		do_answer(m);
}

/* Takes a line from what the adapter sent. What it sent by itself and what the client made it send may change places. */
static bool take_sent(struct slice m)
{
	_cleanup_(buf_done) struct buf rest = { 0 };
	struct slice all = buf_slice(&sent), line;
	bool found = false;

	while (next_line(&all, &line)) {
		if (!found && slice_eq(line, m))
			found = true;
		else
			buf_add(&rest, line.p, line.n + 1);
	}
	buf_reset(&sent);
	buf_add_slice(&sent, buf_slice(&rest));
	return found;
}

static void client_side(struct slice m)
{
	if (take_sent(m))
		return;
	client_acts(m);
	take_log();
	if (!take_sent(m))
		fail_msg("sent   %.*swanted %.*s", (int)buf_len(&sent), sent.data, (int)m.n, m.p);
}

static void replay(const char *name, const char *want)
{
	static const struct replay_side side = { .dir = "tests/fixtures/pi/",
						 .client = client_side };

	replay_trace(&side, name, want);
}

#define OPEN "ready available_commands_update "

static void test_text(void **state _unused_)
{
	replay("text",
	       OPEN "agent_thought_chunk*2 agent_message_chunk*4 usage usage_update end_turn ");
	assert_said("\"messageId\":\"m17");
	assert_said(
		"usage call input=1200 output=40 cache_read=200 reasoning=8 total=1240 model=scripted-1");
	assert_said("\"used\":1240,\"size\":128000");
}

static void test_tools(void **state _unused_)
{
	replay("tools", OPEN
	       "agent_message_chunk tool_call tool_call_update usage tool_call_update ask usage_update tool_call_update*2 tool_call tool_call_update usage tool_call_update ask usage_update tool_call_update tool_call tool_call_update usage tool_call_update ask usage_update tool_call_update tool_call tool_call_update usage tool_call_update usage_update tool_call_update agent_message_chunk usage usage_update end_turn ");
	assert_said(
		"\"status\":\"failed\",\"content\":[{\"type\":\"content\",\"content\":{\"type\":\"text\",\"text\":\"hi\\n\\n\\nCommand exited with code 3\"}}],\"rawOutput\":{\"structuredContent\":{\"output\":\"hi\\n\",\"truncated\":false,\"exit_code\":3");
	assert_said(
		"{\"type\":\"diff\",\"path\":\"/ws/a.txt\",\"oldText\":\"one\\ntwo\\nthree\\n\",\"newText\":\"one\\n2\\nthree\\n\"}");
	assert_said(
		"{\"type\":\"diff\",\"path\":\"/ws/n.txt\",\"oldText\":null,\"newText\":\"new\\n\"}");
	assert_said(
		"\"title\":\"Read a.txt\",\"kind\":\"read\",\"locations\":[{\"path\":\"/ws/a.txt\",\"line\":2}]");
}

static void test_reject(void **state _unused_)
{
	replay("reject", OPEN
	       "tool_call tool_call_update usage tool_call_update ask usage_update tool_call_update agent_message_chunk*2 usage usage_update end_turn ");
	assert_said("The user did not allow this call.");
}

static void test_cancel(void **state _unused_)
{
	replay("cancel", OPEN
	       "tool_call tool_call_update usage tool_call_update ask usage_update tool_call_update*2 cancelled "
	       "tool_call tool_call_update usage tool_call_update ask usage_update tool_call_update cancelled*2 "
	       "usage_update agent_message_chunk*2 usage usage_update end_turn ");
}

static void test_errors(void **state _unused_)
{
	replay("errors", OPEN
	       "failed:auth failed:quota notice*2 failed:rate_limit notice*2 failed:provider agent_message_chunk notice agent_message_chunk notice agent_message_chunk failed:provider*2 failed:context_overflow agent_message_chunk usage usage_update max_tokens agent_message_chunk usage usage_update refusal notice agent_message_chunk usage usage_update end_turn ");
	assert_said("end failed auth 401 retryable=0 Incorrect API key provided.");
	assert_said("end failed quota 402 retryable=0");
	assert_said("end failed rate_limit 429 retryable=1");
	assert_said("end failed provider 500 retryable=1");
	assert_said("end failed provider 0 retryable=1 terminated");
	assert_said("end failed context_overflow 400 retryable=0");
	assert_said("\"title\":\"Retry 2 of 2 in 1000 ms\"");
}

static void test_settings(void **state _unused_)
{
	replay("settings", OPEN
	       "reply*3 tool_call tool_call_update usage tool_call_update*2 usage_update agent_message_chunk usage usage_update end_turn reply*2 tool_call tool_call_update usage tool_call_update usage_update tool_call_update agent_message_chunk usage usage_update end_turn ");
	assert_said(
		"\"id\":\"mode\",\"name\":\"Mode\",\"category\":\"mode\",\"type\":\"select\",\"currentValue\":\"plan\"");
	assert_said("edit is not allowed in plan mode.");
	assert_said("\"category\":\"_approval\",\"type\":\"select\",\"currentValue\":\"never\"");
	assert_said("model=scripted-2");
}

static void test_mcp(void **state _unused_)
{
	req.mcp_servers = SLICE("[{\"name\":\"other\"},{\"name\":\"my-server\"}]");
	replay("mcp", OPEN
	       "tool_call tool_call_update usage tool_call_update ask usage_update tool_call_update tool_call tool_call_update usage tool_call_update ask usage_update tool_call_update agent_message_chunk usage usage_update end_turn ");
	assert_said("\"name\":\"my-server/echo\",\"title\":\"my-server.echo\",\"kind\":\"other\"");
	assert_said(
		"\"status\":\"failed\",\"content\":[{\"type\":\"content\",\"content\":{\"type\":\"text\",\"text\":\"it failed\"}}]");
}

static void test_questions(void **state _unused_)
{
	replay("questions", OPEN
	       "tool_call tool_call_update usage tool_call_update ask usage_update tool_call_update tool_call tool_call_update usage tool_call_update ask usage_update tool_call_update agent_message_chunk usage usage_update end_turn ");
	assert_said("elicitation {\"mode\":\"form\",\"message\":\"Which colour?\"");
	assert_said("\"enum\":[\"red\",\"green\"]");
	assert_said("\"text\":\"green\"");
}

static void test_responses(void **state _unused_)
{
	replay("responses", OPEN
	       "agent_thought_chunk agent_message_chunk tool_call tool_call_update usage tool_call_update ask usage_update tool_call_update*2 agent_message_chunk usage usage_update end_turn ");
}

static void test_anthropic(void **state _unused_)
{
	replay("anthropic", OPEN
	       "agent_thought_chunk agent_message_chunk tool_call tool_call_update usage tool_call_update ask usage_update tool_call_update*2 agent_message_chunk usage usage_update end_turn ");
	assert_said("usage call input=1200 output=40 cache_read=200 cache_write=50 total=1240");
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, replay_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_text),	   T(test_tools),     T(test_reject), T(test_cancel),
		T(test_errors),	   T(test_settings),  T(test_mcp),    T(test_questions),
		T(test_responses), T(test_anthropic),
	};

	return RUN(tests, NULL, NULL);
}
