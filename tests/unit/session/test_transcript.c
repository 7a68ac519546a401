/* The public form of events: one object per entry, its kind by table, members of others never mistaken for ours, one line. */
#include "unit.h"

#include "json/jscan.h"
#include "session/core/log/event_table.h"
#include "session/core/log/transcript.h"

#define HEAD "{\"seq\":7,\"ts\":\"2026-11-21T08:00:00.123Z\",\"sessionId\":\"s1\""
#define NOON 1795248000123

static void check(unsigned kind, const char *frame, const char *want)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	_cleanup_(slice_freep) struct slice text = exact_copy(slice_of(frame));
	struct evlog_entry e = { .seq = 7, .kind = (uint8_t)kind, .frame = text, .time_ms = NOON };

	assert_int_equal(transcript_put(&b, "s1", &e), 0);
	assert_buf(&b, want);
	assert_int_equal(jscan_value(buf_slice(&b), NULL), JSCAN_OK);
}

static void check_update(unsigned kind, const char *update, const char *want)
{
	_cleanup_(buf_done) struct buf frame = { 0 }, all = { 0 };

	buf_printf(
		&frame,
		"{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s1\","
		"\"update\":%s,\"_meta\":{\"acpd\":{\"seq\":7,\"turn\":3}}}}",
		update);
	buf_putc(&frame, '\0');
	buf_printf(&all, HEAD ",\"turnId\":3,%s}", want);
	buf_putc(&all, '\0');
	check(kind, frame.data, all.data);
}

