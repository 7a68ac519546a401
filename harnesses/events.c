/*
 * events.c - the table of ACP update kinds: names, and the members without which an update is not valid ACP.
 * Source: ACP v1 schema, SessionUpdate (SDK 2.4.0, unstable superset).
 */
#include "harnesses/harness.h"

#include "base/limits.h"
#include "json/json.h"

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
	[UPDATE_COMPACTION] = { "compaction_update",
				{ { "compactionId", J_STRING }, { "status", J_STRING } } },
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

bool harness_update_is_beyond(enum harness_update kind, size_t size)
{
	bool list = kind == UPDATE_COMMANDS || kind == UPDATE_PLAN || kind == UPDATE_PLAN_UPDATE ||
		    kind == UPDATE_CONFIG;

	return list && size > UPDATE_LIST_MAX;
}

bool harness_plan_update(struct jval list, void (*put)(struct jw *w, struct slice item),
			 struct buf *ret)
{
	struct jw w = JW(ret);

	if (list.type != J_ARRAY)
		return false;
	jw_obj(&w, NULL);
	jw_str(&w, "sessionUpdate", rows[UPDATE_PLAN].name);
	jw_arr(&w, "entries");
	jarr_each(v, list)
		if (v.type == J_OBJECT)
			put(&w, v.raw);
	jw_end_arr(&w);
	jw_end_obj(&w);
	return true;
}

int harness_update_find(struct jval name, enum harness_update *ret)
{
	for (size_t i = 0; i < UPDATE_MAX; i++)
		if (jstr_is(name, rows[i].name)) {
			*ret = (enum harness_update)i;
			return 0;
		}
	return -EINVAL;
}

/* Almost always the first member; then the rest need not be read for it. That it is the only one is checked below. */
static struct jval update_name(struct slice update)
{
	struct jval v = { J_OBJECT, update };
	struct slice key;
	struct jiter it;

	if (jiter_init(&it, v) && jiter_next(&it, &key, &v) && jkey_is(key, "sessionUpdate"))
		return v;
	return jobj_get(update, "sessionUpdate");
}

int harness_event_kind(struct slice update, struct harness_event *ret)
{
	*ret = (struct harness_event){ .update = update };
	return harness_update_find(update_name(update), &ret->kind);
}

int harness_event_from_update(struct slice update, struct harness_event *ret, struct err *e)
{
	struct jslot slots[ARRAY_SIZE(rows[0].need) + 1] = { { .key = "sessionUpdate" } };
	const struct update_row *row;
	enum harness_update kind;
	size_t n = 1;

	if (harness_update_find(update_name(update), &kind) < 0)
		return err_field(e, "update.sessionUpdate", "UPDATE_UNKNOWN",
				 "unknown kind of update");
	row = &rows[kind];
	for (; n <= ARRAY_SIZE(row->need) && row->need[n - 1].key; n++)
		slots[n] = (struct jslot){ .key = row->need[n - 1].key };
	/* Also refuses a member that is present twice. */
	if (jscan_object(update, slots, n) != JSCAN_OK)
		return err_field(e, "update", "UPDATE_INVALID", "malformed %s", row->name);
	for (size_t i = 1; i < n; i++)
		if (slots[i].v.type != row->need[i - 1].type)
			return err_field(e, slots[i].key, "UPDATE_INVALID", "%s without a valid %s",
					 row->name, slots[i].key);
	*ret = (struct harness_event){ .kind = kind, .update = update };
	return 0;
}
