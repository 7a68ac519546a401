/*
 * turn_proof.c - the checks of a turn: when they run, what ends them, and what is reported of them.
 *
 * When the harness has ended a turn well and the turn has checks, it is TURN_CHECKING until their run has ended. It stays the
 * current turn of its session meanwhile, and is `held`: the run calls turn_close. Anything else that ends the turn stops the
 * run first. A turn that failed, or whose checks did not run to their end, is "unchecked".
 *
 * The agent's last message goes to the checks. It arrives in chunks; any other update ends it, and the next chunk starts a
 * new one. Only its last LAST_MESSAGE_MAX bytes are stored, and masked before a check gets them.
 */
#include "session/core/session_internal.h"

#include "base/limits.h"
#include "json/json.h"
#include "session/core/session_states.h"
#include "session/core/redact/redact_internal.h"
#include "session/parts/check/turn_proof.h"

void turn_proof_done(struct turn_proof *p)
{
	free_each(p->checks, p->retry, p->results);
	buf_done(&p->said);
	*p = (struct turn_proof){ 0 };
}

static void turn_proof_free(struct session_turn *t)
{
	turn_proof_done(proof_of(t));
}

/* What is told of its end. */
static void turn_proof_copy(struct session_turn *to, const struct session_turn *from)
{
	struct turn_proof *p = proof_of(to);

	*p = *proof_of(from);
	/* A run and the texts have one owner; a copy has the results of its own. */
	p->run = NULL;
	p->said = (struct buf){ 0 };
	p->checks = p->retry = NULL;
	p->results = xstrdup(p->results);
}

static void turn_proof_queued(struct session_turn *t, const struct prompt_params *p)
{
	proof_of(t)->checks = p->checks.n ? xstrndup(p->checks.p, p->checks.n) : NULL;
	proof_of(t)->retry = p->retry.n ? xstrndup(p->retry.p, p->retry.n) : NULL;
}

/* --- retry ------------------------------------------------------------------------------------------------- */

struct retry_args {
	int64_t max;
};

static const struct jfield retry_fields[] = {
	JF_INT(struct retry_args, max, "max", JF_REQUIRED, 0, RETRY_MAX),
	JF_END,
};

int retry_check(struct slice raw, const char *field, struct err *e)
{
	struct retry_args a;

	if (!raw.n)
		return 0;
	return jdec_strict(raw, retry_fields, SHORT_TEXT(sizeof(e->field), "%.80s.", field),
			   "a retry has no such member", &a, e);
}

static int check_retry(struct jval v, const struct parameter_check *c, struct err *e)
{
	return retry_check(v.raw, c->field, e);
}

const struct session_parameter retry_parameter = {
	PARAMETER("retry", OBJ, "what becomes of a turn whose checks failed"),
	.order = { .checked = 180, .stored = 170 },
	.check = check_retry,
};

static unsigned proof_retries(const struct session *s, const struct session_turn *t)
{
	const char *raw = proof_of(t)->retry ? proof_of(t)->retry :
					       setup_text(&s->setup, &retry_parameter);

	return raw ? (unsigned)jobj_uint(slice_of(raw), "max") : 0;
}

/* The next attempt at a prompt is told by the one before which it is. */
static void turn_proof_begin(const struct session *s, struct session_turn *t)
{
	struct turn_proof *p = proof_of(t);
	struct check_list *list;
	unsigned again;

	/* A copy: settings that change while the turn runs do not change what it has to prove. */
	if (!p->checks)
		p->checks = xstrdup(setup_text(&s->setup, &checks_parameter));
	list = turn_checks(s, t);
	p->wanted = check_list_count(list) > 0;
	check_list_free(list);
	again = proof_retries(s, t);
	/* A later attempt has its number already, from turn_retry_add. */
	if (p->wanted && !p->attempt && again) {
		p->attempt = 1;
		p->attempts = 1 + again;
	}
	if (p->attempt == 1)
		p->first = t->no;
}

/* --- what the agent said last ------------------------------------------------------------------------------ */

/* One byte more than is stored, so that the caller sees that the text was cut. */
static struct slice newest_said(struct slice text)
{
	size_t n = MIN(text.n, (size_t)LAST_MESSAGE_MAX + 1);

	return (struct slice){ text.p + text.n - n, n };
}

/* A message is what comes in pieces one after the other. */
static void turn_proof_put_span(const struct session_turn *t, struct span_note *n,
				enum span_place at)
{
	const struct turn_proof *p = proof_of(t);

	if (at == SPAN_CAUSE && p->attempt)
		span_put_int(n, "acpd.turn.attempt", p->attempt);
	if (at == SPAN_OUTCOME && p->wanted)
		span_put(n, "acpd.checks.verdict", check_verdict_name(p->verdict));
}

