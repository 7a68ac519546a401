/* turn_proof.c - the checks of a turn: when they run, what ends them, and what is said of them. */
#include "session/core/session_internal.h"

#include "base/limits.h"
#include "json/jdec.h"
#include "json/jstr.h"
#include "session/core/session_states.h"
#include "session/core/redact/redact_internal.h"

void turn_proof_done(struct turn_proof *p)
{
	free(p->results);
	buf_done(&p->said);
	*p = (struct turn_proof){ 0 };
}

struct turn_proof turn_proof_copy(const struct turn_proof *p)
{
	struct turn_proof ret = *p;

	ret.run = NULL;
	ret.said = (struct buf){ 0 };
	ret.results = xstrdup(p->results);
	return ret;
}

static unsigned retries(const struct session *s, const struct session_turn *t)
{
	const char *raw = t->retry ? t->retry : s->setup.retry;

	return raw ? (unsigned)jobj_uint(slice_of(raw), "max") : 0;
}

/* The next attempt at a prompt is told by the one before which it is. */
void turn_proof_begin(const struct session *s, struct session_turn *t)
{
	struct turn_proof *p = &t->proof;
	struct check_list *list;
	unsigned again;

	if (!t->checks)
		t->checks = xstrdup(s->setup.checks);
	list = turn_checks(s, t);
	p->wanted = check_list_count(list) > 0;
	check_list_free(list);
	again = retries(s, t);
	if (p->wanted && !p->attempt && again) {
		p->attempt = 1;
		p->attempts = 1 + again;
	}
	if (p->attempt == 1)
		p->first = t->no;
}

/* --- what the agent said last ------------------------------------------------------------------------------ */

static void forget_said(struct turn_proof *p)
{
	buf_reset(&p->said);
	p->said_all = p->said_cut = false;
}

/* So much of it as one character more than is kept. */
static struct slice newest(struct slice text)
{
	size_t n = MIN(text.n, (size_t)LAST_MESSAGE_MAX + 1);

	return (struct slice){ text.p + text.n - n, n };
}

/* A message is what comes in pieces one after the other. */
void turn_proof_note(struct session_turn *t, enum harness_update kind, struct slice update)
{
	_cleanup_(freep) char *text = NULL;
	struct turn_proof *p = &t->proof;
	struct slice content;

	if (!p->wanted)
		return;
	if (kind != UPDATE_AGENT_CHUNK) {
		p->said_all = true;
		return;
	}
	content = jobj_get(update, "content").raw;
	if (!jstr_is(jobj_get(content, "type"), "text") ||
	    jstr_decode(jobj_get(content, "text"), BUF_MAX_DEFAULT, &text) < 0)
		return;
	if (p->said_all)
		forget_said(p);
	buf_add_slice(&p->said, newest(slice_of(text)));
	if (buf_len(&p->said) > LAST_MESSAGE_MAX) {
		buf_consume(&p->said, buf_len(&p->said) - LAST_MESSAGE_MAX);
		p->said_cut = true;
	}
}

/* --- running ------------------------------------------------------------------------------------------------- */

static void on_checked(void *ctx, const struct check_outcome *o)
{
	struct session *s = ctx;
	struct session_turn *t = s->turn.current;

	session_advance(s);
	if (!t || !t->proof.run)
		return; /* who waited for it has been told something else */
	t->proof.run = NULL;
	if (t->state == TURN_CHECKING) {
		t->proof.verdict = o->verdict;
		t->proof.results = xstrndup(o->results.p, o->results.n);
	}
	turn_log(t, LOG_INFO, "turn checked", "verdict", check_verdict_name(t->proof.verdict),
		 NULL);
	turn_close(s, t);
}

bool turn_proof_run(struct session *s, struct session_turn *t)
{
	struct check_turn about = { .turn = t->no };

	if (!t->proof.wanted || t->end.failed || strcmp(t->end.stop_reason, "end_turn") != 0 ||
	    s->state != SESSION_OPEN || s->store->stopping)
		return false;
	turn_set_state(s, t, TURN_CHECKING);
	session_mask_rest(s, &t->proof.said, t->proof.said_cut);
	about.first = t->proof.attempt > 1 ? t->proof.first : 0;
	about.message = buf_slice(&t->proof.said);
	turn_log(t, LOG_INFO, "turn being checked", NULL);
	t->proof.run = session_checks_run(s, turn_checks(s, t), &about, on_checked, s);
	buf_done(&t->proof.said);
	return true;
}

