/*
 * question_driver.c - sends a session's questions to its driver, and bounds the wait for an answer.
 *
 * A question is either shown to one driver (shown_to) or waits without one. The timer has two
 * meanings. With approvals.timeoutMs it runs from the moment the question is asked, whether a
 * driver is connected or not (`timed`). Otherwise it runs only while there is no driver, and stops
 * when one gets the question. If the driver did not announce the mode of an elicitation, the
 * question is answered at once, with the default.
 */
#include "session/core/session_internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "json/jstr.h"
#include "session/parts/approval/approval_internal.h"

/* Only in a mode that the client announced. */
static bool watcher_can_elicit(const struct session_question *a, const struct watcher *w)
{
	struct jval mode = jobj_get(slice_of(a->params), "mode");

	if (jstr_is(mode, "form"))
		return w->client & CLIENT_ELICITATION;
	return jstr_is(mode, "url") && (w->client & CLIENT_ELICIT_URL);
}

static void question_show(struct session_question *a, struct watcher *w)
{
	/* The time without a driver is over; a time-out of the question's own goes on. */
	if (!a->timed)
		loop_timer_cancel(&a->timer);
	if (a->elicitation && !watcher_can_elicit(a, w)) {
		question_settle_as(a, ANSWER_REJECT, BY_DEFAULT, "unsupported");
		return;
	}
	a->shown_to = w;
	w->ops->ask(w->ctx, a);
}

static void on_question_time_up(void *ctx)
{
	struct session_question *a = ctx;

	log_warn("session", "nobody answered a question in time", "session", a->session->id,
		 "default", answer_kind_word(question_default(a)));
	question_settle_as(a, question_default(a), BY_TIMEOUT, NULL);
}

enum answer_kind question_default(const struct session_question *a)
{
	return a->elicitation ? ANSWER_CANCEL : a->fallback;
}

void question_arm(struct session_question *a)
{
	struct session *s = a->session;
	uint64_t ms = approval_terms_of(&s->setup)->timeout_ms;

	a->timed = ms != 0;
	if (a->timed)
		loop_timer_set(s->store->loop, &a->timer, ms, on_question_time_up, a);
}

/* The timer is monotonic, clients get wall time: computed at each use, since the wall clock can be set. */
uint64_t question_expires_ms(const struct session_question *a)
{
	uint64_t now = clock_mono_ms();

	return clock_real_ms() + (a->timer.due > now ? a->timer.due - now : 0);
}

static void question_hold(struct session_question *a)
{
	struct session *s = a->session;

	a->shown_to = NULL;
	/* With DETACHED_HOLD it waits for the next driver without limit. */
	if (!a->timed && s->when_detached != DETACHED_HOLD)
		loop_timer_set(s->store->loop, &a->timer,
			       s->store->terms.permission_timeout * 1000ul, on_question_time_up, a);
}

void question_put(struct session_question *a)
{
	struct watcher *driver = session_driver(a->session);

	if (driver)
		question_show(a, driver);
	else
		question_hold(a);
}

void question_withdraw(struct session_question *a)
{
	struct watcher *w = a->shown_to;

	a->shown_to = NULL;
	if (w)
		w->ops->unask(w->ctx, a);
}

/* A program answers as well as a human: only the client knows. */
static enum answered_by who_answered(struct slice result)
{
	struct slice meta = jobj_get(jobj_get(result, "_meta").raw, "acpd").raw;

	return jstr_is(jobj_get(meta, "by"), "human") ? BY_HUMAN : BY_CLIENT;
}

/* The driver has answered, so it is not sent a withdrawal: shown_to is reset first. */
void session_answer(struct session *s _unused_, struct session_question *a, struct slice result)
{
	a->shown_to = NULL;
	if (result.n && answer_fits(a, result))
		question_settle(a, result, who_answered(result), "driver");
	else
		question_settle_as(a, ANSWER_REJECT, BY_DEFAULT, "invalid_answer");
}

void questions_reissue(struct session *s, struct watcher *w)
{
	list_each(a, &approval_of(s)->open, struct session_question, link)
		if (!a->shown_to)
			question_show(a, w);
}

void questions_hold(struct session *s, struct watcher *gone)
{
	list_each(a, &approval_of(s)->open, struct session_question, link)
		if (a->shown_to == gone)
			question_hold(a);
}

void questions_withdraw(struct session *s, struct watcher *w)
{
	list_each(a, &approval_of(s)->open, struct session_question, link)
		if (a->shown_to == w)
			question_withdraw(a);
}
