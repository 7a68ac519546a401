/*
 * question.c - the life of a question: asked, announced, settled once.
 *
 * A question is on the heap and in its session's list until question_settle frees it; question_forget does so for one that
 * was only read from a journal. Both unlink it first, so nothing that follows can answer it again. question_settle then
 * writes who answered and what, and passes the answer to the harness, or to the daemon's own asker.
 *
 * An EVENT_ASK opens a question and the EVENT_ANSWER with its number closes it. An EVENT_ANSWER can stand alone: a question
 * that is refused before it is announced has no EVENT_ASK.
 */
#include "session/core/session_internal.h"

#include "base/clock.h"
#include "base/limits.h"
#include "json/json.h"
#include "session/core/turn/absolute_paths.h"
#include "session/parts/approval/approval_internal.h"
#include "session/core/redact/redact_internal.h"
#include "session/parts/budget/turn_budget.h"
#include "session/parts/trace/session_trace.h"

bool question_is_elicitation(const struct session_question *a)
{
	return a->elicitation;
}

struct slice question_params(const struct session_question *a)
{
	return slice_of(a->params);
}

/* --- its events ------------------------------------------------------------------------------------------------ */

static void put_question_head(struct jw *w, const struct session_question *a)
{
	jw_str(w, "kind", "ask_approval");
	jw_uint(w, "ask", a->no);
	jw_bool(w, "elicitation", a->elicitation);
}

static void put_question_asked(struct jw *w, const struct session_question *a)
{
	static const char *const of_elicitation[] = { "message", "mode", "requestedSchema", "url",
						      "elicitationId" };
	struct slice params = slice_of(a->params), call = jobj_get(params, "toolCall").raw;

	put_question_head(w, a);
	jw_raw(w, "toolCallId", jobj_get(call, "toolCallId").raw);
	jw_raw(w, "title", jobj_get(call, "title").raw);
	jw_raw(w, "options", jobj_get(params, "options").raw);
	for (size_t i = 0; a->elicitation && i < ARRAY_SIZE(of_elicitation); i++)
		jw_raw(w, of_elicitation[i], jobj_get(params, of_elicitation[i]).raw);
	if (a->timed) {
		jw_str(w, "expiresAt", CLOCK_ISO(question_expires_ms(a)));
		jw_str(w, "default", answer_kind_word(question_default(a)));
	}
}

static void note_question(struct session_question *a)
{
	JW_BUF(w, b);

	put_question_asked(&w, a);
	event_note(a->session, EVENT_ASK, buf_slice(&b));
}

void question_put_id(struct jw *w, const struct session_question *a)
{
	jw_str(w, "id",
	       SHORT_TEXT(APPROVAL_ID_SIZE, "%s:%llu", a->session->id, (unsigned long long)a->no));
}

/* A harness can ask without end. What the bucket holds back is counted in the next webhook. */
static void tell_question(struct session_question *a)
{
	struct bucket *told = &approval_of(a->session)->told;
	JW_BUF(w, b);
	unsigned left_out;

	if (!bucket_take(told, clock_mono_ms(), WEBHOOK_ASKS_BURST, WEBHOOK_ASKS_EACH_MS))
		return;
	left_out = bucket_left_out(told);
	question_put_id(&w, a);
	jw_uint(&w, "turn", session_running(a->session));
	put_question_asked(&w, a);
	if (left_out)
		jw_uint(&w, "leftOut", left_out);
	event_webhook(a->session, WEBHOOK_QUESTION_OPEN, NULL, buf_slice(&b));
}

void question_note_answer(const struct session_question *a, struct slice answer,
			  enum answered_by by, const char *detail)
{
	JW_BUF(w, b);

	put_question_head(&w, a);
	jw_raw(&w, "answer", answer);
	jw_str(&w, "by", answered_by_word(by));
	if (answered_by_detail(by))
		jw_str(&w, answered_by_detail(by), detail);
	event_note(a->session, EVENT_ANSWER, buf_slice(&b));
}

/* A refusal is an answer, not an error. */
static void end_question_span(struct session_question *a, const char *by, const char *outcome)
{
	struct span_note n;

	if (!span_tell(a->session, &a->span, &n, SPAN_INTERNAL, "wait_for_human",
		       a->elicitation ? "elicitation" : "permission"))
		return;
	span_put_int(&n, "acpd.question", (int64_t)a->no);
	span_put(&n, "acpd.question.answered_by", by);
	span_put(&n, "acpd.question.outcome", outcome);
	span_told(&n, NULL, NULL);
}

static void log_answer(struct session_question *a, struct slice answer, enum answered_by by)
{
	_cleanup_(freep) char *word = answer_word(a, answer);

	if (by != BY_RULE) /* a rule answers at once: its span would measure no wait */
		end_question_span(a, answered_by_word(by), word);
	session_log(a->session, "question answered", "by", answered_by_word(by), "outcome", word,
		    NULL);
}

/* --- the end ---------------------------------------------------------------------------------------------------- */

/* From here on nobody finds it any more. */
static void question_unlink(struct session_question *a)
{
	loop_timer_cancel(&a->timer);
	question_withdraw(a);
	list_del(&a->link);
	approval_of(a->session)->nopen--;
}

