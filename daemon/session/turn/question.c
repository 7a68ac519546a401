/* question.c - questions of the harness: shown to the driver, held while there is none, answered exactly once. */
#include "session/session_internal.h"

#include "base/limits.h"
#include "base/log.h"
#include "json/jenc.h"
#include "json/jstr.h"
#include "session/turn/absolute_paths.h"

#define CANCELLED_OUTCOME SLICE("{\"outcome\":{\"outcome\":\"cancelled\"}}")
#define CANCELLED_ELICITATION SLICE("{\"action\":\"cancel\"}")

bool question_is_elicitation(const struct session_question *a)
{
	return a->elicitation;
}

struct slice question_params(const struct session_question *a)
{
	return slice_of(a->params);
}

static void question_free(struct session_question *a)
{
	loop_timer_cancel(&a->timer);
	list_del(&a->link);
	a->session->turn.nquestions--;
	activity_note(a->session);
	free(a->params);
	free(a);
}

static void put_question(struct jw *w, const struct session_question *a)
{
	jw_str(w, "kind", "ask_approval");
	jw_uint(w, "ask", a->no);
	jw_bool(w, "elicitation", a->elicitation);
}

static void note_question(struct session_question *a)
{
	struct slice call = jobj_get(slice_of(a->params), "toolCall").raw;
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	put_question(&w, a);
	jw_raw(&w, "toolCallId", jobj_get(call, "toolCallId").raw);
	jw_raw(&w, "title", jobj_get(call, "title").raw);
	jw_raw(&w, "message", jobj_get(slice_of(a->params), "message").raw);
	jw_raw(&w, "options", jobj_get(slice_of(a->params), "options").raw);
	event_note(a->session, EVENT_ASK, buf_slice(&b));
}

static void note_answer(struct session_question *a, struct slice result)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	put_question(&w, a);
	jw_raw(&w, "answer", result);
	event_note(a->session, EVENT_ANSWER, buf_slice(&b));
}

/* What the answer comes to: the kind of the chosen option, else the answer's own word. */
static void log_answer(const struct session_question *a, struct slice result)
{
	_cleanup_(freep) char *word = NULL;
	struct slice outcome = jobj_get(result, "outcome").raw;
	struct jval v, chosen = jobj_get(outcome, "optionId");
	struct jval said = a->elicitation ? jobj_get(result, "action") :
					    jobj_get(outcome, "outcome");
	struct jiter it;

	if (chosen.raw.n && jiter_init(&it, jobj_get(slice_of(a->params), "options")))
		while (jiter_next(&it, NULL, &v))
			if (v.type == J_OBJECT &&
			    slice_eq(jobj_get(v.raw, "optionId").raw, chosen.raw))
				said = jobj_get(v.raw, "kind");
	jstr_decode(said, 32, &word);
	session_log(a->session, "question answered", "outcome", word, NULL);
}

/* a is gone after. */
static void question_close(struct session_question *a, struct slice result)
{
	struct session *s = a->session;
	session_asked_fn answered = a->answered;
	void *ctx = a->answered_ctx;

	log_answer(a, result);
	if (s->turn.current)
		note_answer(a, result);
	if (!answered && s->harness.adapter)
		s->def->ops->answer(s->harness.adapter, a->harness_id, result);
	question_free(a);
	if (answered)
		answered(ctx, result);
}

static void question_withdraw(struct session_question *a)
{
	struct watcher *w = a->shown_to;

	a->shown_to = NULL;
	if (w)
		w->ops->unask(w->ctx, a);
}

/* The option of that kind; empty if there is none. */
static struct slice option_of_kind(const struct session_question *a, const char *kind)
{
	struct jval options = jobj_get(slice_of(a->params), "options"), v;
	struct jiter it;

	if (!jiter_init(&it, options))
		return SLICE_NONE;
	while (jiter_next(&it, NULL, &v))
		if (v.type == J_OBJECT && jstr_is(jobj_get(v.raw, "kind"), kind))
			return jobj_get(v.raw, "optionId").raw;
	return SLICE_NONE;
}

static bool option_offered(const struct session_question *a, struct slice id)
{
	struct jval options = jobj_get(slice_of(a->params), "options"), v;
	struct jiter it;

	if (!jiter_init(&it, options))
		return false;
	while (jiter_next(&it, NULL, &v))
		if (v.type == J_OBJECT && slice_eq(jobj_get(v.raw, "optionId").raw, id))
			return true;
	return false;
}

/* No valid answer is a no: the reject option if there is one, else "cancelled". */
static void question_reject(struct session_question *a)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct slice id = option_of_kind(a, "reject_once");
	struct jw w = JW(&b);

	if (a->elicitation) {
		question_close(a, CANCELLED_ELICITATION);
		return;
	}
	if (!id.n)
		id = option_of_kind(a, "reject_always");
	if (!id.n) {
		question_close(a, CANCELLED_OUTCOME);
		return;
	}
	jw_obj(&w, NULL);
	jw_obj(&w, "outcome");
	jw_str(&w, "outcome", "selected");
	jw_raw(&w, "optionId", id);
	jw_end_obj(&w);
	jw_end_obj(&w);
	question_close(a, buf_slice(&b));
}

static bool answer_ok(const struct session_question *a, struct slice result)
{
	struct slice outcome = jobj_get(result, "outcome").raw;
	struct jval kind = jobj_get(outcome, "outcome"), action;

	if (a->elicitation) {
		action = jobj_get(result, "action");
		return jstr_is(action, "accept") || jstr_is(action, "decline") ||
		       jstr_is(action, "cancel");
	}
	if (jstr_is(kind, "cancelled"))
		return true;
	return jstr_is(kind, "selected") && option_offered(a, jobj_get(outcome, "optionId").raw);
}

