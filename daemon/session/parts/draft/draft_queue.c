/*
 * draft_queue.c - the queue of operations on a draft.
 *
 * Operations run sequentially. The first claims the tree (workspaces.h), so that no other job on it is half done; then it
 * begins, and usually runs acpd-unpack. An exclusive one waits until no harness runs, and while one is queued no turn starts
 * (session_waits_for_draft, session_next.c).
 *
 * An operation ends exactly once, in op_end: with an answer for a request (done), or with an effect on whoever needed the
 * draft (enum draft_waiter). A request gets errors; a draft that the daemon started on its own reports them as an event.
 */
#include "session/parts/draft/draft_ops.h"

#include "base/log.h"
#include "json/jenc.h"
#include "session/core/session_internal.h"
#include "session/parts/workspace/baseline.h"
#include "session/parts/check/turn_proof.h"
#include "session/core/redact/redact_internal.h"

static struct draft_op *first_op(const struct session *s)
{
	struct list *ops = (struct list *)&draft_of(s)->ops;

	return list_empty(ops) ? NULL : list_first(ops, struct draft_op, link);
}

bool session_has_draft_op(const struct session *s)
{
	return first_op(s) != NULL;
}

/* A harness is about to start, and would see the real tree: a restart, a close and an apply unmount
 * the overlay. */
static bool needs_mount(const struct session *s)
{
	return draft_of(s)->how == DRAFT_OVERLAY && !draft_of(s)->mounted &&
	       s->state == SESSION_OPEN &&
	       (!list_empty(&s->harness.open_waiters) || turn_first_queued((struct session *)s));
}

bool session_waits_for_draft(const struct session *s)
{
	list_each(op, (struct list *)&draft_of(s)->ops, struct draft_op, link)
		if (op->kind->exclusive)
			return true;
	return needs_mount(s);
}

struct draft_op *draft_op_add(struct session *s, const struct draft_op_kind *kind,
			      session_set_fn done, void *ctx)
{
	struct draft_op *op = new0(struct draft_op);

	op->s = s;
	op->kind = kind;
	op->done = done;
	op->ctx = ctx;
	list_add_tail(&draft_of(s)->ops, &op->link);
	activity_note(s);
	session_advance(s);
	return op;
}

/* --- the end of one ------------------------------------------------------------------------------------------ */

static void op_free(struct draft_op *op)
{
	list_del(&op->link);
	workspaces_release(&op->s->store->workspaces, &op->claim);
	if (op->patch)
		unlink(op->patch);
	buf_done(&op->answer);
	free_each(op->digest, op->force, op->patch, op->missing, op);
}

static void start_first(struct session *s, const struct err *failed)
{
	struct err own = { 0 };

	if (!failed && s->state == SESSION_OPENING && harness_pool_launch(s, &own) == 0)
		return;
	if (failed || *own.reason)
		harness_opened(s, failed ? failed : &own);
}

/* Nobody waits for it: the session goes on without. */
static void note_failed(struct session *s, const struct err *e)
{
	JW_BUF(w, b);
	struct err own = session_mask_err(s, e);

	jw_str(&w, "kind", "lifecycle");
	jw_str(&w, "event", "draft_failed");
	jw_str(&w, "reason", own.reason);
	jw_str(&w, "message", own.msg);
	event_note(s, EVENT_LIFECYCLE, buf_slice(&b));
}

static void tell_waiter(struct session *s, enum draft_waiter waiter, const struct err *e)
{
	switch (waiter) {
	case DRAFT_WAITER_START:
		start_first(s, e);
		break;
	case DRAFT_WAITER_LOAD:
		if (e) {
			session_open_undone(s);
			harness_answer_waiters(s, e);
		}
		break;
	case DRAFT_WAITER_HARNESS:
		if (e)
			harness_opened(s, e);
		break;
	case DRAFT_WAITER_FAILURES:
		if (e)
			note_failed(s, e);
		break;
	case DRAFT_WAITER_NONE:
		break;
	}
}

static void op_end(struct draft_op *op, const struct err *failed)
{
	struct session *s = op->s;
	enum draft_waiter waiter = op->waiter;
	_cleanup_(buf_done) struct buf b = { 0 };

	buf_puts(&b, "{");
	buf_add_slice(&b, buf_slice(&op->answer));
	buf_puts(&b, "}");
	if (failed)
		log_warn("session", "draft", "session", s->id, "what", op->kind->name, "reason",
			 failed->reason, "text", failed->msg);
	/* done may read the session, but the tree is free for the next claim only after op_free. */
	if (op->done)
		op->done(op->ctx, buf_slice(&b), failed);
	op_free(op);
	tell_waiter(s, waiter, failed);
	session_draft_go_on(s); /* the next one, which may have to wait for nothing */
	store_check_stopped(s->store);
	session_advance(s);
}