static void test_kinds(void **state _unused_)
{
	static const struct {
		unsigned kind;
		const char *update, *want;
	} rows[] = {
		{ UPDATE_USER_CHUNK, "{\"sessionUpdate\":\"user_message_chunk\",\"content\":{}}",
		  "\"kind\":\"prompt\",\"content\":{}" },
		{ UPDATE_AGENT_CHUNK,
		  "{\"sessionUpdate\":\"agent_message_chunk\",\"messageId\":\"m\",\"content\":1}",
		  "\"kind\":\"message\",\"messageId\":\"m\",\"content\":1" },
		{ UPDATE_THOUGHT_CHUNK, "{\"content\":2,\"sessionUpdate\":\"agent_thought_chunk\"}",
		  "\"kind\":\"thought\",\"content\":2" },
		{ UPDATE_PLAN, "{\"sessionUpdate\":\"plan\",\"entries\":[]}",
		  "\"kind\":\"plan\",\"event\":\"plan\",\"entries\":[]" },
		{ UPDATE_PLAN_UPDATE, "{\"sessionUpdate\":\"plan_update\",\"plan\":{}}",
		  "\"kind\":\"plan\",\"event\":\"plan_update\",\"plan\":{}" },
		{ UPDATE_PLAN_REMOVED, "{\"sessionUpdate\":\"plan_removed\",\"id\":\"p\"}",
		  "\"kind\":\"plan\",\"event\":\"plan_removed\",\"id\":\"p\"" },
		{ UPDATE_TOOL_CALL,
		  "{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"t\",\"kind\":\"edit\"}",
		  "\"kind\":\"tool_call\",\"event\":\"tool_call\",\"toolCallId\":\"t\",\"toolKind\":\"edit\"" },
		{ UPDATE_TOOL_CALL, "{\"sessionUpdate\":\"tool_call\",\"status\":\"completed\"}",
		  "\"kind\":\"result\",\"event\":\"tool_call\",\"status\":\"completed\"" },
		{ UPDATE_TOOL_CALL_UPDATE,
		  "{\"sessionUpdate\":\"tool_call_update\",\"status\":\"in_progress\"}",
		  "\"kind\":\"tool_call\",\"event\":\"tool_call_update\",\"status\":\"in_progress\"" },
		{ UPDATE_TOOL_CALL_UPDATE,
		  "{\"sessionUpdate\":\"tool_call_update\",\"status\":\"completed\"}",
		  "\"kind\":\"result\",\"event\":\"tool_call_update\",\"status\":\"completed\"" },
		{ UPDATE_TOOL_CALL_UPDATE,
		  "{\"sessionUpdate\":\"tool_call_update\",\"status\":\"f\\u0061iled\"}",
		  "\"kind\":\"result\",\"event\":\"tool_call_update\",\"status\":\"f\\u0061iled\"" },
		{ UPDATE_USAGE, "{\"sessionUpdate\":\"usage_update\",\"used\":1}",
		  "\"kind\":\"usage\",\"event\":\"usage_update\",\"used\":1" },
		{ UPDATE_NOTICE, "{\"sessionUpdate\":\"notice\",\"severity\":\"warning\"}",
		  "\"kind\":\"lifecycle\",\"event\":\"notice\",\"severity\":\"warning\"" },
		{ UPDATE_NOTICE, "{\"sessionUpdate\":\"notice\",\"severity\":\"error\"}",
		  "\"kind\":\"error\",\"event\":\"notice\",\"severity\":\"error\"" },
		{ UPDATE_MODE,
		  "{\"sessionUpdate\":\"current_mode_update\",\"currentModeId\":\"x\"}",
		  "\"kind\":\"lifecycle\",\"event\":\"current_mode_update\",\"currentModeId\":\"x\"" },
		{ UPDATE_COMMANDS, "{\"sessionUpdate\":\"available_commands_update\"}",
		  "\"kind\":\"lifecycle\",\"event\":\"available_commands_update\"" },
		{ UPDATE_COMPACTION_CHUNK, "{\"sessionUpdate\":\"compaction_chunk\"}",
		  "\"kind\":\"lifecycle\",\"event\":\"compaction_chunk\"" },
		{ UPDATE_SUBAGENT, "{\"sessionUpdate\":\"subagent\",\"sessionId\":\"child\"}",
		  "\"kind\":\"lifecycle\",\"event\":\"subagent\",\"updateSessionId\":\"child\"" },
		{ UPDATE_SESSION_MESSAGE, "{\"sessionUpdate\":\"session_message\"}",
		  "\"kind\":\"message\",\"event\":\"session_message\"" },
		/* a kind nobody has told us of keeps its number and its name */
		{ 200, "{\"sessionUpdate\":\"later\",\"x\":1}",
		  "\"kind\":\"lifecycle\",\"event\":\"later\",\"x\":1" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_update(rows[i].kind, rows[i].update, rows[i].want);
}

/* No update kind is forgotten in the table: each gives one of the closed list. */
static void test_every_kind(void **state _unused_)
{
	static const char *const known[] = { "plan",	     "tool_call", "result",   "check",
					     "ask_approval", "complete",  "prompt",   "message",
					     "thought",	     "usage",	  "artifact", "lifecycle",
					     "error" };

	for (unsigned k = 0; k < UPDATE_MAX; k++) {
		_cleanup_(buf_done) struct buf frame = { 0 }, out = { 0 };
		struct evlog_entry e = { .seq = 1, .kind = (uint8_t)k };
		struct slice kind;
		bool found = false;

		buf_printf(&frame, "{\"params\":{\"update\":{\"sessionUpdate\":\"%s\"}}}",
			   event_kind_name(k));
		e.frame = buf_slice(&frame);
		assert_int_equal(transcript_put(&out, "s", &e), 0);
		kind = jobj_get(buf_slice(&out), "kind").raw;
		for (size_t i = 0; i < ARRAY_SIZE(known); i++)
			found |= kind.n == strlen(known[i]) + 2 &&
				 memcmp(kind.p + 1, known[i], kind.n - 2) == 0;
		if (!found)
			fail_row(k, event_kind_name(k));
	}
}

static void test_turn_end(void **state _unused_)
{
	check(EVENT_TURN_END,
	      "{\"jsonrpc\":\"2.0\",\"method\":\"_acpd/turn_end\",\"params\":{\"sessionId\":\"s1\",\"seq\":7,"
	      "\"turn\":3,\"key\":\"k\",\"stopReason\":\"end_turn\",\"usage\":{\"inputTokens\":1}}}",
	      HEAD ",\"turnId\":3,\"kind\":\"complete\",\"final\":true,\"key\":\"k\","
		   "\"stopReason\":\"end_turn\",\"usage\":{\"inputTokens\":1}}");
	check(EVENT_TURN_END,
	      "{\"method\":\"_acpd/turn_end\",\"params\":{\"sessionId\":\"s1\",\"seq\":7,\"turn\":3,"
	      "\"error\":{\"class\":\"auth\"},\"_meta\":{\"traceparent\":\"00-a-b-01\"}}}",
	      HEAD ",\"turnId\":3,\"traceparent\":\"00-a-b-01\",\"kind\":\"error\",\"final\":true,"
		   "\"error\":{\"class\":\"auth\"}}");
}

/* Both ends of a turn and calls over /mcp have them; other frames have none. */
static void test_labels(void **state _unused_)
{
	check(EVENT_TURN_END,
	      "{\"params\":{\"turn\":3,\"stopReason\":\"end_turn\",\"_meta\":{\"acpd\":{\"seq\":7,"
	      "\"turn\":3,\"billingRef\":\"b\",\"configVersion\":\"v\",\"sandboxId\":\"i\"}}}}",
	      HEAD ",\"turnId\":3,\"billingRef\":\"b\",\"configVersion\":\"v\",\"sandboxId\":\"i\","
		   "\"kind\":\"complete\",\"final\":true,\"stopReason\":\"end_turn\"}");
	check(EVENT_LIFECYCLE,
	      "{\"params\":{\"event\":{\"kind\":\"lifecycle\",\"event\":\"tool_called\",\"sandboxId\":1},"
	      "\"_meta\":{\"acpd\":{\"seq\":7,\"sandboxId\":\"i\"}}}}",
	      HEAD ",\"sandboxId\":\"i\",\"kind\":\"lifecycle\",\"event\":\"tool_called\","
		   "\"updateSandboxId\":1}");
}

static void test_own_events(void **state _unused_)
{
	check(EVENT_KIND_MAX,
	      "{\"method\":\"_acpd/event\",\"params\":{\"sessionId\":\"s1\",\"event\":{\"kind\":\"ask_approval\","
	      "\"id\":4,\"toolCallId\":\"t\",\"options\":[]},\"_meta\":{\"acpd\":{\"seq\":7,\"turn\":2},"
	      "\"traceparent\":\"00-a-b-01\"}}}",
	      HEAD ",\"turnId\":2,\"traceparent\":\"00-a-b-01\",\"kind\":\"ask_approval\",\"id\":4,"
		   "\"toolCallId\":\"t\",\"options\":[]}");
	check(EVENT_KIND_MAX,
	      "{\"params\":{\"event\":{\"event\":\"opened\",\"kind\":\"lifecycle\",\"seq\":1}}}",
	      HEAD ",\"kind\":\"lifecycle\",\"event\":\"opened\",\"updateSeq\":1}");
	check(EVENT_KIND_MAX, "{\"params\":{\"event\":{\"kind\":5}}}",
	      HEAD ",\"kind\":\"lifecycle\"}");
}

/* The names of our members are ours. */
static void test_collisions(void **state _unused_)
{
	check_update(
		UPDATE_AGENT_CHUNK,
		"{\"seq\":1,\"ts\":2,\"sessionId\":3,\"turnId\":4,\"traceparent\":5,\"kind\":6,"
		"\"event\":7,\"final\":8,\"k\\u0069nd\":9,\"_meta\":{}}",
		"\"kind\":\"message\",\"updateSeq\":1,\"updateTs\":2,\"updateSessionId\":3,"
		"\"updateTurnId\":4,\"updateTraceparent\":5,\"toolKind\":6,\"updateEvent\":7,"
		"\"updateFinal\":8,\"toolKind\":9,\"_meta\":{}");
}

/* White space of the peer breaks neither a JSON line nor an SSE frame; what stands in strings is left alone. */
static void test_one_line(void **state _unused_)
{
	check_update(UPDATE_USER_CHUNK, "{\r\n\"content\":[1,\r2,\n3],\t\"x\":\"a\\r\\nb\"\n}",
		     "\"kind\":\"prompt\",\"content\":[1, 2, 3],\"x\":\"a\\r\\nb\"");
}

static void test_behind_other_bytes(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct evlog_entry e = { .seq = 1,
				 .kind = UPDATE_PLAN,
				 .frame = SLICE("{\"params\":{\"update\":{\n\"a\":\n1}}}") };

	buf_puts(&b, "gone\nid: 1\n");
	buf_consume(&b, 5);
	assert_int_equal(transcript_put(&b, "s", &e), 0);
	assert_buf(&b, "id: 1\n{\"seq\":1,\"ts\":\"1970-01-01T00:00:00.000Z\",\"sessionId\":\"s\","
		       "\"kind\":\"plan\",\"a\":1}");
}

static void test_unreadable(void **state _unused_)
{
	check(UPDATE_PLAN, "[]", HEAD ",\"kind\":\"lifecycle\",\"event\":\"unreadable\"}");
	check(UPDATE_PLAN, "{", HEAD ",\"kind\":\"lifecycle\",\"event\":\"unreadable\"}");
	check(UPDATE_PLAN, "{\"params\":{\"update\":[1],\"event\":2}}", HEAD ",\"kind\":\"plan\"}");
	check(UPDATE_PLAN, "{\"params\":{}}", HEAD ",\"kind\":\"plan\"}");
	check(EVENT_TURN_END, "{\"params\":{}}", HEAD ",\"kind\":\"complete\",\"final\":true}");
}

static void test_gap_and_deleted(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct slice text;

	assert_int_equal(transcript_put_gap(&b, "s", &(struct evlog_gap){ 3, 9, "damaged" }), 0);
	text = buf_slice(&b);
	assert_text(jobj_get(text, "kind").raw, "\"lifecycle\"");
	assert_text(jobj_get(text, "event").raw, "\"gap\"");
	assert_text(jobj_get(text, "from").raw, "3");
	assert_text(jobj_get(text, "to").raw, "9");
	assert_text(jobj_get(text, "reason").raw, "\"damaged\"");
	assert_int_equal(jobj_get(text, "seq").type, J_NONE);
	buf_reset(&b);
	assert_int_equal(transcript_put_deleted(&b, "s"), 0);
	assert_text(jobj_get(buf_slice(&b), "event").raw, "\"deleted\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),	   cmocka_unit_test(test_every_kind),
		cmocka_unit_test(test_turn_end),   cmocka_unit_test(test_labels),
		cmocka_unit_test(test_own_events), cmocka_unit_test(test_collisions),
		cmocka_unit_test(test_one_line),   cmocka_unit_test(test_behind_other_bytes),
		cmocka_unit_test(test_unreadable), cmocka_unit_test(test_gap_and_deleted),
	};

	return RUN(tests, NULL, NULL);
}
