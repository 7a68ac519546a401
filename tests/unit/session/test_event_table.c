/* The table of event kinds: every kind has its own name and finds its way back; and who may see what. */
#include "unit.h"

#include "session/core/log/event_table.h"

static void test_names(void **state _unused_)
{
	for (unsigned k = 0; k < EVENT_KIND_MAX; k++) {
		assert_non_null(event_kind_name(k));
		assert_true(event_kind_name(k)[0] != '\0');
		assert_int_equal(event_kind_find(slice_of(event_kind_name(k))), k);
	}
	assert_int_equal(event_kind_find(SLICE("")), EVENT_KIND_MAX);
	assert_int_equal(event_kind_find(SLICE_NONE), EVENT_KIND_MAX);
	assert_int_equal(event_kind_find(SLICE("plan_")), EVENT_KIND_MAX);
	assert_int_equal(event_kind_find(SLICE("session")), EVENT_KIND_MAX);
}

/* What a client has to announce before it may be sent a kind; the rest is baseline ACP. */
static void test_needs(void **state _unused_)
{
	static const struct {
		unsigned kind, needs;
	} rows[] = {
		{ UPDATE_NOTICE, CLIENT_NOTICES },
		{ UPDATE_COMPACTION, CLIENT_COMPACTION },
		{ UPDATE_COMPACTION_CHUNK, CLIENT_COMPACTION },
		{ UPDATE_PLAN_UPDATE, CLIENT_PLAN },
		{ UPDATE_PLAN_REMOVED, CLIENT_PLAN },
		{ UPDATE_SUBAGENT, CLIENT_SUBAGENTS },
		{ UPDATE_SESSION_MESSAGE, CLIENT_SUBAGENTS },
		{ UPDATE_SESSION_MESSAGE_CHUNK, CLIENT_SUBAGENTS },
		{ EVENT_TURN_END, CLIENT_ACPD },
		{ EVENT_ASK, CLIENT_ACPD },
		{ EVENT_ANSWER, CLIENT_ACPD },
		{ EVENT_USAGE, CLIENT_ACPD },
		{ EVENT_LIFECYCLE, CLIENT_ACPD },
		{ EVENT_ARTIFACT, CLIENT_ACPD },
		{ EVENT_CHECK, CLIENT_ACPD },
	};
	unsigned want[EVENT_KIND_MAX] = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		want[rows[i].kind] = rows[i].needs;
	for (unsigned k = 0; k < EVENT_KIND_MAX; k++)
		assert_int_equal(event_kind_row(k)->needs, want[k]);
}

static void test_flags(void **state _unused_)
{
	static const unsigned in_turn[] = { UPDATE_AGENT_CHUNK, UPDATE_THOUGHT_CHUNK,
					    UPDATE_TOOL_CALL, UPDATE_TOOL_CALL_UPDATE,
					    UPDATE_PLAN };
	static const unsigned any_time[] = { UPDATE_COMMANDS, UPDATE_MODE,  UPDATE_CONFIG,
					     UPDATE_INFO,     UPDATE_USAGE, EVENT_TURN_END };

	for (size_t i = 0; i < ARRAY_SIZE(in_turn); i++)
		assert_int_equal(event_kind_row(in_turn[i])->flags, EVENT_F_TURN);
	for (size_t i = 0; i < ARRAY_SIZE(any_time); i++)
		assert_int_equal(event_kind_row(any_time[i])->flags, 0);
	assert_true(event_kind_row(UPDATE_USER_CHUNK)->flags & EVENT_F_NEVER);
	assert_true(event_kind_row(UPDATE_NOTICE)->flags & EVENT_F_LIVE);
}

static void test_unknown(void **state _unused_)
{
	assert_int_equal(event_kind_row(EVENT_KIND_MAX)->flags, 0);
	assert_int_equal(event_kind_row(4000000000u)->needs, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_needs),
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_unknown),
	};

	return RUN(tests, NULL, NULL);
}
