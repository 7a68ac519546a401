/*
 * turn_end.c - the one way a turn ends: decided once, recorded, made durable, then announced.
 *
 * turn_finish decides how the turn ends, unless a part holds it: that part calls turn_close later. turn_end
 * writes the usage record. The turn then waits in TURN_ENDING, for the record and the journal to be on disk
 * and for parts; `waits` counts these. Until then its end can still become a failure (fail_late).
 * turn_announce writes the event, answers the clients and frees the turn. So what a client was answered is on
 * record even after a crash of the machine. While the daemon stops, a turn waits for nothing.
 */
#include "session/core/session_internal.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "json/jenc.h"
#include "session/core/session_states.h"
#include "session/core/session_part.h"

#include <stdarg.h>

/* --- telling everybody -------------------------------------------------------------------------------- */

void turn_put_result(struct buf *b, const struct session_turn *t, uint64_t seq,
		     enum turn_end_place at)
{
	struct jw w = JW(b);

	jw_obj(&w, NULL);
	jw_str(&w, "stopReason", t->end.stop_reason);
	account_put_acp(&t->account, &t->tried, &w, "usage");
	jw_obj(&w, "_meta");
	jw_obj(&w, "acpd");
	jw_uint(&w, "seq", seq);
	jw_uint(&w, "turn", t->no);
	PARTS_CALL(put_end, t, &w, at);
	jw_end_obj(&w);
	jw_end_obj(&w);
	jw_end_obj(&w);
}

/* What the answer of one that failed has besides; empty if there is nothing. */
static void put_failure(struct buf *b, const struct session_turn *t)
{
	struct jw w = JW(b);

	jw_obj(&w, NULL);
	PARTS_CALL(put_end, t, &w, END_FAILURE);
	jw_end_obj(&w);
	if (slice_is(buf_slice(b), "{}"))
		buf_reset(b);
}

void turn_end_write(struct session *s, const struct session_turn *t, struct buf *b,
		    struct turn_result *ret)
{
	/* Before ret->seq is taken: held-back text is older than the end of the turn, and gets a number of its own. */
	masked_stream_flush(s);
	*ret = (struct turn_result){
		.failed = t->end.failed, .turn = t->no, .error = &t->end.error, .session = s->id
	};
	ret->cancelled = !t->end.failed && strcmp(t->end.stop_reason, "cancelled") == 0;
	ret->seq = s->log.events.last + 1;
	if (t->end.failed)
		put_failure(b, t);
	else
		turn_put_result(b, t, ret->seq, END_ANSWER);
	*(t->end.failed ? &ret->proof : &ret->result) = buf_slice(b);
	/* first: told twice under one id, if the daemon is killed here, and not never */
	event_webhook_turn_end(s, t, ret);
	event_emit_turn_end(s, t, ret);
	if (evlog_flush(&s->log.events) < 0)
		unwritten_end_add(s, t, ret);
	/* A prompt that continues in another turn gets its stored result from that turn. */
	if (t->key && !t->goes_on)
		keyed_result_add(s, t, ret);
}

static void log_end(const struct session_turn *t)
{
	const char *ms = NUMBER_TEXT(t->started_mono ? t->ended_mono - t->started_mono : 0);

	if (t->end.failed)
		turn_log(t, LOG_WARN, "turn failed", "class", t->end.error.cls, "durationMs", ms,
			 "text", t->end.error.message, NULL);
	else
		turn_log(t, LOG_INFO, "turn ended", "stopReason", t->end.stop_reason, "durationMs",
			 ms, NULL);
}

/* The turn's record is durable, or there is no time to wait for that. t is gone after. */
static void turn_announce(struct session *s, struct session_turn *t)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct turn_result r;

	/* First: a client that is answered can send the same prompt again, and its key must have a result by then. */
	turn_end_write(s, t, &b, &r);
	log_end(t);
	s->turn.ending--;
	list_each(w, &t->waiters, struct prompt_waiter, link)
		if (w->done)
			w->done(w->ctx, &r);
	turn_free(t);
	session_touch(s);
	loop_timer_set(s->store->loop, &s->log.idle_timer, SESSION_IDLE_MS, session_idle, s);
	session_advance(s);
}

static void fail_with(struct harness_turn_end *end, const char *cls, bool retryable,
		      const char *text)
{
	*end = (struct harness_turn_end){ .failed = true,
					  .error = { .cls = cls, .retryable = retryable } };
	snprintf(end->error.message, sizeof(end->error.message), "%s", text);
}

/* One of the things that the turn waits for has come. */
static void turn_waited(struct session_turn *t)
{
	if (--t->waits == 0)
		turn_announce(t->session, t);
}

/* It had ended well. */
static void fail_late(struct session_turn *t, bool retryable, const char *text)
{
	fail_with(&t->end, "resource", retryable, text);
	PARTS_CALL(turn_failed_late, t->session, t);
}