/* --- its life ------------------------------------------------------------------------------------------------- */

static void on_ended(struct inspection *run, struct slice report, const struct err *failed)
{
	struct draft_op *op = container_of(run, struct draft_op, run);
	struct err e = failed ? *failed : (struct err){ 0 };
	int r;

	op->runs = false;
	op->torn = helper_job_torn(run->helper);
	/* The operation may start another run in the same place: the helper of this one is freed after that. */
	list_del(&run->link);
	r = op->kind->ended(op, report, failed != NULL, &e);
	if (r <= 0) {
		helper_job_free(run->helper);
		op_end(op, r < 0 ? &e : NULL);
	}
}

int draft_op_run(struct draft_op *op, const char *verb, struct buf *job, struct err *e)
{
	struct inspection before = op->run;
	int r = inspection_start(&op->run, op->s, verb, buf_slice(job), on_ended, e);

	/* An apply that was killed runs a second job, to recover. */
	if (r < 0)
		op->run = before;
	else if (before.helper)
		helper_job_free(before.helper);
	op->runs = r == 0;
	return r == 0 ? 1 : r;
}

int draft_op_refuse_closing(struct err *e)
{
	return err_set(e, -ECANCELED, RPC_INTERNAL_ERROR, "SESSION_CLOSING",
		       "the session is being closed");
}

/* The claim can be granted long after it was requested: the session may be closing by now. */
static void on_claimed(void *ctx)
{
	struct draft_op *op = ctx;
	struct err e = { 0 };
	int r = op->s->state == SESSION_CLOSING || op->s->store->stopping ?
			draft_op_refuse_closing(&e) :
			op->kind->begin(op, &e);

	if (r <= 0)
		op_end(op, r < 0 ? &e : NULL);
}

void session_draft_go_on(struct session *s)
{
	struct draft_op *op = first_op(s);

	if (!op && needs_mount(s)) {
		op = draft_op_add(s, &draft_op_mount, NULL, NULL);
		op->waiter = DRAFT_WAITER_HARNESS;
	}
	if (!op || op->works ||
	    (op->kind->exclusive &&
	     (s->harness.state != H_NONE || baseline_is_running(s) || checks_of(s)->run)))
		return;
	op->works = true;
	workspaces_claim(&s->store->workspaces, &op->claim, s->cwd, on_claimed, op);
}

void session_draft_abort(struct session *s)
{
	struct err e;

	draft_op_refuse_closing(&e);
	list_each(op, &draft_of(s)->ops, struct draft_op, link) {
		if (op->runs) /* inspections_abort ends its job, which ends the operation */
			continue;
		op->waiter = DRAFT_WAITER_NONE;
		op_end(op, &e);
	}
}

/* Only an apply has something to undo, and undoes it on its own. */
static void stop_run(struct draft_op *op)
{
	if (op->recovers)
		return;
	if (op->kind == &draft_op_apply)
		helper_job_abort(op->run.helper);
	else
		helper_job_kill(op->run.helper);
}

bool draft_cancel_work(struct session *s, const void *ctx)
{
	struct err e;

	list_each(op, &draft_of(s)->ops, struct draft_op, link) {
		if (!op->done || op->ctx != ctx)
			continue;
		if (op->runs)
			stop_run(op);
		else
			op_end(op, inspection_cancelled(&e));
		return true;
	}
	return false;
}

/* --- by whom a session is opened ---------------------------------------------------------------------------- */

int draft_launch_first(struct session *s, struct err *e _unused_)
{
	if (!draft_of(s)->wanted)
		return 0;
	draft_of(s)->wanted = false;
	draft_op_add(s, &draft_op_on, NULL, NULL)->waiter = DRAFT_WAITER_START;
	session_draft_go_on(s);
	return 1;
}

void draft_opened(struct session *s, const struct session_params *p)
{
	if (draft_is_wanted(p) && !session_has_draft(s))
		draft_op_add(s, &draft_op_on, NULL, NULL)->waiter = DRAFT_WAITER_LOAD;
}