static void question_free(struct session_question *a)
{
	free_each(a->params, a->seed.shown, a);
}

void question_forget(struct session_question *a)
{
	question_unlink(a);
	question_free(a);
}

void question_settle(struct session_question *a, struct slice answer, enum answered_by by,
		     const char *detail)
{
	_cleanup_(buf_done) struct buf told = { 0 };
	struct session *s = a->session;

	question_unlink(a);
	/* Before the callbacks below: a client that answers late is told who was first. */
	question_remember(s, a->no, by, detail);
	log_answer(a, answer, by);
	if (s->turn.current)
		question_note_answer(a, answer, by, detail);
	/* The event has what the client chose; the harness may get less, where the daemon keeps a rule itself. */
	if (by == BY_CLIENT || by == BY_HUMAN)
		answer = question_narrow_answer(a, answer, &told);
	if (!a->answered && by != BY_WITHDRAWN && s->harness.adapter)
		s->def->ops->answer(s->harness.adapter, a->harness_id, answer);
	activity_note(s);
	/* The asker may ask again from inside: this question is in no list any more. */
	if (a->answered && by != BY_WITHDRAWN)
		a->answered(a->answered_ctx, answer);
	question_free(a);
}

void question_settle_as(struct session_question *a, enum answer_kind kind, enum answered_by by,
			const char *detail)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	question_settle(a, answer_of_kind(a, kind, &b), by, detail);
}

/* --- the beginning ---------------------------------------------------------------------------------------------- */

/* The question is about a call that clients know by another id. */
static void question_name_call(struct session_question *a, struct slice id)
{
	JW_BUF(w, b);
	struct slice params = slice_of(a->params);

	if (!id.n)
		return;
	jw_obj(&w, NULL);
	jw_obj(&w, "toolCall");
	jw_raw(&w, "toolCallId", id);
	jw_members(&w, jobj_get(params, "toolCall").raw, "toolCallId");
	jw_end_obj(&w);
	jw_members(&w, params, "toolCall");
	jw_end_obj(&w);
	free(a->params);
	a->params = xstrndup(b.data, b.len);
}

/* Params for the client: without the harness's session id and the session's secrets, with absolute paths in the tool
 * call. */
static char *question_client_params(struct session *s, struct slice params)
{
	_cleanup_(buf_done) struct buf b = { 0 }, call = { 0 }, hidden = { 0 };
	struct jw w = JW(&b);
	struct slice known;

	jw_obj(&w, NULL);
	jobj_each(key, v, params) {
		if (jkey_is(key, "sessionId"))
			continue;
		if (jkey_is(key, "toolCall") &&
		    absolute_paths_put(v.raw, session_workdir(s), &call))
			jw_member_raw(&w, key, buf_slice(&call));
		else if (jkey_is(key, "toolCallId") && tool_call_id(s, v.raw).n)
			jw_member_raw(&w, key, tool_call_id(s, v.raw)); /* of an elicitation */
		else
			jw_member_raw(&w, key, v.raw);
	}
	jw_end_obj(&w);
	known = session_mask_json(s, buf_slice(&b), false, event_fields_question, &hidden);
	return xstrndup(known.p, known.n);
}

struct session_question *question_new(struct session *s, uint64_t no)
{
	struct session_question *a = new0(struct session_question);

	a->session = s;
	a->no = no;
	list_add_tail(&approval_of(s)->open, &a->link);
	approval_of(s)->nopen++;
	return a;
}

struct session_question *question_find(const struct session *s, uint64_t no)
{
	list_each(a, (struct list *)&approval_of(s)->open, struct session_question, link)
		if (a->no == no)
			return a;
	return NULL;
}

static struct session_question *question_of(struct session *s, struct slice params)
{
	struct session_question *a = question_new(s, ++approval_of(s)->last);

	a->asked_ms = clock_real_ms();
	session_span_begin(s, &a->span);
	a->fallback = approval_terms_of(&s->setup)->fallback;
	a->params = question_client_params(s, params);
	activity_note(s);
	return a;
}

/* It is known of from here on, by its event. False: it cannot be asked, and is gone. */
static bool question_announce(struct session_question *a)
{
	struct session *s = a->session;
	bool running = s->turn.current && s->turn.current->state == TURN_RUNNING;

	if (!running) {
		question_settle_as(a, ANSWER_CANCEL, BY_DEFAULT, "no_turn");
		return false;
	}
	/* This one is in the list already. */
	if (approval_of(s)->nopen > SESSION_ASKS_MAX) {
		question_settle_as(a, ANSWER_CANCEL, BY_DEFAULT, "too_many");
		return false;
	}
	turn_output(s->turn.current);
	/* The call is announced before its budget is looked at (question_affords): that counts it. */
	if (!a->elicitation)
		question_name_call(
			a, tool_call_announce(s, jobj_get(slice_of(a->params), "toolCall").raw,
					      a->answered ? CALL_COUNTED : CALL_FROM_PERMISSION));
	/* Before the event, which has the time at which the question expires. */
	question_arm(a);
	note_question(a);
	return true;
}

