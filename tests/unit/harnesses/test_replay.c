/*
 * Replays recorded conversations with the real OpenCode through the adapter: what the client did there is done here by
 * the calls of the contract, what the program wrote is fed back line by line, and every update comes out as it stood.
 */
#include "replay.h"

#include "harnesses/harness.h"
#include "json/jdec.h"
#include "json/jenc.h"
#include "json/jstr.h"

static uint32_t our_id[64]; /* of the request that has this id in the recording */

static int setup(void **state)
{
	memset(our_id, 0, sizeof(our_id));
	return replay_setup(state);
}

static void put_sent(struct slice message)
{
	_cleanup_(freep) char *method = NULL;

	if (jobj_get(message, "error").type != J_NONE)
		put_word("refuse");
	else if (jobj_get(message, "result").type != J_NONE)
		put_word("answer");
	else if (jstr_decode(jobj_get(message, "method"), 60, &method) == 0)
		put_word(method);
}

/* --- the client's side -------------------------------------------------------------------------------------- */

static uint32_t sent_id(void)
{
	const char *at = memmem(f.log.data, f.log.len, "\"id\":", 5);

	return at ? (uint32_t)strtoul(at + 5, NULL, 10) : 0;
}

static char *text_of(struct slice object, const char *key)
{
	char *s = NULL;

	assert_int_equal(jstr_decode(jobj_get(object, key), 4096, &s), 0);
	return s;
}

static void do_load(struct slice params)
{
	_cleanup_(freep) char *id = text_of(params, "sessionId");
	struct harness_req req = fake_request();

	req.mode = HARNESS_RESTORE;
	req.native_id = id;
	f.h = f.ops->free(f.h);
	assert_int_equal(fake_open(&f, &harness_opencode, &req), 0);
	buf_reset(&f.log);
	/* as a program that can load only */
	assert_int_equal(fake_line(&f, SLICE("{\"id\":1,\"result\":{\"protocolVersion\":1,"
					     "\"agentCapabilities\":{\"loadSession\":true}}}")),
			 0);
}

static void do_set_config(struct slice params)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	jw_members(&w, params, "sessionId");
	assert_int_equal(f.ops->set_config(f.h, 7, buf_slice(&b), &f.err), 0);
}

static void do_set_mode(struct slice params)
{
	_cleanup_(freep) char *mode = text_of(params, "modeId");

	assert_int_equal(f.ops->set_mode(f.h, 8, mode, &f.err), 0);
}

static void client_calls(struct jval method, struct slice params)
{
	struct slice content = jobj_get(params, "prompt").raw;

	if (jstr_is(method, "initialize"))
		assert_int_equal(fake_open(&f, &harness_opencode, NULL), 0);
	else if (jstr_is(method, "session/prompt"))
		assert_int_equal(f.ops->prompt(f.h, content, SLICE_NONE, &f.err), 0);
	else if (jstr_is(method, "session/cancel"))
		f.ops->cancel(f.h);
	else if (jstr_is(method, "session/load"))
		do_load(params);
	else if (jstr_is(method, "session/set_config_option"))
		do_set_config(params);
	else if (jstr_is(method, "session/set_mode"))
		do_set_mode(params);
}

static void client_side(struct slice m)
{
	struct jval method = jobj_get(m, "method"), id = jobj_get(m, "id"),
		    result = jobj_get(m, "result");
	int64_t n;

	/* session/new is sent by the adapter itself, and stands in the log already */
	if (!jstr_is(method, "session/new"))
		take_log();
	if (method.type == J_STRING) {
		client_calls(method, jobj_get(m, "params").raw);
		if (jdec_int(id, &n) == 0 && n < (int64_t)ARRAY_SIZE(our_id))
			our_id[n] = sent_id();
	} else if (result.type != J_NONE) {
		f.ops->answer(f.h, f.asks, result.raw);
	}
	take_log();
}

/* --- the program's side ------------------------------------------------------------------------------------- */

static void feed_response(struct slice m, int64_t id)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	assert_true(id < (int64_t)ARRAY_SIZE(our_id));
	if (!our_id[id])
		return; /* session/close: in our terms the adapter is freed */
	jw_obj(&w, NULL);
	jw_uint(&w, "id", our_id[id]);
	jw_members(&w, m, "id");
	jw_end_obj(&w);
	assert_int_equal(fake_line(&f, buf_slice(&b)), 0);
}

static bool exit_code_is_bad(struct slice update)
{
	struct slice output = jobj_get(update, "rawOutput").raw;
	struct jval code = jobj_get(jobj_get(output, "metadata").raw, "exit");

	return code.type == J_NULL || (code.type == J_NUMBER && !slice_is(code.raw, "0"));
}

