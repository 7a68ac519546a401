/*
 * Replays recorded conversations with the real Codex through the adapter. They were recorded between the two, so every line
 * that the adapter sends must be the recorded one, byte for byte; what comes out to the core is stated as a trace.
 */
#include "unit.h"

#include "base/file.h"
#include "fakehost.h"
#include "harnesses/codex/codex.h"
#include "json/jenc.h"
#include "json/jstr.h"

#define FIXTURES "tests/fixtures/codex/"
#define PROVIDER                                                                                   \
	"{\"api\":\"openai-responses\",\"baseUrl\":\"http://127.0.0.1:8080/v1\",\"key\":\"sk\",\"model\":\"m\""

static struct fake f;
static struct harness_provider provider;
static struct harness_req req;
static struct buf transcript, trace, sent;
static char last[64]; /* word that the trace ends with, and how often */
static unsigned times;
static uint64_t asked; /* the newest question */

static int setup(void **state _unused_)
{
	struct err e;

	req = fake_request();
	assert_int_equal(harness_provider_parse(SLICE(PROVIDER "}"), &provider, &e), 0);
	req.provider = &provider;
	last[0] = '\0';
	times = 0;
	return 0;
}

static int teardown(void **state _unused_)
{
	fake_close(&f);
	harness_provider_done(&provider);
	buf_done(&transcript);
	buf_done(&trace);
	buf_done(&sent);
	return 0;
}

/* --- the trace ------------------------------------------------------------------------------------------- */

static void flush_word(void)
{
	if (times)
		buf_printf(&trace, times > 1 ? "%s*%u " : "%s ", last, times);
	times = 0;
}

static void put_word(const char *word)
{
	if (strcmp(word, last) != 0)
		flush_word();
	snprintf(last, sizeof(last), "%s", word);
	times++;
}

static void put_log_line(struct slice line)
{
	char word[64] = "";
	const char *p = line.p;

	if (slice_starts(line, "send ")) {
		buf_add(&sent, p + 5, line.n - 5);
		buf_putc(&sent, '\n');
		return;
	}
	if (slice_starts(line, "ask "))
		asked = strtoull(p + 4, NULL, 10);
	if (slice_starts(line, "event "))
		p += 6;
	else if (slice_starts(line, "end "))
		p += slice_starts(line, "end failed ") ? 11 : 4;
	snprintf(word, sizeof(word), "%.*s", (int)strcspn(p, " \n"), p);
	put_word(word);
}

static void take_log(void)
{
	struct slice log = buf_slice(&f.log);

	while (log.n) {
		const char *nl = memchr(log.p, '\n', log.n);
		size_t n = (size_t)(nl - log.p);

		put_log_line((struct slice){ log.p, n });
		log = (struct slice){ nl + 1, log.n - n - 1 };
	}
	buf_reset(&f.log);
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
	struct slice got;
	const char *nl;

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
	assert_true(buf_len(&sent) > 0);
	nl = memchr(sent.data + sent.pos, '\n', buf_len(&sent));
	got = (struct slice){ sent.data + sent.pos, (size_t)(nl - sent.data) - sent.pos };
	if (!jstr_is(method, "initialize") && !slice_eq(got, m)) {
		print_error("want: %.*s\ngot:  %.*s\n", (int)m.n, m.p, (int)got.n, got.p);
		fail();
	}
	buf_consume(&sent, got.n + 1);
}

static void replay(const char *name, const char *want)
{
	struct slice rest;
	char path[100];

	snprintf(path, sizeof(path), FIXTURES "%s.jsonl", name);
	assert_int_equal(file_read(path, 1 << 20, &transcript), 0);
	rest = buf_slice(&transcript);
	while (rest.n) {
		const char *nl = memchr(rest.p, '\n', rest.n);
		size_t n = nl ? (size_t)(nl - rest.p) : rest.n;
		struct slice line = { rest.p, n }, m = jobj_get(line, "m").raw;

		if (jstr_is(jobj_get(line, "dir"), ">"))
			client_side(m);
		else
			assert_int_equal(fake_line(&f, m), 0);
		rest = (struct slice){ rest.p + n + (nl != NULL), rest.n - n - (nl != NULL) };
	}
	take_log();
	flush_word();
	assert_int_equal(buf_len(&sent), 0);
	assert_buf(&trace, want);
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
	       "ready PROMPT notice*2 auth PROMPT notice rate_limit PROMPT notice provider PROMPT agent_thought_chunk usage max_tokens PROMPT agent_thought_chunk notice agent_thought_chunk refusal PROMPT agent_thought_chunk notice agent_thought_chunk provider PROMPT usage_update context_overflow ");
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
