/* talk_state.c - updates that change the state of a session, and its plan. */
#include "agui/agui_talk_internal.h"

#include "json/jstr.h"

#include <stdio.h>

static const struct {
	const char *update, *member, *name; /* member NULL: the update itself */
} parts[PART_MAX] = {
	[PART_MODE] = { "current_mode_update", "currentModeId", "mode" },
	[PART_OPTIONS] = { "config_option_update", "configOptions", "configOptions" },
	[PART_COMMANDS] = { "available_commands_update", "availableCommands", "commands" },
	[PART_TITLE] = { "session_info_update", "title", "title" },
	[PART_USAGE] = { "usage_update", NULL, "usage" },
};

const char *agui_part_name(enum agui_part p)
{
	return parts[p].name;
}

/* The first change of a member makes it: "add" does both. */
static void tell_change(struct agui_talk *t, enum agui_part p)
{
	struct jw w = agui_event_begin(t->out, "STATE_DELTA");
	char path[48];

	snprintf(path, sizeof(path), "/acpd/%s", parts[p].name);
	jw_arr(&w, "delta");
	jw_object(&w, NULL, JW_STR("op", "add"), JW_STR("path", path),
		  JW_RAW("value", slice_of(t->state[p])));
	jw_end_arr(&w);
	agui_event_end(&w);
}

static char *value_of(enum agui_part p, struct slice update)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct slice v = parts[p].member ? jobj_get(update, parts[p].member).raw : SLICE_NONE;
	struct jw w = JW(&b);

	if (parts[p].member)
		return v.n ? xstrndup(v.p, v.n) : NULL;
	jw_obj(&w, NULL);
	jw_members(&w, update, "sessionUpdate");
	jw_end_obj(&w);
	return xstrndup(b.data, buf_len(&b));
}

bool agui_talk_state(struct agui_talk *t, struct slice update)
{
	struct jval name = jobj_get(update, "sessionUpdate");
	char *value;

	for (unsigned p = 0; p < PART_MAX; p++) {
		if (!jstr_is(name, parts[p].update))
			continue;
		value = value_of((enum agui_part)p, update);
		if (!value)
			return true;
		free(t->state[p]);
		t->state[p] = value;
		if (!t->history)
			tell_change(t, (enum agui_part)p);
		return true;
	}
	return false;
}

static void replace_entries(struct agui_talk *t, const char *id, struct slice entries)
{
	struct jw w = agui_event_begin(t->out, "ACTIVITY_DELTA");

	jw_str(&w, "messageId", id);
	jw_str(&w, "activityType", "PLAN");
	jw_arr(&w, "patch");
	jw_object(&w, NULL, JW_STR("op", "replace"), JW_STR("path", "/entries"),
		  JW_RAW("value", entries));
	jw_end_arr(&w);
	agui_event_end(&w);
}

/* A turn has one plan; what follows replaces it.. */
void agui_talk_plan(struct agui_talk *t, uint64_t seq, struct slice update)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct slice entries = jobj_get(update, "entries").raw;
	struct jw w = JW(&b);
	char id[AGUI_ID_SIZE];

	if (!entries.n)
		return;
	if (t->plan_seq && !t->history) {
		agui_id(id, t->plan_seq);
		replace_entries(t, id, entries);
		return;
	}
	t->plan_seq = seq;
	agui_id(id, seq);
	jw_object(&w, NULL, JW_RAW("entries", entries));
	agui_activity(t, id, "PLAN", buf_slice(&b));
}
