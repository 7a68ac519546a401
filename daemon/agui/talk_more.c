/*
 * talk_more.c - plans, compactions and subagents: activities, steps, and runs within the run; and updates that change the
 * state of a session.
 *
 * All of these are bounded: beyond AGUI_PLANS_MAX and AGUI_SUBAGENTS_MAX the oldest is forgotten.
 */
#include "agui/agui_talk.h"

#include "base/limits.h"
#include "json/jstr.h"

/* --- plans with an id ---------------------------------------------------------------------------------------------- */

struct agui_plan {
	struct list link;
	char *id, *content; /* content: raw */
};

static void plan_free(struct agui_talk *t, struct agui_plan *p)
{
	list_del(&p->link);
	t->nplans--;
	free_each(p->id, p->content, p);
}

static struct agui_plan *plan_find(struct agui_talk *t, const char *id)
{
	list_each(p, &t->plans, struct agui_plan, link)
		if (strcmp(p->id, id) == 0)
			return p;
	return NULL;
}

/* A plan has one message, whatever becomes of it: its id is made of the plan's. */
static void plan_show(struct agui_talk *t, const char *id, struct slice content)
{
	agui_activity(t, SHORT_TEXT(RPC_ID_MAX + AGUI_ID_SIZE, "acpd-plan-%s", id), "PLAN",
		      content);
}

/* A history has the newest of each. */
static void plan_keep(struct agui_talk *t, const char *id, struct slice content)
{
	struct agui_plan *p = plan_find(t, id);

	/* The newest version moves to the end: the first of the list is the oldest. */
	if (p)
		plan_free(t, p);
	/* Removed, or too large: in both cases no older version may be shown. */
	if (!content.n || content.n > AGUI_RESULT_MAX)
		return;
	if (t->nplans == AGUI_PLANS_MAX)
		plan_free(t, list_first(&t->plans, struct agui_plan, link));
	p = new0(struct agui_plan);
	p->id = xstrdup(id);
	p->content = xstrndup(content.p, content.n);
	list_add_tail(&t->plans, &p->link);
	t->nplans++;
}

void agui_talk_plan_update(struct agui_talk *t, uint64_t seq _unused_, struct slice update)
{
	_cleanup_(freep) char *id = NULL;
	struct slice plan = jobj_get(update, "plan").raw;

	if (jstr_decode(jobj_get(plan, "planId"), RPC_ID_MAX, &id) < 0)
		return;
	if (t->is_history)
		plan_keep(t, id, plan);
	else
		plan_show(t, id, plan);
}

void agui_talk_plan_removed(struct agui_talk *t, uint64_t seq _unused_, struct slice update)
{
	_cleanup_(freep) char *id = NULL;
	JW_BUF(w, b);

	if (jstr_decode(jobj_get(update, "planId"), RPC_ID_MAX, &id) < 0)
		return;
	if (t->is_history) {
		plan_keep(t, id, SLICE_NONE);
		return;
	}
	/* The message of a plan stays, and says that the plan was removed. */
	jw_object(&w, NULL, JW_STR("planId", id), JW_BOOL("removed", true));
	plan_show(t, id, buf_slice(&b));
}

void agui_plans_put(struct agui_talk *t)
{
	list_drain(p, &t->plans, struct agui_plan, link) {
		if (t->is_history)
			plan_show(t, p->id, slice_of(p->content));
		plan_free(t, p);
	}
}

/* --- compaction ---------------------------------------------------------------------------------------------------- */

static void compaction_step(struct agui_talk *t, bool begins, struct slice update)
{
	agui_event(t->out, begins ? "STEP_STARTED" : "STEP_FINISHED",
		   JW_STR("stepName", "compaction"), JW_RAW("rawEvent", update));
	t->compacting = begins;
}

/* Its begin and its end; what was said of it in an earlier run, or else, is passed on as it is. */
void agui_talk_compaction(struct agui_talk *t, uint64_t seq _unused_, struct slice update)
{
	bool begins = jstr_is(jobj_get(update, "status"), "in_progress");

	if (!t->is_history && begins != t->compacting)
		compaction_step(t, begins, update);
	else
		agui_talk_raw(t, update);
}

/* --- subagents ----------------------------------------------------------------------------------------------------- */

struct agui_subagent {
	struct list link;
	char *session_id; /* as the harness has it */
	uint64_t seq;
	bool told; /* in this run */
};

static void subagent_free(struct agui_talk *t, struct agui_subagent *s)
{
	list_del(&s->link);
	t->nsubagents--;
	free_each(s->session_id, s);
}

static struct agui_subagent *subagent_find(struct agui_talk *t, const char *session_id)
{
	list_each(s, &t->subagents, struct agui_subagent, link)
		if (strcmp(s->session_id, session_id) == 0)
			return s;
	return NULL;
}

static void subagent_event_of(struct agui_talk *t, const struct agui_subagent *s, const char *type,
			      const struct jw_member *members)
{
	struct jw w = agui_event_begin(t->out, type);
	char id[AGUI_ID_SIZE];

	jw_str(&w, "subagentRunId", agui_id(id, s->seq));
	jw_put(&w, members);
	agui_event_end(&w);
}

#define subagent_event(t, s, type, ...) subagent_event_of(t, s, type, JW_MEMBERS(__VA_ARGS__))

/* The run ends before it does, or it is one too many. */
static void subagent_suspend(struct agui_talk *t, struct agui_subagent *s)
{
	if (s->told)
		subagent_event(t, s, "SUBAGENT_FINISHED",
			       JW_OBJ("outcome", JW_STR("type", "suspended")));
	s->told = false;
}

static struct agui_subagent *subagent_add(struct agui_talk *t, uint64_t seq, const char *session_id)
{
	struct agui_subagent *s;

