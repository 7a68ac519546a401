/*
 * check_run.c - one run of a list: check after check, each with its event; and runs that are started by hand.
 *
 * step_checks starts the check at `at`, or ends the run. A check of changes asks acpd-unpack (check_changes.c). A command or
 * tests run in a process (check_process.c); if the session has a baseline, the workspace is examined before the first of
 * them and after each: the state after one is the state before the next. Every path ends in check_settled or check_ended,
 * which defer step_checks. So a run of any length uses one level of stack, and nothing calls back from inside session_checks_run.
 *
 * A cancelled run still waits for its process or for acpd-unpack, which write into the run.
 */
#include "session/parts/check/check_internal.h"

#include "session/core/session_internal.h"
#include "session/parts/workspace/baseline.h"
#include "session/parts/check/turn_proof.h"
#include "session/parts/trace/session_trace.h"

static const char *const verdicts[] = { "unchecked", "verified", "failed" };

const char *check_verdict_name(enum check_verdict v)
{
	return verdicts[v];
}

void check_outcome_put(struct jw *w, const char *key, enum check_verdict verdict,
		       struct slice results)
{
	jw_object(w, key, JW_STR("verdict", verdicts[verdict]),
		  JW_RAW("results", results.n ? results : SLICE("[]")));
}

bool session_runs_checks(const struct session *s)
{
	return checks_of(s)->run != NULL;
}

struct check_list *turn_checks(const struct session *s, const struct session_turn *t)
{
	const char *raw = t && proof_of(t)->checks ? proof_of(t)->checks :
						     setup_text(&s->setup, &checks_parameter);
	struct check_list *l = NULL;

	/* It was parsed when the client gave it, so it does not fail now. */
	if (raw)
		check_list_parse(slice_of(raw), "checks", &l, NULL);
	return check_list_count(l) ? l : check_list_free(l);
}

/* --- one check --------------------------------------------------------------------------------------------- */

static void step_checks(void *ctx);

static void run_free(struct check_run *r)
{
	loop_task_cancel(&r->task);
	check_process_free(r->process);
	check_evidence_done(&r->evidence);
	check_state_done(&r->before);
	check_list_free(r->list);
	buf_done(&r->results);
	free_each(r->message, r);
}

static void finish_checks(struct check_run *r)
{
	struct session *s = r->session;
	struct check_outcome o = { .failed = r->failed };

	buf_putc(&r->results, ']');
	o.results = buf_slice(&r->results);
	/* A run without checks, or without its rest, has verified nothing. */
	if (!r->cancelled && r->list->n)
		o.verdict = r->failed ? CHECK_FAILED : CHECK_VERIFIED;
	/* Before done, which may start the next run. */
	checks_of(s)->run = NULL;
	if (r->done)
		r->done(r->ctx, &o);
	run_free(r);
}

/* What it printed is not told: the event and the usage record have it. */
static void tell_elsewhere(const struct check_run *r, const struct check_spec *c)
{
	const struct check_evidence *v = &r->evidence;
	JW_BUF(w, b);

	if (r->about.turn)
		jw_uint(&w, "turn", r->about.turn);
	jw_obj(&w, "check");
	jw_str(&w, "id", c->id);
	jw_str(&w, "kind", check_kind_name(c->kind));
	if (v->ended && v->by_signal)
		jw_str(&w, "signal", v->signal);
	else if (v->ended)
		jw_int(&w, "exitCode", v->exit_code);
	if (*v->error.reason)
		jw_str(&w, "reason", v->error.reason);
	jw_end_obj(&w);
	event_webhook(r->session, WEBHOOK_CHECK_FAILED, NULL, buf_slice(&b));
}

static void note_check_result(struct check_run *r, struct slice result)
{
	JW_BUF(w, b);

	jw_str(&w, "kind", "check");
	jw_raw(&w, "check", result);
	event_note(r->session, EVENT_CHECK, buf_slice(&b));
	session_log(r->session, r->evidence.ok ? "check passed" : "check failed", "check",
		    r->list->v[r->at].id, *r->evidence.error.reason ? "reason" : NULL,
		    r->evidence.error.reason, NULL);
}

/* The span of a turn is a parent only while the turn runs. */
static void begin_check_span(struct check_run *r)
{
	const struct session_turn *t = r->session->turn.current;

	span_begin_for(r->session, &r->span,
		       r->about.turn && t && t->no == r->about.turn ? t : NULL);
}

static void end_check_span(struct check_run *r, const struct check_spec *c)
{
	const struct check_evidence *v = &r->evidence;
	struct span_note n;

	if (!span_tell(r->session, &r->span, &n, SPAN_INTERNAL, "check", c->id))
		return;
	span_put(&n, "acpd.check.id", c->id);
	span_put(&n, "acpd.check.kind", check_kind_name(c->kind));
	span_put_bool(&n, "acpd.check.ok", v->ok);
	/* A process that a signal ended has no exit code. */
	if (v->ended && !v->by_signal)
		span_put_int(&n, "process.exit.code", v->exit_code);
	span_told(&n,
		  v->ok		   ? NULL :
		  *v->error.reason ? v->error.reason :
				     "check_failed",
		  v->error.msg);
}

