/*
 * run_frames.c - what comes over the connection of a run, and the last event of a run.
 *
 * A run ends once: with its turn, with what is open (a question, or calls to tools of the front end), or with an error. Each
 * of these ends its open message first, so that a client never has a message without an end.
 */
#include "agui/agui_run.h"

#include "json/json.h"
#include "rpc/rpc.h"
#include "session/core/harness/session_labels.h"

/* --- answers -------------------------------------------------------------------------------------------------------- */

/* {code, message, data: {reason, turn: {class}}} */
static void fail_by(struct agui_run *r, struct slice error)
{
	_cleanup_(freep) char *reason = jobj_str(jobj_get(error, "data").raw, "reason", 64);
	_cleanup_(freep) char *message = jobj_str(error, "message", 4096);

	agui_run_fail(r, reason ? reason : "INTERNAL_ERROR",
		      message ? message : "the session cannot be used");
}

/* The prompt holds nothing: it can be sent again. */
static void prompt_refused(struct agui_run *r, struct slice error)
{
	struct err e;

	agui_history_forget(r->thread, r->told);
	/* The context was part of that prompt, so the next one has it again. */
	r->thread->context[0] = '\0';
	(void)agui_thread_save(r->owner->threads, r->thread, &e);
	fail_by(r, error);
}

static void take_conn_answer(struct agui_run *r, const struct rpc_msg *m)
{
	struct jval id = { J_NUMBER, m->id };
	int64_t no = 0;

	/* 0 is not an id: prompt_id and open_id have it until their requests are sent. */
	if (jdec_int(id, &no) < 0 || no <= 0)
		return;
	/* Only an error of a prompt ends the run here: a turn that ran ends it by _acpd/turn_end. */
	if ((uint64_t)no == r->prompt_id && m->error.n)
		prompt_refused(r, m->error);
	else if ((uint64_t)no == r->open_id && m->error.n)
		fail_by(r, m->error);
	else if ((uint64_t)no == r->open_id)
		agui_run_opened(r, m->result);
}

/* --- requests ------------------------------------------------------------------------------------------------------- */

static void take_front_call(struct agui_run *r, struct agui_front_call *c)
{
	uint64_t id = c->rpc_id;

	if (!agui_link_add_call(r->link, c))
		agui_link_answer(r->link, id,
				 SLICE("{\"error\":{\"code\":-32603,\"message\":"
				       "\"Too many calls of the front end are open\"}}"));
	else if (!c->harness_id)
		c->harness_id = agui_talk_claim(&r->talk, c->tool, c->digest);
}

static void take_mcp_message(struct agui_run *r, uint64_t id, struct slice params)
{
	_cleanup_(buf_done) struct buf answer = { 0 };
	struct agui_front_call *c = agui_front_call_new(id, params);

	if (c) {
		take_front_call(r, c);
		return;
	}
	agui_tools_answer(jobj_get(params, "method").raw, buf_slice(&r->link->tools), &answer);
	agui_link_answer(r->link, id, buf_slice(&answer));
}

static void take_conn_request(struct agui_run *r, const struct rpc_msg *m)
{
	struct jval id = { J_NUMBER, m->id };
	int64_t no = 0;

	/* The ids of the daemon's requests are positive numbers (rpc.h). */
	(void)jdec_int(id, &no);
	if (strcmp(m->method, "mcp/message") == 0)
		take_mcp_message(r, (uint64_t)no, m->params);
	else if (strcmp(m->method, "session/request_permission") == 0 ||
		 strcmp(m->method, "elicitation/create") == 0)
		r->asked = true;
	else
		agui_link_refuse(r->link, (uint64_t)no);
}

/* --- notifications -------------------------------------------------------------------------------------------------- */

static void on_session_update(struct agui_run *r, struct slice params)
{
	struct slice own = jobj_get(jobj_get(params, "_meta").raw, "acpd").raw;

	r->seq = jobj_uint(own, "seq");
	agui_talk_update(&r->talk, r->seq, jobj_get(params, "update").raw);
}