void turn_proof_stop(struct session *s, struct session_turn *t, const struct harness_turn_end *end)
{
	if (t->state == TURN_CHECKING) {
		turn_set_state(s, t, TURN_CANCELLING);
		turn_keep_end(t, end);
		turn_log(t, LOG_INFO, "turn being cancelled", NULL);
	}
	check_run_cancel(t->proof.run);
}

void turn_proof_abandon(struct session_turn *t)
{
	if (t->proof.run)
		check_run_cancel(t->proof.run);
	t->proof.run = NULL;
}

/* --- what is said of it ------------------------------------------------------------------------------------ */

static void put_brief(struct slice results, struct buf *ret)
{
	static const char *const kept[] = { "id", "kind", "ok", "exitCode", "durationMs" };
	struct jw w = JW(ret);
	struct jiter it;
	struct jval v;

	jw_arr(&w, NULL);
	if (results.n && jiter_init(&it, (struct jval){ J_ARRAY, results }))
		while (jiter_next(&it, NULL, &v)) {
			jw_obj(&w, NULL);
			for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
				jw_raw(&w, kept[i], jobj_get(v.raw, kept[i]).raw);
			jw_end_obj(&w);
		}
	jw_end_arr(&w);
}

static void put_checks(struct jw *w, enum check_verdict verdict, struct slice results,
		       enum proof_extent extent)
{
	_cleanup_(buf_done) struct buf brief = { 0 };

	if (extent == PROOF_BRIEF) {
		put_brief(results, &brief);
		results = buf_slice(&brief);
	}
	check_outcome_put(w, "checks", verdict, results);
}

void turn_attempt_put(const struct turn_proof *p, struct jw *w)
{
	if (!p->attempt)
		return;
	jw_obj(w, "attempt");
	jw_uint(w, "n", p->attempt);
	jw_uint(w, "of", p->attempts);
	jw_uint(w, "first", p->first);
	if (p->retried)
		jw_bool(w, "retried", true);
	jw_end_obj(w);
}

void turn_proof_put(const struct session_turn *t, enum proof_extent extent, struct jw *w)
{
	const struct turn_proof *p = &t->proof;
	bool failed = t->end.failed; /* after its checks, then */

	if (p->wanted)
		put_checks(w, failed ? CHECK_UNCHECKED : p->verdict,
			   failed ? SLICE_NONE : slice_of(p->results), extent);
	turn_attempt_put(p, w);
}

static enum check_verdict verdict_of(struct jval v)
{
	for (int i = CHECK_UNCHECKED; i <= CHECK_FAILED; i++)
		if (jstr_is(v, check_verdict_name((enum check_verdict)i)))
			return (enum check_verdict)i;
	return CHECK_UNCHECKED;
}

void turn_proof_load(struct turn_proof *ret, struct slice object)
{
	struct slice attempt = jobj_get(object, "attempt").raw;
	struct jval checks = jobj_get(object, "checks");
	struct jval results = jobj_get(checks.raw, "results");

	ret->wanted |= checks.type == J_OBJECT || checks.type == J_TRUE;
	ret->verdict = verdict_of(jobj_get(checks.raw, "verdict"));
	if (results.type == J_ARRAY) {
		free(ret->results);
		ret->results = xstrndup(results.raw.p, results.raw.n);
	}
	if (!attempt.n)
		return;
	ret->attempt = (unsigned)jobj_uint(attempt, "n");
	ret->attempts = (unsigned)jobj_uint(attempt, "of");
	ret->first = jobj_uint(attempt, "first");
	ret->retried = jobj_get(attempt, "retried").type == J_TRUE;
}

void turn_proof_put_checks(struct slice object, enum proof_extent extent, struct jw *w)
{
	struct turn_proof p = { 0 };

	turn_proof_load(&p, object);
	if (p.wanted)
		put_checks(w, p.verdict, slice_of(p.results), extent);
	turn_proof_done(&p);
}