/* The current one has ended: its result is told, and the next one begins. */
static void check_ended(struct check_run *r)
{
	const struct check_spec *c = &r->list->v[r->at];
	JW_BUF(w, b);

	jw_obj(&w, NULL);
	jw_str(&w, "id", c->id);
	jw_str(&w, "kind", check_kind_name(c->kind));
	check_evidence_put(r->session, c, &r->evidence, &w);
	jw_end_obj(&w);
	end_check_span(r, c);
	note_check_result(r, buf_slice(&b));
	if (!r->evidence.ok)
		tell_elsewhere(r, c);
	if (buf_len(&r->results) > 1)
		buf_putc(&r->results, ',');
	buf_add_slice(&r->results, buf_slice(&b));
	r->failed += !r->evidence.ok;
	check_evidence_done(&r->evidence);
	r->at++;
	loop_defer(r->session->store->loop, &r->task, step_checks, r);
}

/* One that was ended because nobody wants the rest says nothing. */
static void check_settled(struct check_run *r)
{
	if (r->cancelled)
		loop_defer(r->session->store->loop, &r->task, step_checks, r);
	else
		check_ended(r);
}

static void on_process(void *ctx)
{
	struct check_run *r = ctx;

	r->process = check_process_free(r->process);
	if (!r->cancelled && check_changes_known(r))
		check_changes_look(r, check_settled);
	else
		check_settled(r);
}

static void begin_process(struct check_run *r)
{
	const struct check_spec *c = &r->list->v[r->at];

	if (r->cancelled) {
		check_settled(r);
		return;
	}
	r->process = check_process_start(r->session, c, slice_of(r->message), &r->evidence,
					 on_process, r, &r->evidence.error);
	if (!r->process)
		check_ended(r);
}

/* Before the first that may change something the workspace is looked at, and after each. */
static void begin_check(struct check_run *r)
{
	const struct check_spec *c = &r->list->v[r->at];

	begin_check_span(r);
	if (!c->job)
		check_changes_judge(r, c, check_settled);
	else if (check_changes_known(r) && !r->before.known)
		check_changes_look(r, begin_process);
	else
		begin_process(r);
}

static void step_checks(void *ctx)
{
	struct check_run *r = ctx;
	struct session *s = r->session;

	if (!r->cancelled && r->at < r->list->n) {
		begin_check(r);
		return;
	}
	finish_checks(r);
	activity_note(s);
	session_advance(s);
}

/* --- the run ------------------------------------------------------------------------------------------------- */

struct check_run *session_checks_run(struct session *s, struct check_list *list,
				     const struct check_turn *about, check_done_fn done, void *ctx)
{
	struct check_run *r = new0(struct check_run);

	r->session = s;
	r->list = list;
	r->about = *about;
	/* The caller's message is borrowed: the run has a copy. */
	r->about.message = SLICE_NONE;
	if (about->message.n)
		r->message = xstrndup(about->message.p, about->message.n);
	r->done = done;
	r->ctx = ctx;
	buf_putc(&r->results, '[');
	checks_of(s)->run = r;
	activity_note(s);
	loop_defer(s->store->loop, &r->task, step_checks, r);
	return r;
}

void check_run_cancel(struct check_run *r)
{
	r->cancelled = true;
	if (r->process)
		check_process_stop(r->process);
	/* Both report an end, which comes to check_settled. */
	if (r->looking)
		baseline_changes_stop(r->session, r);
}

/* The cancelled run still goes on until its process has ended. */
void session_checks_abort(struct session *s)
{
	if (checks_of(s)->run)
		check_run_cancel(checks_of(s)->run);
}

/* The session is being freed, so the run ends without waiting. No process of it may be left. */
void session_checks_drop(struct session *s)
{
	if (!checks_of(s)->run)
		return;
	checks_of(s)->run->cancelled = true;
	finish_checks(checks_of(s)->run);
}

/* --- by hand ------------------------------------------------------------------------------------------------- */

int session_check(struct session *s, struct slice checks, check_done_fn done, void *ctx,
		  struct err *e)
{
	struct check_list *l = NULL;
	int r = store_admit(s->store, e);

	if (r == 0 && s->state != SESSION_OPEN)
		r = err_set(e, -ENOENT, RPC_NOT_FOUND, "SESSION_NOT_ACTIVE",
			    "the session is closed; session/load opens it");
	if (r == 0 && (!list_empty(&s->turn.queue) || checks_of(s)->run))
		r = err_set(e, -EBUSY, RPC_INVALID_REQUEST, "SESSION_BUSY",
			    "a turn or a check is running on this session");
	if (r == 0 && checks.n)
		r = check_list_parse(checks, "checks", &l, e);
	if (r < 0)
		return r;
	/* Between turns: the session's own list. */
	if (!checks.n)
		l = turn_checks(s, NULL);
	if (!check_list_count(l)) {
		check_list_free(l);
		return err_field(e, "checks", "FIELD_MISSING",
				 "neither the call nor the session has checks");
	}
	session_checks_run(s, l, &(struct check_turn){ 0 }, done, ctx);
	return 0;
}

bool session_checks_cancel(struct session *s, const void *ctx)
{
	if (!checks_of(s)->run || checks_of(s)->run->ctx != ctx)
		return false;
	check_run_cancel(checks_of(s)->run);
	return true;
}

/* Checked in acp/meta.c: what runTests takes is known to tools/ alone. */
const struct session_parameter checks_parameter = {
	PARAMETER("checks", ARR, "what has to hold after a turn"),
	.order = { .checked = 160, .stored = 160 },
};
