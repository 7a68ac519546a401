/*
 * draft_watch.c - what turns have to do with a draft: failures after which one begins on its own, its size, and the webhook
 * that it has changes.
 *
 * While a turn is in its harness, the size is measured every DRAFT_MEASURE_MS, by acpd-unpack. Above --draft-max the turn
 * fails and its harness is stopped, and no other turn starts. So a draft can exceed the limit by what is written between two
 * measurements: it is not a quota.
 */
#include "session/parts/draft/draft_ops.h"

#include "base/limits.h"
#include "base/log.h"
#include "json/jenc.h"
#include "outbox/outbox.h"
#include "session/core/session_states.h"
#include "session/parts/check/turn_proof.h"
#include "session/parts/draft/draft_terms.h"

/* --- failures ---------------------------------------------------------------------------------------------- */

/* It waits for the end of the turn, and the next one waits for it. */
static void begin_after(struct session *s, const char *why)
{
	struct draft_op *op;

	draft_of(s)->failed_checks = draft_of(s)->failed_tools = 0;
	if (session_has_draft(s) || session_has_draft_op(s))
		return;
	log_info("session", "a draft begins after failures", "session", s->id, "why", why);
	op = draft_op_add(s, &draft_op_on, NULL, NULL);
	op->waiter = DRAFT_WAITER_FAILURES;
	op->why = why;
}

/* Failures in a row, so a success starts again. most 0: the session did not ask for it. */
static void count_draft_failures(struct session *s, bool failed, int64_t *have, int64_t most,
				 const char *why)
{
	if (!most || session_has_draft(s))
		return;
	*have = failed ? *have + 1 : 0;
	if (*have >= most)
		begin_after(s, why);
}

void session_draft_note_tool(struct session *s, bool ok)
{
	count_draft_failures(s, !ok, &draft_of(s)->failed_tools, draft_terms_of(&s->setup)->tools,
			     "tools");
}

/* --- how much ------------------------------------------------------------------------------------------------ */

static void put_root(const struct session *s, struct jw *w)
{
	_cleanup_(freep) char *root = draft_of(s)->how == DRAFT_COPY ? draft_copy_path(s) :
								       draft_upper_path(s);

	jw_obj(w, NULL);
	jw_str(w, "root", root);
	if (draft_of(s)->how == DRAFT_COPY)
		session_put_owner(w, s);
	jw_end_obj(w);
}

static void refuse_large_draft(const struct session *s, struct err *e)
{
	err_set(e, -EDQUOT, RPC_INTERNAL_ERROR, "DRAFT_TOO_LARGE",
		"the draft takes %llu bytes, and may take %llu (--draft-max)",
		(unsigned long long)draft_of(s)->use.bytes,
		(unsigned long long)s->store->terms.draft_max);
}

/* Fails the turn and kills the harness: its processes would go on writing. */
static void stop_turn(struct session *s)
{
	struct err e;

	refuse_large_draft(s, &e);
	turn_fail_because(s, &e);
	if (!s->harness.proc || s->harness.state != H_READY)
		return;
	harness_set_state(s, H_STOPPING);
	proc_kill(s->harness.proc);
}

static void on_draft_measured(struct inspection *run, struct slice report, const struct err *failed)
{
	struct session *s = run->session;

	draft_of(s)->use.measuring = false;
	/* The size that was measured last stays valid. */
	if (failed)
		log_warn("session", "a draft could not be measured", "session", s->id, "reason",
			 failed->reason, "text", failed->msg);
	if (!failed && session_has_draft(s)) {
		draft_of(s)->use.bytes = jobj_uint(report, "bytes");
		draft_of(s)->use.over = draft_of(s)->use.bytes > s->store->terms.draft_max;
	}
	inspection_done(run); /* and the report with it */
	free(run);
	if (draft_of(s)->use.over && turn_in_harness(s) && !s->store->stopping)
		stop_turn(s);
}

static void measure_draft(struct session *s)
{
	JW_BUF(w, job);
	struct inspection *run;
	struct err e = { 0 };

	if (!session_has_draft(s) || draft_of(s)->use.measuring || s->store->stopping ||
	    s->state != SESSION_OPEN ||
	    (draft_of(s)->how == DRAFT_OVERLAY && !draft_of(s)->mounted))
		return;
	put_root(s, &w);
	run = new0(struct inspection);
	draft_of(s)->use.measuring = inspection_start(run, s, "draft-measure", buf_slice(&job),
						      on_draft_measured, &e) == 0;
	if (!draft_of(s)->use.measuring)
		free(run);
}

static void on_tick(void *ctx)
{
	struct session *s = ctx;

	if (!turn_in_harness(s))
		return;
	measure_draft(s);
	loop_timer_set(s->store->loop, &draft_of(s)->timer, DRAFT_MEASURE_MS, on_tick, s);
}

bool session_draft_admits_turn(struct session *s, struct err *e)
{
	if (!session_has_draft(s))
		return true;
	if (draft_of(s)->use.over)
		refuse_large_draft(s, e);
	else
		loop_timer_set(s->store->loop, &draft_of(s)->timer, DRAFT_MEASURE_MS, on_tick, s);
	return !draft_of(s)->use.over;
}

/* --- the end of a turn ----------------------------------------------------------------------------------------- */

static int ended_ready(struct draft_op *op, struct slice report, bool failed,
		       struct err *e _unused_)
{
	JW_BUF(w, b);

	if (failed)
		return -EIO;
	/* What a later turn is writing meanwhile is not this one's; it is looked at when that one ends. */
	if (op->turn != op->s->turn.count || !jobj_uint(report, "changesTotal"))
		return 0;
	jw_uint(&w, "turn", op->turn);
	jw_raw(&w, "patchDigest", jobj_get(report, "patchDigest").raw);
	jw_raw(&w, "changesTotal", jobj_get(report, "changesTotal").raw);
	jw_raw(&w, "conflictsTotal", jobj_get(report, "conflictsTotal").raw);
	event_webhook(op->s, WEBHOOK_DRAFT_READY, NULL, buf_slice(&b));
	return 0;
}

static const struct draft_op_kind draft_op_ready = { "ready", false, draft_begin_diff,
						     ended_ready };

void session_draft_note_turn(struct session *s, struct session_turn *t)
{
	if (proof_of(t)->verdict != CHECK_UNCHECKED)
		count_draft_failures(s, proof_of(t)->verdict == CHECK_FAILED,
				     &draft_of(s)->failed_checks, draft_terms_of(&s->setup)->checks,
				     "checks");
	if (!session_has_draft(s) || s->store->stopping || s->state != SESSION_OPEN)
		return;
	measure_draft(s);
	/* Only for a receiver: the report costs a run of acpd-unpack over the whole draft. */
	if (!outbox_wants(s->store->outbox, WEBHOOK_DRAFT_READY))
		return;
	draft_op_add(s, &draft_op_ready, NULL, NULL)->turn = t->no;
	session_draft_go_on(s);
}