/* It may be that of a turn before ours. */
static void on_session_turn_end(struct agui_run *r, struct slice params)
{
	bool ours = !*r->key || jstr_is(jobj_get(params, "key"), r->key);

	agui_talk_turn_over(&r->talk);
	if (!r->talk.is_history)
		agui_thread_turn_over(r->thread);
	if (r->stage == STAGE_LIVE && ours)
		agui_run_turn_over(r, params);
}

/* The update of an event update_unknown, or empty. */
static struct slice unknown_update(struct slice event)
{
	if (!jstr_is(jobj_get(event, "event"), "update_unknown"))
		return SLICE_NONE;
	return jobj_get(event, "update").raw;
}

/* What it is stands in the event itself. */
static void on_session_event(struct agui_run *r, struct slice params)
{
	struct slice event = jobj_get(params, "event").raw, update = unknown_update(event);

	if (r->talk.is_history)
		return;
	if (update.n)
		agui_talk_raw(&r->talk, update);
	else
		agui_event(&r->out, "CUSTOM", JW_STR("name", "acpd.event"), JW_RAW("value", event));
}

static void on_gap(struct agui_run *r, struct slice params _unused_)
{
	r->lost_history = true;
}

static void on_session_detached(struct agui_run *r, struct slice params)
{
	if (jstr_is(jobj_get(params, "reason"), "taken_over"))
		agui_run_fail(r, "DETACHED", "another client has taken the session");
	else
		agui_run_fail(r, "SESSION_CLOSED", "the session was closed");
}

/* A call is taken back: nobody waits for its result. */
static void on_call_cancelled(struct agui_run *r, struct slice params)
{
	uint64_t id = jobj_uint(params, "requestId");

	list_each(c, &r->link->calls, struct agui_front_call, link)
		if (c->rpc_id == id) {
			agui_link_call_over(r->link, c, SLICE_NONE, true);
			return;
		}
}

static const struct {
	const char *method;
	void (*fn)(struct agui_run *r, struct slice params);
} notes[] = {
	{ "session/update", on_session_update },   { "_acpd/turn_end", on_session_turn_end },
	{ "_acpd/event", on_session_event },	   { "_acpd/gap", on_gap },
	{ "_acpd/detached", on_session_detached }, { "$/cancel_request", on_call_cancelled },
};

static void take_conn_note(struct agui_run *r, const struct rpc_msg *m)
{
	for (size_t i = 0; i < ARRAY_SIZE(notes); i++)
		if (strcmp(m->method, notes[i].method) == 0)
			notes[i].fn(r, m->params);
}

void agui_run_frame(struct agui_run *r, struct slice frame)
{
	struct rpc_msg m;
	struct err e;

	if (rpc_parse(frame, &m, &e) != RPC_PARSED)
		return;
	if (m.kind == RPC_RESPONSE)
		take_conn_answer(r, &m);
	else if (m.kind == RPC_REQUEST)
		take_conn_request(r, &m);
	else
		take_conn_note(r, &m);
}

/* --- errors --------------------------------------------------------------------------------------------------------- */

void agui_run_fail(struct agui_run *r, const char *code, const char *message)
{
	if (r->stage == STAGE_OVER)
		return;
	/* While it opens, updates only build the history: the client has no open message. */
	if (r->stage == STAGE_LIVE) {
		agui_talk_release(&r->talk);
		agui_talk_pause(&r->talk);
	}
	r->stage = STAGE_OVER;
	agui_event(&r->out, "RUN_ERROR", JW_STR("message", message), JW_STR("code", code));
	agui_run_wake(r);
}

static void fail_by_turn(struct agui_run *r, struct slice error)
{
	_cleanup_(freep) char *reason = jobj_str(error, "reason", 64);
	_cleanup_(freep) char *cls = jobj_str(error, "class", 64);
	_cleanup_(freep) char *message = jobj_str(error, "message", 4096);

	agui_run_fail(r,
		      reason ? reason :
		      cls    ? cls :
			       "TURN_FAILED",
		      message ? message : "the turn failed");
}

/* --- the end -------------------------------------------------------------------------------------------------------- */

static struct jw begin_finished(struct agui_run *r)
{
	struct jw w;