/* A turn whose record may be lost must not look like one that is on record. */
static void on_recorded(void *ctx, int error)
{
	struct session_turn *t = ctx;

	if (error < 0)
		log_error("session", "the usage ledger could not be made durable", "session",
			  t->session->id, "text", strerror(-error));
	/* -ECANCELED: the ledger was closed before the sync. Nothing is known to be lost. */
	if (error < 0 && error != -ECANCELED && !t->end.failed)
		fail_late(t, false, "the usage ledger cannot be written");
	turn_waited(t);
}

/* --- the end of a turn ------------------------------------------------------------------------------------ */

/* Names given by an adapter are borrowed: what is kept is our own. */
void turn_keep_end(struct session_turn *t, const struct harness_turn_end *end)
{
	t->end = *end;
	t->end.error.reason = turn_error_reason(end->error.reason);
	/* The harness chose this text. It goes to a line of the log, to the journal, to clients and to webhooks. */
	err_flatten(t->end.error.message);
	session_mask_line(t->session, t->end.error.message, sizeof(t->end.error.message));
	if (!end->error.provider)
		return;
	snprintf(t->failed_provider, sizeof(t->failed_provider), "%s", end->error.provider);
	t->end.error.provider = t->failed_provider;
}

/* With the record of its turn: what is answered outlasts a crash of the machine. Only the event of its end is written
 * later, and the record says all that is in it (orphaned_turn.c). */
static void sync_journal(struct session *s, struct session_turn *t)
{
	struct evlog *log = &s->log.events;
	int r;

	if (!log->path || !ledger_syncs(s->store->ledger))
		return;
	evlog_flush(log); /* the sums of the session are noted, too */
	r = evlog_journal_get(log, 0);
	if (r == 0)
		r = ledger_sync_also(s->store->ledger,
				     &(struct sync_also){ .fd = log->fd,
							  .name = log->path,
							  .size = log->written,
							  .fresh = !log->synced });
	evlog_journal_put(log);
	if (r < 0 && !t->end.failed)
		fail_late(t, true, "the session's journal cannot be made durable");
	log->synced |= r == 0;
}

/* The snapshot of the workspace is taken while the record goes to disk. */
static void turn_wait_for_records(struct session *s, struct session_turn *t)
{
	/* The ledger. Counted before anything is started, so that no other completion announces the turn early. */
	t->waits = 1;
	sync_journal(s, t);
	if (PARTS_FIRST(turn_wait, s, t, turn_waited))
		t->waits++;
	ledger_sync(s->store->ledger, &t->recorded, on_recorded, t);
}

/* Ends t for everybody as t->end says, as soon as its record is durable. */
static void turn_end(struct session *s, struct session_turn *t)
{
	t->ended_ms = clock_real_ms();
	t->ended_mono = clock_mono_ms();
	turn_take_number(s, t);
	turn_set_state(s, t, TURN_ENDING);
	s->turn.ending++;
	/* Before turn_record: a turn whose events are not in the journal must be recorded as failed. */
	if (t->started_ms && evlog_flush(&s->log.events) < 0 && !t->end.failed)
		fail_with(&t->end, "resource", true, "the session's journal cannot be written");
	t->goes_on = PARTS_FIRST(wants_next, s, t);
	if (PARTS_FIRST(turn_record, s, t) < 0 && !t->end.failed)
		fail_with(&t->end, "resource", false, "the usage ledger cannot be written");
	/* A turn that failed here ends its prompt, whatever the parts planned before. */
	t->goes_on &= !t->end.failed;
	PARTS_CALL(turn_ended, s, t);
	if (s->store->stopping)
		turn_announce(s, t);
	else
		turn_wait_for_records(s, t);
}

void turn_end_queued(struct session *s, struct session_turn *t, const struct harness_turn_end *end)
{
	/* It has never been current, so nothing of the harness is to be closed. */
	s->turn.queued--;
	turn_keep_end(t, end);
	turn_end(s, t);
	session_advance(s);
}

/* Success without a single event is a failure: the harness swallowed an error. */
static void refuse_empty(const struct session_turn *t, struct harness_turn_end *end)
{
	if (!end->failed && !end->quiet && !t->outputs && strcmp(end->stop_reason, "end_turn") == 0)
		fail_with(end, "empty_turn", true, "the harness ended the turn without any output");
}

/* Classes that are not a harness's word for its provider. */
static bool is_own_failure(const char *cls)
{
	static const char *const own[] = { "harness_exit", "harness_protocol", "harness_start",
					   "resource",	   "out_of_memory",    "shutdown" };

	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		if (strcmp(own[i], cls) == 0)
			return true;
	return false;
}

/* What the last model call said is truer than what the harness makes of it; some end a turn as if nothing had been. */
static void tell_of_call(const struct session_turn *t, struct harness_turn_end *end)
{
	struct turn_error e = t->call_error;

	if (!t->call_failed)
		return;
	if (end->failed) {
		if (is_own_failure(end->error.cls))
			return;
		memcpy(e.message, end->error.message, sizeof(e.message));
	} else if (t->outputs != t->failed_outputs || strcmp(end->stop_reason, "end_turn") != 0) {
		return;
	}
	*end = (struct harness_turn_end){ .failed = true, .error = e };
}

