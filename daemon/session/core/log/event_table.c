/* event_table.c - the table of event kinds. A kind without a row is shown to every client, and never dropped. */
#include "session/core/log/event_table.h"

static const struct event_kind_row rows[EVENT_KIND_MAX] = {
	/* prompts are sequenced by the core; an echo from the harness would double them */
	[UPDATE_USER_CHUNK] = { EVENT_F_NEVER, 0 },
	[UPDATE_AGENT_CHUNK] = { EVENT_F_TURN, 0 },
	[UPDATE_THOUGHT_CHUNK] = { EVENT_F_TURN, 0 },
	[UPDATE_TOOL_CALL] = { EVENT_F_TURN, 0 },
	[UPDATE_TOOL_CALL_UPDATE] = { EVENT_F_TURN, 0 },
	[UPDATE_PLAN] = { EVENT_F_TURN, 0 },
	[UPDATE_NOTICE] = { EVENT_F_LIVE, CLIENT_NOTICES },
	[UPDATE_COMPACTION] = { 0, CLIENT_COMPACTION },
	[UPDATE_COMPACTION_CHUNK] = { 0, CLIENT_COMPACTION },
	[UPDATE_PLAN_UPDATE] = { EVENT_F_TURN, CLIENT_PLAN },
	[UPDATE_PLAN_REMOVED] = { 0, CLIENT_PLAN },
	[UPDATE_SUBAGENT] = { 0, CLIENT_SUBAGENTS },
	[UPDATE_SESSION_MESSAGE] = { 0, CLIENT_SUBAGENTS },
	[UPDATE_SESSION_MESSAGE_CHUNK] = { 0, CLIENT_SUBAGENTS },
	[EVENT_TURN_END] = { 0, CLIENT_ACPD },
	[EVENT_ASK] = { 0, CLIENT_ACPD },
	[EVENT_ANSWER] = { 0, CLIENT_ACPD },
	[EVENT_USAGE] = { 0, CLIENT_ACPD },
	[EVENT_LIFECYCLE] = { 0, CLIENT_ACPD },
	[EVENT_ARTIFACT] = { 0, CLIENT_ACPD },
	[EVENT_CHECK] = { 0, CLIENT_ACPD },
};

const struct event_kind_row *event_kind_row(unsigned kind)
{
	static const struct event_kind_row none;

	return kind < EVENT_KIND_MAX ? &rows[kind] : &none;
}

const char *event_kind_name(unsigned kind)
{
	static const char *const ours[] = { "turn_end",	 "ask",	     "answer", "usage",
					    "lifecycle", "artifact", "check" };

	return kind < UPDATE_MAX ? harness_update_name((enum harness_update)kind) :
				   ours[kind - UPDATE_MAX];
}

unsigned event_kind_find(struct slice name)
{
	/* The journal has the name and not the number, so that kinds may be added in the middle of the enum. */
	for (unsigned k = 0; k < EVENT_KIND_MAX; k++)
		if (slice_is(name, event_kind_name(k)))
			return k;
	return EVENT_KIND_MAX;
}