	agui_talk_pause(&r->talk);
	r->stage = STAGE_OVER;
	w = agui_event_begin(&r->out, "RUN_FINISHED");
	jw_str(&w, "threadId", r->in.thread_id);
	jw_str(&w, "runId", r->in.run_id);
	return w;
}

static void end_finished(struct agui_run *r, struct jw *w)
{
	agui_event_end(w);
	agui_run_wake(r);
}

static void put_run_usage(struct jw *w, struct slice usage)
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
static void put_run_outcome(struct jw *w, const struct agui_run *r, bool cancelled)
{
	if (cancelled && r->talk.is_old)
		return;
	jw_object(w, "outcome", JW_STR("type", cancelled ? "cancelled" : "success"));
}

/* What a client and its operator call the turn's configuration and account, and the machine. */
static void put_run_labels(struct jw *w, struct slice own)
{
	for (size_t i = 0; i < LABEL_MAX; i++)
		jw_raw(w, session_label_names[i], jobj_get(own, session_label_names[i]).raw);
	jw_raw(w, "sandboxId", jobj_get(own, "sandboxId").raw);
}

static void finish_turn_success(struct agui_run *r, struct slice end)
{
	struct jval reason = jobj_get(end, "stopReason");
	struct slice own = jobj_get(jobj_get(end, "_meta").raw, "acpd").raw;
	struct slice usage = jobj_get(own, "promptUsage").raw; /* of all attempts */
	struct jw w = begin_finished(r);

	jw_obj(&w, "result");
	jw_raw(&w, "stopReason", reason.raw);
	jw_raw(&w, "turn", jobj_get(end, "turn").raw);
	jw_raw(&w, "stopDetail", jobj_get(own, "stopDetail").raw);
	jw_raw(&w, "checks", jobj_get(own, "checks").raw);
	put_run_labels(&w, own);
	jw_end_obj(&w);
	put_run_outcome(&w, r, jstr_is(reason, "cancelled"));
	put_run_usage(&w, usage.n ? usage : jobj_get(end, "usage").raw);
	end_finished(r, &w);
}

void agui_run_turn_over(struct agui_run *r, struct slice end)
{
	struct slice error = jobj_get(end, "error").raw;

	if (error.n)
		fail_by_turn(r, error);
	else
		finish_turn_success(r, end);
}

void agui_run_idle(struct agui_run *r)
{
	struct jw w = begin_finished(r);

	put_run_outcome(&w, r, false);
	end_finished(r, &w);
}

/* --- with something open -------------------------------------------------------------------------------------------- */

static void finish_with_questions(struct agui_run *r)
{
	struct jw w;

	agui_talk_release(&r->talk); /* the question may be about it */
	w = begin_finished(r);
	jw_obj(&w, "outcome");
	jw_str(&w, "type", "interrupt");
	jw_arr(&w, "interrupts");
	agui_interrupts_put(r->owner, r->thread->session_id, &w);
	jw_end_arr(&w);
	jw_end_obj(&w);
	end_finished(r, &w);
}

/* The client carries them out, and brings their results with its next run. */
static void finish_with_calls(struct agui_run *r)
{
	struct jw w;

	agui_talk_close(&r->talk);
	list_each(c, &r->link->calls, struct agui_front_call, link)
		agui_talk_front_call(&r->talk, c->id, c->tool, c->args);
	w = begin_finished(r);
	if (!r->talk.is_old) {
		jw_obj(&w, "outcome");
		jw_str(&w, "type", "success");
		jw_arr(&w, "pendingToolCallIds");
		list_each(c, &r->link->calls, struct agui_front_call, link)
			jw_str(&w, NULL, c->id);
		jw_end_arr(&w);
		jw_end_obj(&w);
	}
	end_finished(r, &w);
}

bool agui_run_pause(struct agui_run *r)
{
	bool asked = r->asked && agui_questions_open(r->owner, r->thread->session_id);

	/* A question comes before calls: these stay with the link for the next run. */
	r->asked = asked;
	if (asked)
		finish_with_questions(r);
	else if (!list_empty(&r->link->calls))
		finish_with_calls(r);
	else
		return false;
	return true;
}