/* False: no budget lets the call run that is asked for, so it is refused. */
static bool question_affords(struct session_question *a)
{
	struct session *s = a->session;
	struct slice call = jobj_get(slice_of(a->params), "toolCall").raw;

	if (a->elicitation || !tool_call_is_beyond(s, jobj_get(call, "toolCallId").raw))
		return true;
	question_settle_as(a, ANSWER_REJECT, BY_DEFAULT, "budget");
	turn_budget_refused(s);
	return false;
}

/* Nothing but a human can answer it now. */
static void question_wait(struct session_question *a)
{
	session_log(a->session, "question asked", "kind",
		    a->elicitation ? "elicitation" : "permission", "answeredBy",
		    session_driver(a->session) ? "client" : "nobody is attached", NULL);
	tell_question(a);
	question_put(a);
}

/* A client would refuse the request for one value that does not fit. False: it cannot be shown, or no option is left. */
static bool repair_question(struct session_question *a)
{
	_cleanup_(buf_done) struct buf mended = { 0 };
	struct store_totals *t = &a->session->store->totals;
	enum harness_check r = a->elicitation ? CHECK_FITS :
						harness_ask_check(slice_of(a->params), &mended);
	bool options = r != CHECK_REFUSED;

	if (r == CHECK_MENDED) {
		free(a->params);
		a->params = xstrndup(mended.data, mended.len);
		options = !slice_is(jobj_get(slice_of(a->params), "options").raw, "[]");
		t->mended++;
	}
	t->refused += !options;
	return options;
}

static void question_ask(struct session *s, const struct harness_ask *in)
{
	struct session_question *a = question_of(s, in->params);

	a->harness_id = in->id;
	a->elicitation = in->elicitation;
	if (!repair_question(a)) { /* no client could show it */
		question_settle_as(a, ANSWER_CANCEL, BY_DEFAULT, "malformed");
		return;
	}
	if (question_announce(a) && question_affords(a) && !question_apply_rules(a, in))
		question_wait(a);
}

void question_ask_own(struct session *s, struct slice params, session_asked_fn answered, void *ctx)
{
	struct session_question *a = question_of(s, params);

	a->answered = answered;
	a->answered_ctx = ctx;
	if (question_announce(a))
		question_wait(a);
}

/* The pointer that an asker gave identifies its question; harnesses use their own numbers, which could be equal. */
void question_unask_own(struct session *s, void *ctx)
{
	list_each(a, &approval_of(s)->open, struct session_question, link)
		if (a->answered && a->answered_ctx == ctx) {
			question_settle_as(a, ANSWER_CANCEL, BY_WITHDRAWN, NULL);
			return;
		}
}

static void question_unask(struct session *s, uint64_t harness_id)
{
	list_each(a, &approval_of(s)->open, struct session_question, link)
		if (!a->answered && a->harness_id == harness_id) {
			question_settle_as(a, ANSWER_CANCEL, BY_WITHDRAWN, NULL);
			return;
		}
}

/* Answers all open questions "cancelled" towards the harness and withdraws them from clients. */
static void questions_cancel(struct session *s)
{
	while (!list_empty(&approval_of(s)->open))
		question_settle_as(list_first(&approval_of(s)->open, struct session_question, link),
				   ANSWER_CANCEL, BY_CANCELLED, NULL);
}

static void create_approval(struct session *s)
{
	list_init(&approval_of(s)->open);
}

static void drop_approval(struct session *s)
{
	questions_cancel(s);
	questions_done(s);
}

static bool has_questions(const struct session *s)
{
	return approval_of(s)->nopen;
}

static void put_questions_work(const struct session *s, struct store_work *ret)
{
	ret->questions += approval_of(s)->nopen;
	list_each(q, (struct list *)&approval_of(s)->open, struct session_question, link)
		deadline_note(&ret->next, "permissionTimeout", q->timer.due, s->id);
}

static void put_last_question(struct jw *w, const struct session *s)
{
	jw_uint(w, "questions", approval_of(s)->last);
}

/* Numbers only rise, also over a restart: ids of questions are never given twice. */
static void load_last_question(struct session *s, struct slice base)
{
	approval_of(s)->last = MAX(approval_of(s)->last, jobj_uint(base, "questions"));
}

static void inherit_last_question(struct session *s, const struct session *from)
{
	approval_of(s)->last = approval_of(from)->last;
}

const struct session_part approval_part = {
	.name = "approval",
	.size = sizeof(struct session_approvals),
	.parameters = PARAMETERS(&approvals_parameter),
	.create = create_approval,
	.drop = drop_approval,
	.inherit = inherit_last_question,
	.put_base = put_last_question,
	.load_base = load_last_question,
	.put_summary = questions_put_answered,
	.load_summary = questions_load_answered,
	.recall_event = question_recall,
	.recall_turn_end = questions_recall_end,
	.driver_ready = questions_reissue,
	.driver_gone = questions_hold,
	.driver_mute = questions_withdraw,
	.holds_harness = has_questions,
	.put_work = put_questions_work,
	.cancel_questions = questions_cancel,
	.ask = question_ask,
	.unask = question_unask,
};
