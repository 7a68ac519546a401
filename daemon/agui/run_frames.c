/* run_frames.c - what comes over the connection of a run. */
#include "agui/agui_run.h"

#include "json/jdec.h"
#include "json/jstr.h"
#include "rpc/rpc.h"

/* --- answers -------------------------------------------------------------------------------------------------------- */

/* {code, message, data: {reason, turn: {class}}} */
static void fail_by(struct agui_run *r, struct slice error)
{
	_cleanup_(freep) char *reason = NULL, *message = NULL;

	(void)jstr_decode(jobj_get(jobj_get(error, "data").raw, "reason"), 64, &reason);
	(void)jstr_decode(jobj_get(error, "message"), 4096, &message);
	agui_run_fail(r, reason ? reason : "INTERNAL_ERROR",
		      message ? message : "the session cannot be used");
}

/* The prompt holds nothing: it can be sent again. */
static void prompt_refused(struct agui_run *r, struct slice error)
{
	struct err e;

	agui_history_forget(r->thread, r->told);
	r->thread->context[0] = '\0';
	(void)agui_thread_save(r->owner->threads, r->thread, &e);
	fail_by(r, error);
}

static void take_answer(struct agui_run *r, const struct rpc_msg *m)
{
	struct jval id = { J_NUMBER, m->id };
	int64_t no = 0;

	if (jdec_int(id, &no) < 0 || no <= 0)
		return;
	if ((uint64_t)no == r->prompt_id && m->error.n)
		prompt_refused(r, m->error);
	else if ((uint64_t)no == r->open_id && m->error.n)
		fail_by(r, m->error);
	else if ((uint64_t)no == r->open_id)
		agui_run_opened(r, m->result);
}

/* --- requests ------------------------------------------------------------------------------------------------------- */

static void take_call(struct agui_run *r, struct agui_front_call *c)
{
	uint64_t id = c->rpc_id;

	if (!agui_link_add_call(r->link, c))
		agui_link_answer(r->link, id,
				 SLICE("{\"error\":{\"code\":-32603,\"message\":"
				       "\"Too many calls of the front end are open\"}}"));
	else if (!c->harness_id)
		c->harness_id = agui_talk_claim(&r->talk, c->tool, c->digest);
}

static void take_mcp(struct agui_run *r, uint64_t id, struct slice params)
{
	_cleanup_(buf_done) struct buf answer = { 0 };
	struct agui_front_call *c = agui_front_call_new(id, params);

	if (c) {
		take_call(r, c);
		return;
	}
	agui_tools_answer(jobj_get(params, "method").raw, buf_slice(&r->link->tools), &answer);
	agui_link_answer(r->link, id, buf_slice(&answer));
}

static void take_request(struct agui_run *r, const struct rpc_msg *m)
{
	struct jval id = { J_NUMBER, m->id };
	int64_t no = 0;

	(void)jdec_int(id, &no);
	if (strcmp(m->method, "mcp/message") == 0)
		take_mcp(r, (uint64_t)no, m->params);
	else if (strcmp(m->method, "session/request_permission") == 0 ||
		 strcmp(m->method, "elicitation/create") == 0)
		r->asked = true;
	else
		agui_link_refuse(r->link, (uint64_t)no);
}

/* --- notifications -------------------------------------------------------------------------------------------------- */

static void on_update(struct agui_run *r, struct slice params)
{
	struct slice own = jobj_get(jobj_get(params, "_meta").raw, "acpd").raw;

	r->seq = jobj_uint(own, "seq");
	agui_talk_update(&r->talk, r->seq, jobj_get(params, "update").raw);
}

/* It may be that of a turn before ours. */
static void on_turn_end(struct agui_run *r, struct slice params)
{
	bool ours = !*r->key || jstr_is(jobj_get(params, "key"), r->key);

	agui_talk_turn_over(&r->talk);
	if (!r->talk.history)
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
static void on_event(struct agui_run *r, struct slice params)
{
	struct slice update = unknown_update(jobj_get(params, "event").raw);
	struct jw w;

	if (r->talk.history)
		return;
	if (update.n) {
		agui_talk_raw(&r->talk, update);
		return;
	}
	w = agui_event_begin(&r->out, "CUSTOM");
	jw_str(&w, "name", "acpd.event");
	jw_raw(&w, "value", jobj_get(params, "event").raw);
	agui_event_end(&w);
}

static void on_gap(struct agui_run *r, struct slice params _unused_)
{
	r->lost_history = true;
}

static void on_detached(struct agui_run *r, struct slice params)
{
	if (jstr_is(jobj_get(params, "reason"), "taken_over"))
		agui_run_fail(r, "DETACHED", "another client has taken the session");
	else
		agui_run_fail(r, "SESSION_CLOSED", "the session was closed");
}

/* A call is taken back: nobody waits for its result. */
static void on_cancel(struct agui_run *r, struct slice params)
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
	{ "session/update", on_update },   { "_acpd/turn_end", on_turn_end },
	{ "_acpd/event", on_event },	   { "_acpd/gap", on_gap },
	{ "_acpd/detached", on_detached }, { "$/cancel_request", on_cancel },
};

static void take_note(struct agui_run *r, const struct rpc_msg *m)
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
		take_answer(r, &m);
	else if (m.kind == RPC_REQUEST)
		take_request(r, &m);
	else
		take_note(r, &m);
}