void session_answer(struct session *s _unused_, struct session_question *a, struct slice result)
{
	a->shown_to = NULL;
	if (result.n && answer_ok(a, result))
		question_close(a, result);
	else
		question_reject(a);
}

static void on_held_too_long(void *ctx)
{
	struct session_question *a = ctx;

	log_warn("session", "nobody answered a question in time: rejected", "session",
		 a->session->id);
	question_reject(a);
}

static void question_hold(struct session_question *a)
{
	struct session *s = a->session;

	a->shown_to = NULL;
	if (s->when_detached != DETACHED_HOLD)
		loop_timer_set(s->store->loop, &a->timer, s->store->permission_timeout * 1000ul,
			       on_held_too_long, a);
}

/* Only in a mode that the client announced. */
static bool may_elicit(const struct session_question *a, const struct watcher *w)
{
	struct jval mode = jobj_get(slice_of(a->params), "mode");

	if (jstr_is(mode, "form"))
		return w->client & CLIENT_ELICITATION;
	return jstr_is(mode, "url") && (w->client & CLIENT_ELICIT_URL);
}

static void question_show(struct session_question *a, struct watcher *w)
{
	loop_timer_cancel(&a->timer);
	if (a->elicitation && !may_elicit(a, w)) {
		question_reject(a);
		return;
	}
	a->shown_to = w;
	w->ops->ask(w->ctx, a);
}

/* The question is about a call that clients know by another id. */
static void name_call(struct session_question *a, struct slice id)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct slice params = slice_of(a->params);
	struct jw w = JW(&b);

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
static char *client_params(struct session *s, struct slice params)
{
	_cleanup_(buf_done) struct buf b = { 0 }, call = { 0 }, hidden = { 0 };
	struct jw w = JW(&b);
	struct slice key, known;
	struct jiter it;
	struct jval v = { J_OBJECT, params };

	jw_obj(&w, NULL);
	jiter_init(&it, v);
	while (jiter_next(&it, &key, &v)) {
		if (jkey_is(key, "sessionId"))
			continue;
		if (jkey_is(key, "toolCall") && absolute_paths_put(v.raw, s->cwd, &call))
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

static struct session_question *question_new(struct session *s, struct slice params)
{
	struct session_question *a = new0(struct session_question);

	a->session = s;
	a->no = ++s->turn.last_question;
	a->params = client_params(s, params);
	list_add_tail(&s->turn.questions, &a->link);
	s->turn.nquestions++;
	activity_note(s);
	return a;
}

static void question_begin(struct session_question *a)
{
	struct session *s = a->session;
	bool running = s->turn.current && s->turn.current->state == TURN_RUNNING;
	struct watcher *driver = session_driver(s);

	if (!running || s->turn.nquestions > SESSION_ASKS_MAX) {
		question_close(a, a->elicitation ? CANCELLED_ELICITATION : CANCELLED_OUTCOME);
		return;
	}
	turn_output(s->turn.current);
	if (!a->elicitation)
		name_call(a, tool_call_announce(s, jobj_get(slice_of(a->params), "toolCall").raw));
	note_question(a);
	session_log(s, "question asked", "kind", a->elicitation ? "elicitation" : "permission",
		    "answeredBy", driver ? "client" : "nobody is attached", NULL);
	if (driver)
		question_show(a, driver);
	else
		question_hold(a);
}

/* A client would refuse the request for one value that does not fit. */
static bool check_question(struct session_question *a)
{
	_cleanup_(buf_done) struct buf mended = { 0 };
	struct store_totals *t = &a->session->store->totals;
	enum harness_check r = a->elicitation ? CHECK_FITS :
						harness_ask_check(slice_of(a->params), &mended);
	bool options = r == CHECK_REFUSED ? false : true;

	if (r == CHECK_MENDED) {
		free(a->params);
		a->params = xstrndup(mended.data, mended.len);
		options = !slice_is(jobj_get(slice_of(a->params), "options").raw, "[]");
		t->mended++;
	}
	t->refused += !options;
	return options;
}

void question_ask(struct session *s, const struct harness_ask *in)
{
	struct session_question *a = question_new(s, in->params);

	a->harness_id = in->id;
	a->elicitation = in->elicitation;
	if (check_question(a))
		question_begin(a);
	else
		question_close(a, CANCELLED_OUTCOME); /* no client could show it */
}

void question_ask_own(struct session *s, struct slice params, session_asked_fn answered, void *ctx)
{
	struct session_question *a = question_new(s, params);

	a->answered = answered;
	a->answered_ctx = ctx;
	question_begin(a);
}

void question_unask_own(struct session *s, void *ctx)
{
	list_each(a, &s->turn.questions, struct session_question, link) {
		if (!a->answered || a->answered_ctx != ctx)
			continue;
		question_withdraw(a);
		question_free(a);
		return;
	}
}

void question_unask(struct session *s, uint64_t harness_id)
{
	list_each(a, &s->turn.questions, struct session_question, link) {
		if (a->answered || a->harness_id != harness_id)
			continue;
		question_withdraw(a);
		question_free(a);
		return;
	}
}

void questions_cancel(struct session *s)
{
	while (!list_empty(&s->turn.questions)) {
		struct session_question *a =
			list_first(&s->turn.questions, struct session_question, link);

		question_withdraw(a);
		question_close(a, a->elicitation ? CANCELLED_ELICITATION : CANCELLED_OUTCOME);
	}
}

void questions_reissue(struct session *s, struct watcher *w)
{
	list_each(a, &s->turn.questions, struct session_question, link)
		if (!a->shown_to)
			question_show(a, w);
}

void questions_hold(struct session *s, struct watcher *gone)
{
	list_each(a, &s->turn.questions, struct session_question, link)
		if (a->shown_to == gone)
			question_hold(a);
}
