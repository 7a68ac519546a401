/*
 * Replays recorded conversations with the real Codex through the adapter. They were recorded between the two, so every line
 * that the adapter sends must be the recorded one, byte for byte; what comes out to the core is stated as a trace.
 */
#include "replay.h"

#include "harnesses/harness.h"
#include "json/jenc.h"
#include "json/jstr.h"

#define PROVIDER                                                                                   \
	"{\"api\":\"openai-responses\",\"baseUrl\":\"http://127.0.0.1:8080/v1\",\"key\":\"sk\",\"model\":\"m\""

static struct harness_provider provider;
static struct harness_req req;

static int setup(void **state)
{
	struct err e;

	req = fake_request();
	assert_int_equal(harness_provider_parse(SLICE(PROVIDER "}"), &provider, &e), 0);
	req.provider = &provider;
	return replay_setup(state);
}

static int teardown(void **state)
{
	harness_provider_done(&provider);
	return replay_teardown(state);
}

/* --- what the adapter sent, and what makes it do so --------------------------------------------------------- */

static void do_prompt(struct slice params)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);
	struct jval v;
	struct jiter it;

	jw_arr(&w, NULL);
	jiter_init(&it, jobj_get(params, "input"));
	while (jiter_next(&it, NULL, &v)) {
		jw_obj(&w, NULL);
		jw_members(&w, v.raw, "text_elements");
		jw_end_obj(&w);
	}
	jw_end_arr(&w);
	put_word("PROMPT");
	assert_int_equal(f.ops->prompt(f.h, buf_slice(&b), SLICE_NONE, &f.err), 0);
}

/* The option whose answer this is. */
static void do_answer(struct slice result)
{
	static const struct {
		const char *key, *value, *answer;
	} rows[] = {
		{ "decision", "accept", "allow_once" }, { "decision", "decline", "reject_once" },
		{ "decision", "cancel", NULL },		{ "action", "accept", "allow_always" },
		{ "action", "decline", "reject_once" },
	};
	char text[100] = "{\"outcome\":{\"outcome\":\"cancelled\"}}";

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].answer && jstr_is(jobj_get(result, rows[i].key), rows[i].value))
			snprintf(text, sizeof(text),
				 "{\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"%s\"}}",
				 rows[i].answer);
	f.ops->answer(f.h, asked, slice_of(text));
}

static void do_settings(struct slice params)
{
	static const char *const steps[] = {
		"\"configId\":\"model\",\"value\":\"gpt-5.5\"",
		"\"configId\":\"thought_level\",\"value\":\"high\"",
		"\"configId\":\"mode\",\"value\":\"plan\"",
		"\"configId\":\"approval\",\"value\":\"never\"",
	};
	static size_t at;

	assert_true(params.n > 0);
	assert_int_equal(
		f.ops->set_config(f.h, at + 1, slice_of(steps[at % ARRAY_SIZE(steps)]), &f.err), 0);
	at++;
}

static void client_side(struct slice m)
{
	struct jval method = jobj_get(m, "method"), result = jobj_get(m, "result");
	struct slice params = jobj_get(m, "params").raw;
	struct slice got, all;

	take_log();
	if (!buf_len(&sent)) {
		if (jstr_is(method, "initialize"))
			assert_int_equal(fake_open(&f, &harness_codex, &req), 0);
		else if (jstr_is(method, "turn/start"))
			do_prompt(params);
		else if (jstr_is(method, "turn/interrupt"))
			f.ops->cancel(f.h);
		else if (jstr_is(method, "thread/settings/update"))
			do_settings(params);
		else if (result.type != J_NONE)
			do_answer(result.raw);
		take_log();
	}
	all = buf_slice(&sent);
	assert_true(next_line(&all, &got));
	if (!jstr_is(method, "initialize") && !slice_eq(got, m)) {
		print_error("want: %.*s\ngot:  %.*s\n", (int)m.n, m.p, (int)got.n, got.p);
		fail();
	}
	buf_consume(&sent, got.n + 1);
}

static void replay(const char *name, const char *want)
{
	static const struct replay_side side = { .dir = "tests/fixtures/codex/",
						 .client = client_side };

	replay_trace(&side, name, want);
}

static void test_text(void **state _unused_)
{
	replay("text",
	       "ready PROMPT notice agent_thought_chunk*2 agent_message_chunk*4 usage usage_update end_turn ");
}

static void test_tool(void **state _unused_)
{
	replay("tool",
	       "ready PROMPT notice tool_call ask tool_call_update*3 usage usage_update tool_call ask tool_call_update*2 usage usage_update agent_message_chunk usage usage_update end_turn ");
}

static void test_reject(void **state _unused_)
{
	replay("reject",
	       "ready PROMPT notice tool_call ask tool_call_update usage usage_update agent_message_chunk*3 usage usage_update end_turn PROMPT tool_call ask tool_call_update usage usage_update cancelled ");
}

static void test_edit(void **state _unused_)
{
	replay("edit",
	       "ready PROMPT notice tool_call ask tool_call_update*2 usage usage_update tool_call ask tool_call_update*2 usage usage_update tool_call ask tool_call_update*2 usage usage_update tool_call ask tool_call_update*2 usage usage_update agent_message_chunk usage usage_update end_turn ");
}

static void test_cancel(void **state _unused_)
{
	req.approval = APPROVAL_NEVER;
	replay("cancel",
	       "ready PROMPT notice tool_call usage usage_update cancelled PROMPT agent_message_chunk*2 usage usage_update end_turn ");
}

static void test_mcp(void **state _unused_)
{
	req.mcp_servers = SLICE(
		"[{\"name\":\"loc\",\"command\":\"/usr/bin/node\",\"args\":[\"/opt/mcp.mjs\"],"
		"\"env\":[{\"name\":\"MCPVAR\",\"value\":\"mv\"}]}]");
	replay("mcp",
	       "ready PROMPT notice tool_call ask tool_call_update*2 usage usage_update tool_call tool_call_update*2 usage usage_update agent_message_chunk usage usage_update end_turn PROMPT tool_call ask tool_call_update usage usage_update agent_message_chunk usage usage_update end_turn ");
}

static void test_error(void **state _unused_)
{
	replay("error",
	       "ready PROMPT notice*2 failed:auth PROMPT notice failed:rate_limit PROMPT notice failed:provider PROMPT agent_thought_chunk usage max_tokens PROMPT agent_thought_chunk notice agent_thought_chunk refusal PROMPT agent_thought_chunk notice agent_thought_chunk failed:provider PROMPT usage_update failed:context_overflow ");
}

static void test_options(void **state _unused_)
{
	struct err e;

	harness_provider_done(&provider);
	assert_int_equal(harness_provider_parse(SLICE(PROVIDER ",\"models\":[\"m\",\"gpt-5.5\"]}"),
						&provider, &e),
			 0);
	replay("options",
	       "ready reply*4 PROMPT tool_call tool_call_update usage usage_update agent_message_chunk*5 usage usage_update end_turn ");
}

static void test_resume(void **state _unused_)
{
	req.mode = HARNESS_RESTORE;
	req.native_id = "01a1fe00-0000-7000-8000-000000000001";
	req.system_prompt = "SYSMARK";
	replay("resume", "ready PROMPT notice agent_message_chunk*3 usage usage_update end_turn ");
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_text), T(test_tool),  T(test_reject),  T(test_edit),   T(test_cancel),
		T(test_mcp),  T(test_error), T(test_options), T(test_resume),
	};

	return RUN(tests, NULL, NULL);
}
