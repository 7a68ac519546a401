/* turn_cancel.c - how turns are cancelled, and what a cancelled one left running. */
#include "session/core/session_internal.h"

#include "base/limits.h"
#include "base/log.h"
#include "proc/table/process_tree.h"
#include "session/core/session_states.h"
#include "session/core/session_part.h"

static const struct harness_turn_end cancelled = { .stop_reason = "cancelled" };

/* After its end, in milliseconds: harnesses need a moment to end their commands themselves. */
static const unsigned sweep_pauses[] = { 50, 150, 300, 500, 500 };

static void sweep_again(void *ctx)
{
	struct session *s = ctx;

	if (!s->harness.proc || s->harness.state != H_READY)
		return; /* the end of the harness sweeps everything */
	/* the sweep looks in its own time: what the next turn starts meanwhile is not meant */
	proc_sweep_turn(s->harness.proc, s->turn.sweep_from,
			s->turn.current ? s->turn.current->started_ticks : tree_now());
	if (++s->turn.sweep_round < ARRAY_SIZE(sweep_pauses))
		loop_timer_set(s->store->loop, &s->turn.sweep_timer,
			       sweep_pauses[s->turn.sweep_round], sweep_again, s);
}

void turn_sweep_after(struct session *s, const struct session_turn *t)
{
	/* A sweep for an earlier turn is still running: it keeps its earlier start, and begins its rounds again. */
	if (!s->turn.sweep_timer.due)
		s->turn.sweep_from = t->started_ticks;
	s->turn.cancelled_tick = tree_now();
	s->turn.sweep_round = 0;
	loop_timer_set(s->store->loop, &s->turn.sweep_timer, sweep_pauses[0], sweep_again, s);
}

/* --- cancelling ---------------------------------------------------------------------------------------- */

static void on_cancel_overdue(void *ctx)
{
	struct session *s = ctx;

	if (!s->turn.current)
		return;
	log_warn("session", "harness did not end a cancelled turn, stopping it", "session", s->id);
	/* The client is answered first: the process may need long to exit. */
	turn_finish(s, &cancelled);
	if (s->harness.proc && s->harness.state == H_READY) {
		harness_set_state(s, H_STOPPING);
		proc_kill(s->harness.proc);
	}
}

void turn_cancel_running(struct session *s)
{
	/* In TURN_CHECKING the harness has left the turn: its part stops the checks. There is no adapter to ask. */
	if (s->turn.current && s->turn.current->state == TURN_CHECKING)
		turn_finish(s, &cancelled);
	if (!s->turn.current || s->turn.current->state != TURN_RUNNING)
		return;
	turn_set_state(s, s->turn.current, TURN_CANCELLING);
	turn_log(s->turn.current, LOG_INFO, "turn being cancelled", NULL);
	/* Before the adapter is asked: a turn that ends within the call must find the timer, to cancel it. */
	loop_timer_set(s->store->loop, &s->turn.cancel_timer, CANCEL_GRACE_MS, on_cancel_overdue,
		       s);
	if (s->harness.adapter)
		s->def->ops->cancel(s->harness.adapter);
	PARTS_CALL(cancel_questions, s);
}

void turns_cancel_all(struct session *s)
{
	list_each(t, &s->turn.queue, struct session_turn, link)
		if (t->state == TURN_QUEUED)
			turn_end_queued(s, t, &cancelled);
	turn_cancel_running(s);
}

void session_cancel(struct session *s)
{
	turns_cancel_all(s);
	PARTS_CALL(cancelled, s);
}

void session_cancel_undriven(void *ctx)
{
	struct session *s = ctx;

	if (list_empty(&s->watchers))
		session_cancel(s);
}

void session_close(struct session *s, bool remove, session_done_fn done, void *ctx)
{
	s->stored.remove |= remove;
	session_wait(&s->close_waiters, done, ctx);
	session_set_state(s, SESSION_CLOSING);
	turns_cancel_all(s);
	session_advance(s);
}

static bool turn_has(const struct session_turn *t, const void *ctx)
{
	list_each(w, (struct list *)&t->waiters, struct prompt_waiter, link)
		if (w->ctx == ctx)
			return true;
	return false;
}

bool session_cancel_prompt(struct session *s, void *ctx)
{
	list_each(t, &s->turn.queue, struct session_turn, link) {
		/* Other clients may wait for the same turn by its key. The turn is cancelled for them, too. */
		if (!turn_has(t, ctx))
			continue;
		if (t->state == TURN_QUEUED)
			turn_end_queued(s, t, &cancelled);
		else
			turn_cancel_running(s);
		return true;
	}
	return false;
}
