/* run_end.c - the last event of a run. */
#include "agui/run_resume.h"

#include "json/jstr.h"
#include "session/core/harness/session_labels.h"

/* --- errors --------------------------------------------------------------------------------------------------------- */

void agui_run_fail(struct agui_run *r, const char *code, const char *message)
{
	struct jw w;

	if (r->stage == STAGE_OVER)
		return;
	if (r->stage == STAGE_LIVE) {
		agui_talk_release(&r->talk);
		agui_talk_pause(&r->talk);
	}
	r->stage = STAGE_OVER;
	w = agui_event_begin(&r->out, "RUN_ERROR");
	jw_str(&w, "message", message);
	jw_str(&w, "code", code);
	agui_event_end(&w);
	agui_run_wake(r);
}

static void fail_turn(struct agui_run *r, struct slice error)
{
	_cleanup_(freep) char *reason = NULL, *cls = NULL, *message = NULL;

	(void)jstr_decode(jobj_get(error, "reason"), 64, &reason);
	(void)jstr_decode(jobj_get(error, "class"), 64, &cls);
	(void)jstr_decode(jobj_get(error, "message"), 4096, &message);
	agui_run_fail(r,
		      reason ? reason :
		      cls    ? cls :
			       "TURN_FAILED",
		      message ? message : "the turn failed");
}

/* --- the end -------------------------------------------------------------------------------------------------------- */

static struct jw finish(struct agui_run *r)
{
	struct jw w;

	agui_talk_pause(&r->talk);
	r->stage = STAGE_OVER;
	w = agui_event_begin(&r->out, "RUN_FINISHED");
	jw_str(&w, "threadId", r->in.thread_id);
	jw_str(&w, "runId", r->in.run_id);
	return w;
}

static void finished(struct agui_run *r, struct jw *w)
{
	agui_event_end(w);
	agui_run_wake(r);
}

static void put_usage(struct jw *w, struct slice usage)
{
	static const struct {
		const char *from, *to;
	} rows[] = {
		{ "inputTokens", "inputTokens" },
		{ "outputTokens", "outputTokens" },
		{ "totalTokens", "totalTokens" },
		{ "thoughtTokens", "reasoningTokens" },
		{ "cachedReadTokens", "cachedInputTokens" },
		{ "cachedWriteTokens", "cacheWriteInputTokens" },
	};

	if (!usage.n)
		return;
	jw_arr(w, "usage");
	jw_obj(w, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (jobj_get(usage, rows[i].from).type == J_NUMBER)
			jw_raw(w, rows[i].to, jobj_get(usage, rows[i].from).raw);
	jw_end_obj(w);
	jw_end_arr(w);
}

/* 0.0.x knows no outcome of that kind: it is in the result alone. */
static void put_outcome(struct jw *w, const struct agui_run *r, bool cancelled)
{
	if (cancelled && r->talk.old)
		return;
	jw_object(w, "outcome", JW_STR("type", cancelled ? "cancelled" : "success"));
}

/* What a client and its operator call the turn's configuration and account, and the machine. */
static void put_labels(struct jw *w, struct slice own)
{
	for (size_t i = 0; i < LABEL_MAX; i++)
		jw_raw(w, session_label_names[i], jobj_get(own, session_label_names[i]).raw);
	jw_raw(w, "sandboxId", jobj_get(own, "sandboxId").raw);
}

static void succeed(struct agui_run *r, struct slice end)
{
	struct jval reason = jobj_get(end, "stopReason");
	struct slice own = jobj_get(jobj_get(end, "_meta").raw, "acpd").raw;
	struct slice usage = jobj_get(own, "promptUsage").raw; /* of all attempts */
	struct jw w = finish(r);

	jw_obj(&w, "result");
	jw_raw(&w, "stopReason", reason.raw);
	jw_raw(&w, "turn", jobj_get(end, "turn").raw);
	jw_raw(&w, "stopDetail", jobj_get(own, "stopDetail").raw);
	jw_raw(&w, "checks", jobj_get(own, "checks").raw);
	put_labels(&w, own);
	jw_end_obj(&w);
	put_outcome(&w, r, jstr_is(reason, "cancelled"));
	put_usage(&w, usage.n ? usage : jobj_get(end, "usage").raw);
	finished(r, &w);
}

void agui_run_turn_over(struct agui_run *r, struct slice end)
{
	struct slice error = jobj_get(end, "error").raw;

	if (error.n)
		fail_turn(r, error);
	else
		succeed(r, end);
}

void agui_run_idle(struct agui_run *r)
{
	struct jw w = finish(r);

	put_outcome(&w, r, false);
	finished(r, &w);
}

/* --- with something open -------------------------------------------------------------------------------------------- */

static void interrupt(struct agui_run *r)
{
	struct jw w;

	agui_talk_release(&r->talk); /* the question may be about it */
	w = finish(r);
	jw_obj(&w, "outcome");
	jw_str(&w, "type", "interrupt");
	jw_arr(&w, "interrupts");
	agui_interrupts_put(r->owner, r->thread->session_id, &w);
	jw_end_arr(&w);
	jw_end_obj(&w);
	finished(r, &w);
}

static void tell_calls(struct agui_run *r)
{
	list_each(c, &r->link->calls, struct agui_front_call, link)
		agui_talk_front_call(&r->talk, c->id, c->tool, c->args);
}

/* The client carries them out, and brings their results with its next run. */
static void hand_over(struct agui_run *r)
{
	struct jw w;

	agui_talk_close(&r->talk);
	tell_calls(r);
	w = finish(r);
	if (!r->talk.old) {
		jw_obj(&w, "outcome");
		jw_str(&w, "type", "success");
		jw_arr(&w, "pendingToolCallIds");
		list_each(c, &r->link->calls, struct agui_front_call, link)
			jw_str(&w, NULL, c->id);
		jw_end_arr(&w);
		jw_end_obj(&w);
	}
	finished(r, &w);
}

bool agui_run_pause(struct agui_run *r)
{
	bool asked = r->asked && agui_questions_open(r->owner, r->thread->session_id);

	r->asked = asked;
	if (asked)
		interrupt(r);
	else if (!list_empty(&r->link->calls))
		hand_over(r);
	else
		return false;
	return true;
}