	if (t->nsubagents == AGUI_SUBAGENTS_MAX) {
		/* Suspended first: a client must not have a subagent that never ends. */
		s = list_first(&t->subagents, struct agui_subagent, link);
		subagent_suspend(t, s);
		subagent_free(t, s);
	}
	s = new0(struct agui_subagent);
	s->session_id = xstrdup(session_id);
	s->seq = seq;
	list_add_tail(&t->subagents, &s->link);
	t->nsubagents++;
	return s;
}

static void subagent_started(struct agui_talk *t, struct agui_subagent *s, struct slice update)
{
	struct jval title = jobj_get(update, "title"), more = jobj_get(update, "description");
	bool named = title.type == J_STRING && title.raw.n > 2;

	s->told = true;
	subagent_event(t, s, "SUBAGENT_STARTED",
		       JW_RAW("name", named ? title.raw : SLICE("\"subagent\"")),
		       JW_RAW("description", more.type == J_STRING ? more.raw : SLICE_NONE),
		       JW_RAW("rawEvent", update));
}

static void subagent_over(struct agui_talk *t, struct agui_subagent *s, struct slice update)
{
	struct slice state = jobj_get(update, "state").raw, error = jobj_get(state, "error").raw;
	struct jval message = jobj_get(error, "message"), code = jobj_get(error, "code");
	_cleanup_(freep) char *number = code.type == J_NUMBER ? xstrndup(code.raw.p, code.raw.n) :
								NULL;

	/* AG-UI has the code as a string, JSON-RPC as a number. */
	if (message.type == J_STRING)
		subagent_event(t, s, "SUBAGENT_ERROR", JW_RAW("message", message.raw),
			       JW_STR("code", number), JW_RAW("rawEvent", update));
	else
		subagent_event(t, s, "SUBAGENT_FINISHED", JW_RAW("result", state),
			       JW_RAW("rawEvent", update));
	subagent_free(t, s);
}

/* The end of one that the client does not know of is no event. */
static void subagent_tell(struct agui_talk *t, struct agui_subagent *s, bool over,
			  struct slice update)
{
	bool begins = !s->told && !over;

	if (begins)
		subagent_started(t, s, update);
	if (over && s->told)
		subagent_over(t, s, update);
	else if (!begins)
		agui_talk_raw(t, update);
}

void agui_talk_subagent(struct agui_talk *t, uint64_t seq, struct slice update)
{
	_cleanup_(freep) char *id = NULL;
	bool over = jstr_is(jobj_get(jobj_get(update, "state").raw, "state"), "idle");
	struct agui_subagent *s;

	/* AG-UI 0.0.x has no events for subagents. */
	if (t->is_old || jstr_decode(jobj_get(update, "sessionId"), RPC_ID_MAX, &id) < 0) {
		agui_talk_raw(t, update);
		return;
	}
	s = subagent_find(t, id);
	if (!s)
		s = subagent_add(t, seq, id);
	/* A history has only those that still run: the live talk starts them. */
	if (t->is_history && over)
		subagent_free(t, s);
	else if (!t->is_history)
		subagent_tell(t, s, over, update);
}

void agui_more_pause(struct agui_talk *t)
{
	/* No step may be open when the run ends. */
	if (t->compacting)
		compaction_step(t, false, SLICE_NONE);
	list_each(s, &t->subagents, struct agui_subagent, link)
		subagent_suspend(t, s);
}

void agui_more_done(struct agui_talk *t)
{
	while (!list_empty(&t->plans))
		plan_free(t, list_first(&t->plans, struct agui_plan, link));
	while (!list_empty(&t->subagents))
		subagent_free(t, list_first(&t->subagents, struct agui_subagent, link));
}

/* --- the state of a session, and its plan ---------------------------------------------------------------- */

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
static void send_state_delta(struct agui_talk *t, enum agui_part p)
{
	const char *path = SHORT_TEXT(48, "/acpd/%s", parts[p].name);

	agui_event(t->out, "STATE_DELTA",
		   JW_ARR("delta", JW_STR("op", "add"), JW_STR("path", path),
			  JW_RAW("value", slice_of(t->state[p]))));
}

static char *state_value(enum agui_part p, struct slice update)
{
	JW_BUF(w, b);
	struct slice v = parts[p].member ? jobj_get(update, parts[p].member).raw : SLICE_NONE;

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
		value = state_value((enum agui_part)p, update);
		/* The kind matches, but without its member: there is no new value. */
		if (!value)
			return true;
		free(t->state[p]);
		t->state[p] = value;
		if (!t->is_history)
			send_state_delta(t, (enum agui_part)p);
		return true;
	}
	return false;
}

/* A turn has one plan; what follows replaces it.. */
void agui_talk_plan(struct agui_talk *t, uint64_t seq, struct slice update)
{
	JW_BUF(w, b);
	struct slice entries = jobj_get(update, "entries").raw;
	char id[AGUI_ID_SIZE];

	if (!entries.n)
		return;
	if (t->plan_seq && !t->is_history) {
		/* replace needs an existing member (RFC 6902, section 4.3): it was sent below. */
		agui_event(t->out, "ACTIVITY_DELTA", JW_STR("messageId", agui_id(id, t->plan_seq)),
			   JW_STR("activityType", "PLAN"),
			   JW_ARR("patch", JW_STR("op", "replace"), JW_STR("path", "/entries"),
				  JW_RAW("value", entries)));
		return;
	}
	t->plan_seq = seq;
	agui_id(id, seq);
	jw_object(&w, NULL, JW_RAW("entries", entries));
	agui_activity(t, id, "PLAN", buf_slice(&b));
}