/* The event, if there is one, holds the update byte for byte; a tool call has its tool's name added. */
static void check_update(struct slice m)
{
	struct slice update = jobj_get(jobj_get(m, "params").raw, "update").raw;

	if (!buf_len(&f.log) || !update.n)
		return;
	if (slice_starts(buf_slice(&f.log), "event tool_call {")) {
		assert_non_null(memmem(f.log.data, f.log.len, ",\"name\":\"", 9));
		return;
	}
	if (slice_starts(buf_slice(&f.log), "event compaction_summary_chunk {"))
		return;
	if (exit_code_is_bad(update)) {
		assert_non_null(memmem(f.log.data, f.log.len, "\"status\":\"failed\"", 17));
		return;
	}
	assert_true(slice_starts(buf_slice(&f.log), "event "));
	if (slice_starts(buf_slice(&f.log), "event usage_update {")) {
		assert_null(memmem(f.log.data, f.log.len, "\"cost\"", 6)); /* all recorded are 0 */
		return;
	}
	assert_true(f.log.len > update.n + 1);
	assert_memory_equal(f.log.data + f.log.len - 1 - update.n, update.p, update.n);
}

static void program_side(struct slice m)
{
	int64_t id;

	take_log();
	if (jobj_get(m, "method").type == J_STRING) {
		assert_int_equal(fake_line(&f, m), 0);
		check_update(m);
		return;
	}
	assert_int_equal(jdec_int(jobj_get(m, "id"), &id), 0);
	feed_response(m, id);
}

static void replay(const char *name, const char *want)
{
	static const struct replay_side side = { "tests/fixtures/opencode/", client_side,
						 program_side, put_sent };

	replay_trace(&side, name, want);
}

#define OPEN "initialize session/new ready session/prompt available_commands_update "

static void test_text(void **state _unused_)
{
	replay("text",
	       OPEN "agent_thought_chunk*3 agent_message_chunk*5 usage_update usage end_turn ");
}

static void test_tool(void **state _unused_)
{
	replay("tool", OPEN "agent_message_chunk*4 tool_call tool_call_update ask answer refuse "
			    "tool_call_update*2 agent_message_chunk usage_update usage end_turn ");
}

static void test_tool_relative(void **state _unused_)
{
	replay("tool-relative",
	       OPEN "tool_call tool_call_update*2 tool_call tool_call_update ask answer "
		    "tool_call_update*3 agent_message_chunk usage_update usage end_turn ");
}

static void test_reject(void **state _unused_)
{
	replay("reject", OPEN
	       "tool_call tool_call_update ask answer tool_call_update usage_update usage end_turn ");
}

static void test_cancel(void **state _unused_)
{
	replay("cancel",
	       OPEN "tool_call tool_call_update ask answer tool_call_update session/cancel "
		    "tool_call_update usage_update usage cancelled ");
}

static void test_cancel_question(void **state _unused_)
{
	replay("cancel-question", OPEN
	       "tool_call tool_call_update ask session/cancel tool_call_update usage_update usage cancelled ");
}

static void test_error(void **state _unused_)
{
	replay("error", OPEN "usage_update failed:provider "
			     "session/prompt usage_update failed:provider "
			     "session/prompt usage_update failed:provider "
			     "session/prompt usage_update failed:provider "
			     "session/prompt usage_update usage end_turn "
			     "session/prompt session/cancel usage_update usage end_turn ");
}

/* The replay of session/load is swallowed; the core keeps the history itself. */
static void test_load(void **state _unused_)
{
	replay("load", OPEN
	       "agent_thought_chunk agent_message_chunk*4 tool_call tool_call_update ask answer refuse "
	       "tool_call_update*2 agent_message_chunk usage_update usage end_turn "
	       "session/set_config_option reply session/set_mode reply "
	       "session/load ready available_commands_update "
	       "session/prompt agent_message_chunk*6 usage_update usage end_turn ");
}

/* With the plugin: every call, the retry, the error with its status, the token limit, two overflows mended by compaction. */
static void test_report(void **state _unused_)
{
	replay("report", OPEN
	       "agent_thought_chunk tool_call tool_call_update ask answer tool_call_update usage*2 tool_call_update*2 "
	       "agent_message_chunk usage_update end_turn "
	       "session/prompt notice usage agent_message_chunk usage_update end_turn "
	       "session/prompt usage_update failed:auth "
	       "session/prompt usage agent_message_chunk usage_update max_tokens "
	       "session/prompt compaction_update usage compaction_update*2 compaction_summary_chunk*23 usage "
	       "compaction_update usage compaction_summary_chunk*28 agent_message_chunk*38 usage_update end_turn ");
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, replay_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_text),	T(test_tool),	T(test_tool_relative),
		T(test_reject), T(test_cancel), T(test_cancel_question),
		T(test_error),	T(test_load),	T(test_report),
	};

	return RUN(tests, NULL, NULL);
}
