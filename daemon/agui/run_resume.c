/*
 * run_resume.c - open questions of a session as interrupts, and their answers from resume.
 *
 * agui_resume_check compares both lists before the first answer: every open question needs an
 * element of resume, and every element must name an open question. AG-UI has one payload for both
 * kinds: an optionId answers a permission request, any other object is the content of a form. A
 * cancellation does not name the kind, so both kinds of answer are tried.
 */
#include "agui/agui_run.h"

#include "base/limits.h"
#include "json/jstr.h"
#include "session/parts/approval/approvals.h"

/* Raw array of open questions. */
static struct slice list_questions(const struct agui *a, const char *session_id, struct buf *b)
{
	struct approval_query q = { session_id, &grant_admin, NULL };
	struct jw w = JW(b);
	struct err e;

	jw_obj(&w, NULL);
	if (approvals_put(a->store, &q, &w, &e) < 0)
		return SLICE_NONE;
	jw_end_obj(&w);
	return jobj_get(buf_slice(b), "approvals").raw;
}

size_t agui_questions_open(const struct agui *a, const char *session_id)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct slice all = list_questions(a, session_id, &b);
	size_t n = 0;

	jarr_each(v, all)
		n++;
	return n;
}

/* An element of array whose member is that string (raw). */
static bool has_id(struct slice array, const char *member, struct jval id)
{
	jarr_each(v, array) {
		_cleanup_(freep) char *text = NULL;

		/* Decoded on one side: either text may spell the id with escapes. */
		if (jstr_decode(jobj_get(v.raw, member), APPROVAL_ID_SIZE, &text) == 0 &&
		    jstr_is(id, text))
			return true;
	}
	return false;
}

static int check_entries(struct slice questions, struct slice resume, struct err *e)
{
	char field[48];

	jarr_each_at(i, v, resume) {
		snprintf(field, sizeof(field), "resume[%zu].interruptId", i);
		if (!has_id(questions, "id", jobj_get(v.raw, "interruptId")))
			return err_field(e, field, "INTERRUPT_UNKNOWN",
					 "%s: no such question is open", field);
	}
	return 0;
}

int agui_resume_check(const struct agui *a, const char *session_id, struct slice resume,
		      struct err *e)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct slice questions = list_questions(a, session_id, &b);
	int r = check_entries(questions, resume, e);

	if (r < 0)
		return r;
	jarr_each(v, questions)
		if (!has_id(resume, "interruptId", jobj_get(v.raw, "id")))
			return err_field(e, "resume", "INTERRUPT_UNANSWERED",
					 "every open question is to be answered");
	return 0;
}

/* --- answers -------------------------------------------------------------------------------------------------------- */

/* payload: an option by its id, alone or as member; or the content of a form. */
static int give_answer(const struct agui *a, const char *id, bool cancelled, struct jval payload,
		       struct err *e)
{
	_cleanup_(freep) char *option = NULL;
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jval named = payload.type == J_STRING ? payload : jobj_get(payload.raw, "optionId");
	struct approval_reply reply = { 0 };

	if (!cancelled && jstr_decode(named, APPROVAL_OPTION_MAX, &option) == 0)
		reply.option_id = option;
	else if (!cancelled && payload.type == J_OBJECT)
		reply = (struct approval_reply){ .action = "accept", .content = payload.raw };
	else
		reply.outcome = SLICE("{\"outcome\":\"cancelled\"}");
	return approval_answer(a->store, id, &reply, "http", &b, e);
}

/* A form is cancelled in other words. */
static int give_cancel(const struct agui *a, const char *id, struct err *e)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct approval_reply reply = { .action = "cancel" };

	if (give_answer(a, id, true, (struct jval){ 0 }, e) == 0)
		return 0;
	return approval_answer(a->store, id, &reply, "http", &b, e);
}

static int resume_one(const struct agui *a, struct slice entry, struct err *e)
{
	/* agui_resume_check has found this id in the list of open questions, so it is a string. */
	_cleanup_(freep) char *id = jobj_str(entry, "interruptId", APPROVAL_ID_SIZE);

	if (jstr_is(jobj_get(entry, "status"), "cancelled"))
		return give_cancel(a, id, e);
	return give_answer(a, id, false, jobj_get(entry, "payload"), e);
}

int agui_resume(const struct agui *a, struct slice resume, struct err *e)
{
	struct jiter it;
	struct jval v;
	int r = 0;

	/* Answers cannot be taken back, so all of them have been checked before (agui_resume_check). */
	jiter_init(&it, (struct jval){ J_ARRAY, resume });
	while (r == 0 && jiter_next(&it, NULL, &v))
		r = resume_one(a, v.raw, e);
	return r;
}

/* --- interrupts ----------------------------------------------------------------------------------------------------- */

static void put_option_ids(struct jw *w, struct jval options)
{
	jw_arr(w, "enum");
	jarr_each(v, options)
		jw_raw(w, NULL, jobj_get(v.raw, "optionId").raw);
	jw_end_arr(w);
}

/* {optionId: one of them} */
static void put_option_schema(struct jw *w, struct jval options)
{
	jw_obj(w, "responseSchema");
	jw_str(w, "type", "object");
	jw_obj(w, "properties");
	jw_obj(w, "optionId");
	jw_str(w, "type", "string");
	put_option_ids(w, options);
	jw_end_obj(w);
	jw_end_obj(w);
	jw_raw(w, "required", SLICE("[\"optionId\"]"));
	jw_end_obj(w);
}

static void put_permission_interrupt(struct jw *w, struct slice request)
{
	struct slice call = jobj_get(request, "toolCall").raw;

	jw_str(w, "reason", "tool_call");
	jw_raw(w, "message", jobj_get(call, "title").raw);
	jw_raw(w, "toolCallId", jobj_get(call, "toolCallId").raw);
	put_option_schema(w, jobj_get(request, "options"));
	/* The schema has only the ids of the options: a front end finds their names in the request. */
	jw_object(w, "metadata", JW_RAW("acpd", request));
}

static void put_form(struct jw *w, struct slice request)
{
	jw_str(w, "reason", "input_required");
	jw_raw(w, "message", jobj_get(request, "message").raw);
	jw_raw(w, "responseSchema", jobj_get(request, "requestedSchema").raw);
}

static void put_interrupt(struct jw *w, struct slice question)
{
	struct slice request = jobj_get(question, "request").raw;

	jw_obj(w, NULL);
	jw_raw(w, "id", jobj_get(question, "id").raw);
	if (jstr_is(jobj_get(question, "kind"), "permission"))
		put_permission_interrupt(w, request);
	else
		put_form(w, request);
	jw_raw(w, "expiresAt", jobj_get(question, "expiresAt").raw);
	jw_end_obj(w);
}

void agui_interrupts_put(const struct agui *a, const char *session_id, struct jw *w)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct slice all = list_questions(a, session_id, &b);

	jarr_each(v, all)
		put_interrupt(w, v.raw);
}