/* How it ends, other things than the harness's word for it considered. */
static struct harness_turn_end decide(const struct session_turn *t,
				      const struct harness_turn_end *given)
{
	const char *insisted = PARTS_FIRST(stop_reason, t);
	struct harness_turn_end end = *given;

	/* Before all else: a part has stopped the turn for its budget. The harness may call that an error or a
	 * success. */
	if (insisted)
		return (struct harness_turn_end){ .stop_reason = insisted };
	/* ACP: a cancelled turn ends with the stop reason "cancelled", even if the harness reports an error for it. */
	if (t->state == TURN_CANCELLING)
		return (struct harness_turn_end){ .stop_reason = "cancelled" };
	if (t->state == TURN_RUNNING) {
		tell_of_call(t, &end);
		refuse_empty(t, &end);
	}
	return end;
}

/* The harness has no part in it any more. */
static void leave_harness(struct session *s, struct session_turn *t)
{
	loop_timer_cancel(&s->turn.cancel_timer);
	masked_stream_end(s);
	PARTS_CALL(cancel_questions, s);
	tool_calls_close(s, clock_mono_ms());
	if (t->state == TURN_CANCELLING)
		turn_sweep_after(s, t);
	/* It failed before it began: turn_begin has not taken it off the count. */
	if (t->state == TURN_QUEUED)
		s->turn.queued--;
}

void turn_close(struct session *s, struct session_turn *t)
{
	PARTS_CALL(turn_left, s, t, false); /* calls that its harness made while a part held it */
	PARTS_CALL(turn_closing, s, t);
	/* While the turn is current: these events contain its number. */
	unknown_updates_tell_more(s);
	event_text_repaired(s);
	s->turn.current = NULL;
	s->store->totals.failed += t->end.failed;
	PARTS_CALL(turn_closed, s, t);
	turn_end(s, t);
	session_advance(s);
}

void turn_finish(struct session *s, const struct harness_turn_end *given)
{
	struct session_turn *t = s->turn.current;
	struct harness_turn_end end;

	/* The harness has left the turn already. The part stops its own work, and calls turn_close. */
	if (t->held) {
		end = decide(t, given);
		PARTS_CALL(turn_stop, s, t, &end);
		return;
	}
	PARTS_CALL(watch, s);
	PARTS_CALL(turn_left, s, t, given->failed || t->state != TURN_RUNNING);
	end = decide(t, given);
	turn_keep_end(t, &end);
	leave_harness(s, t);
	/* A turn that is being cancelled is not held: no part may start work for it. */
	if (t->state != TURN_RUNNING || !PARTS_FIRST(turn_hold, s, t))
		turn_close(s, t);
}

void turn_fail(struct session *s, const char *cls, bool retryable, const char *fmt, ...)
{
	struct harness_turn_end end = { .failed = true,
					.error = { .cls = cls, .retryable = retryable } };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(end.error.message, sizeof(end.error.message), fmt, ap);
	va_end(ap);
	turn_finish(s, &end);
}

void turn_fail_as(struct session *s, const struct turn_error *error, const char *text)
{
	struct harness_turn_end end = { .failed = true, .error = *error };

	snprintf(end.error.message, sizeof(end.error.message), "%s", text);
	turn_finish(s, &end);
}

void turn_fail_because(struct session *s, const struct err *e)
{
	turn_fail_as(
		s,
		&(struct turn_error){ .cls = "resource", .reason = e->reason, .retryable = true },
		e->msg);
}

void turns_end_open(struct session *s, const char *why)
{
	/* Its harness was stopped in order: nothing of it goes on, and whoever sent the prompt may send it again. */
	static const struct turn_error stopped = { .cls = "shutdown",
						   .retryable = true,
						   .same_key = true };

	list_each(t, &s->turn.queue, struct session_turn, link) {
		if (t->state == TURN_ENDING)
			continue;
		/* turn_finish ends the current turn only. A queued one becomes current for its end. */
		s->turn.current = t;
		PARTS_CALL(turn_abandon, t);
		turn_fail_as(s, &stopped, why);
	}
}

void turns_end_all(struct session *s)
{
	/* Turns that wait for the disk come first: they ended before the others, so their events have smaller
	 * numbers. */
	list_each(t, &s->turn.queue, struct session_turn, link) {
		if (t->state != TURN_ENDING)
			continue;
		ledger_wait_cancel(&t->recorded);
		turn_announce(s, t);
	}
	turns_end_open(s, "the daemon is shutting down");
}

/* --- the sums of the session --------------------------------------------------------------------------- */

void turn_totals_put(const struct session *s, uint64_t turn, struct buf *ret)
{
	struct jw w = JW(ret);

	totals_put_note(&s->turn.totals, &w, turn);
}

void turn_totals_note(struct session *s, uint64_t turn)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	turn_totals_put(s, turn, &b);
	evlog_note(&s->log.events, "totals", buf_slice(&b));
}
