/* talk_more.c - plans that have an id, compactions, and subagents: activities, steps, and runs within the run. */
#include "agui/agui_talk_internal.h"

#include "base/limits.h"
#include "json/jstr.h"

#include <stdio.h>

/* --- plans with an id ---------------------------------------------------------------------------------------------- */

struct agui_plan {
	struct list link;
	char *id, *content; /* content: raw */
};

static void plan_free(struct agui_talk *t, struct agui_plan *p)
{
	list_del(&p->link);
	t->nplans--;
	free(p->id);
	free(p->content);
	free(p);
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
	char message[RPC_ID_MAX + AGUI_ID_SIZE];

	snprintf(message, sizeof(message), "acpd-plan-%s", id);
	agui_activity(t, message, "PLAN", content);
}

/* A history has the newest of each. */
static void plan_keep(struct agui_talk *t, const char *id, struct slice content)
{
	struct agui_plan *p = plan_find(t, id);

	if (p)
		plan_free(t, p);
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
	if (t->history)
		plan_keep(t, id, plan);
	else
		plan_show(t, id, plan);
}

void agui_talk_plan_removed(struct agui_talk *t, uint64_t seq _unused_, struct slice update)
{
	_cleanup_(freep) char *id = NULL;
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	if (jstr_decode(jobj_get(update, "planId"), RPC_ID_MAX, &id) < 0)
		return;
	if (t->history) {
		plan_keep(t, id, SLICE_NONE);
		return;
	}
	jw_object(&w, NULL, JW_STR("planId", id), JW_BOOL("removed", true));
	plan_show(t, id, buf_slice(&b));
}

void agui_plans_put(struct agui_talk *t)
{
	while (!list_empty(&t->plans)) {
		struct agui_plan *p = list_first(&t->plans, struct agui_plan, link);

		if (t->history)
			plan_show(t, p->id, slice_of(p->content));
		plan_free(t, p);
	}
}

/* --- compaction ---------------------------------------------------------------------------------------------------- */

static void step(struct agui_talk *t, bool begins, struct slice update)
{
	struct jw w = agui_event_begin(t->out, begins ? "STEP_STARTED" : "STEP_FINISHED");

	jw_str(&w, "stepName", "compaction");
	jw_raw(&w, "rawEvent", update);
	agui_event_end(&w);
	t->compacting = begins;
}

/* Its begin and its end; what was said of it in an earlier run, or else, is passed on as it is. */
void agui_talk_compaction(struct agui_talk *t, uint64_t seq _unused_, struct slice update)
{
	bool begins = jstr_is(jobj_get(update, "status"), "in_progress");

	if (!t->history && begins != t->compacting)
		step(t, begins, update);
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
	free(s->session_id);
	free(s);
}

static struct agui_subagent *subagent_find(struct agui_talk *t, const char *session_id)
{
	list_each(s, &t->subagents, struct agui_subagent, link)
		if (strcmp(s->session_id, session_id) == 0)
			return s;
	return NULL;
}

static struct jw subagent_begin(struct agui_talk *t, const struct agui_subagent *s,
				const char *type)
{
	struct jw w = agui_event_begin(t->out, type);
	char id[AGUI_ID_SIZE];

	agui_id(id, s->seq);
	jw_str(&w, "subagentRunId", id);
	return w;
}

/* The run ends before it does, or it is one too many. */
static void subagent_suspend(struct agui_talk *t, struct agui_subagent *s)
{
	struct jw w;

	if (!s->told)
		return;
	s->told = false;
	w = subagent_begin(t, s, "SUBAGENT_FINISHED");
	jw_raw(&w, "outcome", SLICE("{\"type\":\"suspended\"}"));
	agui_event_end(&w);
}

static struct agui_subagent *subagent_add(struct agui_talk *t, uint64_t seq, const char *session_id)
{
	struct agui_subagent *s;

	if (t->nsubagents == AGUI_SUBAGENTS_MAX) {
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
	struct jw w = subagent_begin(t, s, "SUBAGENT_STARTED");
	struct jval title = jobj_get(update, "title"), more = jobj_get(update, "description");

	s->told = true;
	jw_raw(&w, "name",
	       title.type == J_STRING && title.raw.n > 2 ? title.raw : SLICE("\"subagent\""));
	if (more.type == J_STRING)
		jw_raw(&w, "description", more.raw);
	jw_raw(&w, "rawEvent", update);
	agui_event_end(&w);
}

static void subagent_over(struct agui_talk *t, struct agui_subagent *s, struct slice update)
{
	struct slice state = jobj_get(update, "state").raw, error = jobj_get(state, "error").raw;
	struct jval message = jobj_get(error, "message"), code = jobj_get(error, "code");
	bool failed = message.type == J_STRING;
	struct jw w = subagent_begin(t, s, failed ? "SUBAGENT_ERROR" : "SUBAGENT_FINISHED");

	if (failed)
		jw_raw(&w, "message", message.raw);
	else
		jw_raw(&w, "result", state);
	if (failed && code.type == J_NUMBER)
		jw_slice(&w, "code", code.raw);
	jw_raw(&w, "rawEvent", update);
	agui_event_end(&w);
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

	if (t->old || jstr_decode(jobj_get(update, "sessionId"), RPC_ID_MAX, &id) < 0) {
		agui_talk_raw(t, update);
		return;
	}
	s = subagent_find(t, id);
	if (!s)
		s = subagent_add(t, seq, id);
	if (t->history && over)
		subagent_free(t, s);
	else if (!t->history)
		subagent_tell(t, s, over, update);
}

void agui_more_pause(struct agui_talk *t)
{
	if (t->compacting)
		step(t, false, SLICE_NONE);
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