static void turn_proof_note(struct session_turn *t, enum harness_update kind, struct slice update)
{
	_cleanup_(freep) char *text = NULL;
	struct turn_proof *p = proof_of(t);
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
	if (p->said_all) {
		buf_reset(&p->said);
		p->said_all = p->said_cut = false;
	}
	buf_add_slice(&p->said, newest_said(slice_of(text)));
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
	if (!t || !proof_of(t)->run)
		return; /* the turn was abandoned, and has been answered */
	proof_of(t)->run = NULL;
	t->held = false;
	/* Not if the turn is being cancelled: it is unchecked then, whatever the run found. */
	if (t->state == TURN_CHECKING) {
		proof_of(t)->verdict = o->verdict;
		proof_of(t)->results = xstrndup(o->results.p, o->results.n);
	}
	turn_log(t, LOG_INFO, "turn checked", "verdict", check_verdict_name(proof_of(t)->verdict),
		 NULL);
	turn_close(s, t);
}

static int turn_proof_run(struct session *s, struct session_turn *t)
{
	struct check_turn about = { .turn = t->no };

	if (!proof_of(t)->wanted || t->end.failed || strcmp(t->end.stop_reason, "end_turn") != 0 ||
	    s->state != SESSION_OPEN || s->store->stopping)
		return 0;
	turn_set_state(s, t, TURN_CHECKING);
	/* Masked whole, before a check can read it; the start may be half of a secret if it was cut. */
	session_mask_rest(s, &proof_of(t)->said, proof_of(t)->said_cut);
	about.first = proof_of(t)->attempt > 1 ? proof_of(t)->first : 0;
	about.message = buf_slice(&proof_of(t)->said);
	turn_log(t, LOG_INFO, "turn being checked", NULL);
	proof_of(t)->run = session_checks_run(s, turn_checks(s, t), &about, on_checked, s);
	t->held = true;
	/* The run has a copy. */
	buf_done(&proof_of(t)->said);
	return 1;
}

static void turn_proof_stop(struct session *s, struct session_turn *t,
			    const struct harness_turn_end *end)
{
	if (t->state == TURN_CHECKING) {
		turn_set_state(s, t, TURN_CANCELLING);
		turn_keep_end(t, end);
		turn_log(t, LOG_INFO, "turn being cancelled", NULL);
	}
	check_run_cancel(proof_of(t)->run);
}

static void turn_proof_abandon(struct session_turn *t)
{
	if (proof_of(t)->run)
		check_run_cancel(proof_of(t)->run);
	/* The run still ends, and on_checked finds no turn that waits for it. */
	proof_of(t)->run = NULL;
	t->held = false;
}

/* --- what is said of it ------------------------------------------------------------------------------------ */

static void put_brief(struct slice results, struct buf *ret)
{
	static const char *const kept[] = { "id", "kind", "ok", "exitCode", "durationMs" };
	struct jw w = JW(ret);

	jw_arr(&w, NULL);
	jarr_each(v, results) {
		jw_obj(&w, NULL);
		for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
			jw_raw(&w, kept[i], jobj_get(v.raw, kept[i]).raw);
		jw_end_obj(&w);
	}
	jw_end_arr(&w);
}

static void put_checks(struct jw *w, enum check_verdict verdict, struct slice results,
		       bool brief_only)
{
	_cleanup_(buf_done) struct buf brief = { 0 };

	if (brief_only) {
		put_brief(results, &brief);
		results = buf_slice(&brief);
	}
	check_outcome_put(w, "checks", verdict, results);
}

static void put_attempt(const struct session_turn *t, struct jw *w)
{
	const struct turn_proof *p = proof_of(t);

	if (!p->attempt)
		return;
	jw_obj(w, "attempt");
	jw_uint(w, "n", p->attempt);
	jw_uint(w, "of", p->attempts);
	jw_uint(w, "first", p->first);
	if (t->goes_on)
		jw_bool(w, "retried", true);
	jw_end_obj(w);
}

static void turn_proof_put_begun(const struct session_turn *t, struct jw *w)
{
	if (proof_of(t)->wanted)
		jw_bool(w, "checks", true);
	put_attempt(t, w);
}

static void turn_proof_put_end(const struct session_turn *t, struct jw *w, enum turn_end_place at)
{
	const struct turn_proof *p = proof_of(t);
	bool failed = t->end.failed; /* after its checks, then */

	if (at == END_FAILURE && !p->wanted)
		return;
	if (p->wanted && at != END_PROMPT)
		put_checks(w, failed ? CHECK_UNCHECKED : p->verdict,
			   failed ? SLICE_NONE : slice_of(p->results),
			   at != END_ANSWER && at != END_EVENT);
	put_attempt(t, w);
	if (at == END_ANSWER || at == END_KEPT || at == END_EVENT)
		turn_tries_put(t, w);
}

