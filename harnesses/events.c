/*
 * events.c - the table of ACP update kinds: names, and the members without which an update is not valid ACP.
 * Source: ACP v1 schema, SessionUpdate (SDK 2.4.0, unstable superset).
 */
#include "harnesses/harness.h"

#include "json/jstr.h"

#include <errno.h>
#include <stdio.h>

struct need {
	const char *key;
	enum jtype type;
};

struct update_row {
	const char *name;
	struct need need[3];
};

static const struct update_row rows[UPDATE_MAX] = {
	[UPDATE_USER_CHUNK] = { "user_message_chunk", { { "content", J_OBJECT } } },
	[UPDATE_AGENT_CHUNK] = { "agent_message_chunk", { { "content", J_OBJECT } } },
	[UPDATE_THOUGHT_CHUNK] = { "agent_thought_chunk", { { "content", J_OBJECT } } },
	[UPDATE_TOOL_CALL] = { "tool_call", { { "toolCallId", J_STRING }, { "title", J_STRING } } },
	[UPDATE_TOOL_CALL_UPDATE] = { "tool_call_update", { { "toolCallId", J_STRING } } },
	[UPDATE_PLAN] = { "plan", { { "entries", J_ARRAY } } },
	[UPDATE_COMMANDS] = { "available_commands_update", { { "availableCommands", J_ARRAY } } },
	[UPDATE_MODE] = { "current_mode_update", { { "currentModeId", J_STRING } } },
	[UPDATE_CONFIG] = { "config_option_update", { { "configOptions", J_ARRAY } } },
	[UPDATE_INFO] = { "session_info_update", { { NULL, J_NONE } } },
	[UPDATE_USAGE] = { "usage_update", { { "used", J_NUMBER }, { "size", J_NUMBER } } },
	[UPDATE_NOTICE] = { "notice", { { "severity", J_STRING }, { "title", J_STRING } } },
	[UPDATE_COMPACTION] = { "compaction_update", { { "compactionId", J_STRING } } },
	[UPDATE_COMPACTION_CHUNK] = { "compaction_summary_chunk",
				      { { "compactionId", J_STRING }, { "content", J_OBJECT } } },
	[UPDATE_PLAN_UPDATE] = { "plan_update", { { "plan", J_OBJECT } } },
	[UPDATE_PLAN_REMOVED] = { "plan_removed", { { "planId", J_STRING } } },
	[UPDATE_SUBAGENT] = { "subagent_update", { { "sessionId", J_STRING } } },
	[UPDATE_SESSION_MESSAGE] = { "session_message", { { "messageId", J_STRING } } },
	[UPDATE_SESSION_MESSAGE_CHUNK] = { "session_message_chunk",
					   { { "messageId", J_STRING }, { "content", J_OBJECT } } },
};

const char *harness_update_name(enum harness_update kind)
{
	return rows[kind].name;
}

static int find_kind(struct jval name)
{
	for (size_t i = 0; i < UPDATE_MAX; i++)
		if (jstr_is(name, rows[i].name))
			return (int)i;
	return -1;
}

int harness_event_from_update(struct slice update, struct harness_event *ret, struct err *e)
{
	struct jslot slots[4] = { { .key = "sessionUpdate" } };
	const struct update_row *row;
	size_t n = 0;
	int kind;

	kind = find_kind(jobj_get(update, "sessionUpdate"));
	if (kind < 0)
		return err_field(e, "update.sessionUpdate", "UPDATE_UNKNOWN",
				 "unknown kind of update");
	row = &rows[kind];
	for (; n < ARRAY_SIZE(row->need) && row->need[n].key; n++)
		slots[n] = (struct jslot){ .key = row->need[n].key };
	if (jscan_object(update, slots, n) != JSCAN_OK)
		return err_field(e, "update", "UPDATE_INVALID", "malformed %s", row->name);
	for (size_t i = 0; i < n; i++)
		if (slots[i].v.type != row->need[i].type)
			return err_field(e, slots[i].key, "UPDATE_INVALID", "%s without a valid %s",
					 row->name, slots[i].key);
	ret->kind = (enum harness_update)kind;
	ret->update = update;
	return 0;
}