static enum check_verdict verdict_of(struct jval v)
{
	for (int i = CHECK_UNCHECKED; i <= CHECK_FAILED; i++)
		if (jstr_is(v, check_verdict_name((enum check_verdict)i)))
			return (enum check_verdict)i;
	return CHECK_UNCHECKED;
}

static void proof_load(struct turn_proof *ret, struct slice object)
{
	struct slice attempt = jobj_get(object, "attempt").raw;
	struct jval checks = jobj_get(object, "checks");
	struct jval results = jobj_get(checks.raw, "results");

	/* true in the note of a turn that has begun, an object at its end: both are loaded into one turn. */
	ret->wanted |= checks.type == J_OBJECT || checks.type == J_TRUE;
	ret->verdict = verdict_of(jobj_get(checks.raw, "verdict"));
	jraw_set(&ret->results, results, J_ARRAY);
	if (!attempt.n)
		return;
	ret->attempt = (unsigned)jobj_uint(attempt, "n");
	ret->attempts = (unsigned)jobj_uint(attempt, "of");
	ret->first = jobj_uint(attempt, "first");
	ret->retried = jobj_get(attempt, "retried").type == J_TRUE;
}

/* A result with a key keeps of its checks only whether they hold, and of a failed one only what it was to prove. */
static bool turn_proof_put_kept(struct jw *w, struct slice acpd, bool failed)
{
	struct turn_proof p = { 0 };

	if (failed && jobj_get(acpd, "checks").type != J_OBJECT)
		return false;
	proof_load(&p, acpd);
	if (failed)
		jw_obj(w, NULL);
	else
		jw_members(w, acpd, "checks");
	if (p.wanted)
		put_checks(w, p.verdict, slice_of(p.results), true);
	if (failed) {
		jw_raw(w, "attempt", jobj_get(acpd, "attempt").raw);
		jw_end_obj(w);
	}
	turn_proof_done(&p);
	return true;
}

/* One that was to be another attempt and never began has the note of the attempt before: that is known already. */
static void turn_proof_load_turn(struct session_turn *t, struct slice record, bool ended)
{
	if (!ended && proof_of(t)->attempt)
		return;
	proof_load(proof_of(t), record);
	t->goes_on = proof_of(t)->retried;
}

static void proof_follow(const struct turn_proof *before, struct session_turn *next)
{
	struct turn_proof *p = proof_of(next);

	p->wanted = true;
	p->attempt = before->attempt + 1;
	p->attempts = before->attempts;
	p->first = before->first;
}

static void turn_proof_follow(const struct session_turn *t, struct session_turn *next)
{
	proof_follow(proof_of(t), next);
}

/* Other turns may end between two attempts: prompts that were cancelled while they waited. */
static bool turn_proof_recall_ended(struct session *s, struct slice acpd)
{
	struct turn_proof p = { 0 }, *before = &checks_of(s)->recalled;
	bool goes_on;

	proof_load(&p, acpd);
	goes_on = p.retried;
	if (goes_on)
		*before = (struct turn_proof){ .attempt = p.attempt,
					       .attempts = p.attempts,
					       .first = p.first,
					       .retried = true };
	else if (p.first && p.first == before->first)
		*before = (struct turn_proof){ 0 };
	turn_proof_done(&p);
	return goes_on;
}

static bool turn_proof_recall_next(struct session *s, struct session_turn *next)
{
	if (!checks_of(s)->recalled.retried)
		return false;
	proof_follow(&checks_of(s)->recalled, next);
	return true;
}

const struct session_part check_part = {
	.name = "check",
	.size = sizeof(struct session_checks),
	.parameters = PARAMETERS(&checks_parameter, &retry_parameter),
	.drop = session_checks_drop,
	.stop = session_checks_abort,
	.has_job = session_runs_checks,
	.cancelled = session_checks_abort, /* those by hand */
	.cancel_work = session_checks_cancel,
	.turn_size = sizeof(struct turn_proof),
	.turn_queued = turn_proof_queued,
	.turn_numbered = turn_proof_begin,
	.put_begun = turn_proof_put_begun,
	.put_end = turn_proof_put_end,
	.put_span = turn_proof_put_span,
	.output = turn_proof_note,
	.turn_hold = turn_proof_run,
	.turn_stop = turn_proof_stop,
	.turn_abandon = turn_proof_abandon,
	.wants_next = turn_retry_is_due,
	.turn_ended = turn_retry_add,
	.turn_failed_late = turn_retry_fail,
	.turn_copy = turn_proof_copy,
	.turn_load = turn_proof_load_turn,
	.turn_follow = turn_proof_follow,
	.turn_free = turn_proof_free,
	.recall_ended = turn_proof_recall_ended,
	.recall_next = turn_proof_recall_next,
	.put_kept = turn_proof_put_kept,
};
