/* orphaned_turn.c - a turn that an earlier daemon left open is ended once: as its record in the ledger says, or as
 * failed, with a record then. */
#include "session/core/session_internal.h"

#include "base/limits.h"
#include "base/log.h"
#include "json/json.h"
#include "session/core/session_part.h"

#define NAME_MAX_BYTES 4096

struct record_search {
	struct session *s;
	struct session_turn *t;
	char *stop_reason;
	bool recorded;
	uint64_t since; /* its records in the ledger come after that one */
};

static bool record_is_of_turn(const struct record_search *x, struct slice record)
{
	int64_t turn;

	return jstr_is(jobj_get(record, "sessionId"), x->s->id) &&
	       jdec_int(jobj_get(record, "turn"), &turn) == 0 && (uint64_t)turn == x->t->no;
}

/* One that passed the daemon counts only if it succeeded; what it used counts all the same. */
static void load_call(struct session_turn *t, struct slice line, const struct harness_usage *u)
{
	if (jobj_get(line, "callId").type == J_NONE) {
		account_usage(&t->account, u);
		return;
	}
	account_call(&t->account, &(struct harness_usage){ 0 }, u);
	t->account.calls += jobj_get(line, "error").type == J_NONE &&
			    jobj_get(line, "cancelled").type == J_NONE;
}

/* A record that ended the turn says how; those of its model calls, what it had used. */
static bool record_on_line(void *ctx, uint64_t n _unused_, struct slice line)
{
	_cleanup_(freep) char *model = jobj_str(line, "model", NAME_MAX_BYTES);
	_cleanup_(freep) char *provider = jobj_str(line, "provider", NAME_MAX_BYTES);
	struct record_search *x = ctx;
	struct harness_usage u;

	if (!record_is_of_turn(x, line))
		return true;
	account_load_call(line, &u);
	u.model = model;
	u.provider = provider;
	if (jstr_is(jobj_get(line, "type"), "model_call")) {
		load_call(x->t, line, &u);
		return true;
	}
	/* The record of a turn is written after those of its calls, and has the sums: nothing is to be read behind
	 * it. */
	u.whole_turn = true;
	account_usage(&x->t->account, &u);
	x->recorded = true;
	PARTS_CALL(turn_load, x->t, line, true);
	x->stop_reason = jobj_str(line, "stopReason", 64);
	if (!x->stop_reason) {
		x->t->end.failed = true;
		turn_error_load(jobj_get(line, "error").raw, &x->t->end.error);
	}
	return false;
}

/* Key, trace, model and attempt of the turn, and where the ledger was, if that record is its; one that was to be another
 * attempt and never began has those of the attempt before. */
static void load_begun(struct session_turn *t, struct slice begun, uint64_t *since)
{
	uint64_t turn = jobj_uint(begun, "turn");
	int64_t n;

	if (!turn || (turn != t->no && t->started_ms))
		return;
	PARTS_CALL(turn_load, t, begun, false);
	if (jdec_int(jobj_get(begun, "ledger"), &n) == 0 && n > 0)
		*since = (uint64_t)n;
	jstr_decode(jobj_get(begun, "key"), SESSION_KEY_LEN, &t->key);
	jstr_copy(jobj_get(begun, "prompt"), t->digest, sizeof(t->digest));
	jstr_decode(jobj_get(begun, "model"), NAME_MAX_BYTES, &t->account.model);
	jstr_set(&t->session->harness.version, jobj_get(begun, "harnessVersion"), NAME_MAX_BYTES);
	trace_context_read(&t->trace, begun);
}

static void close_open(struct session *s, struct session_turn *t)
{
	/* The events that close it must contain its number. */
	s->turn.current = t;
	PARTS_CALL(recall_turn_end, s, true);
	tool_calls_close(s, t->ended_mono);
	s->turn.current = NULL;
}

struct session_turn *orphaned_next(struct session *s)
{
	struct session_turn *next = turn_blank(s);

	next->no = s->turn.count + 1;
	next->ended_ms = s->updated_ms;
	next->counted = s->turn.last_counted >= next->no;
	return next;
}

/* t was to be followed by another turn with its prompt. */
static void end_next(struct session *s, const struct session_turn *t, struct slice begun)
{
	struct session_turn *next = orphaned_next(s);

	PARTS_CALL(turn_follow, t, next);
	s->turn.count = next->no;
	next->incarnation = xstrdup(t->incarnation);
	orphaned_turn_end(s, next, begun);
	turn_free(next);
}

void orphaned_turn_end(struct session *s, struct session_turn *t, struct slice begun)
{
	struct record_search x = { .s = s, .t = t };
	_cleanup_(buf_done) struct buf b = { 0 };
	struct turn_result r;

	load_begun(t, begun, &x.since);
	/* The default, unless the ledger has a record of how the turn ended. */
	t->end.error = (struct turn_error){ .cls = "shutdown", .retryable = true };
	t->end.failed = true;
	snprintf(t->end.error.message, sizeof(t->end.error.message),
		 "the daemon ended before the turn did");
	ledger_read(s->store->ledger, x.since, record_on_line, &x);
	if (x.recorded && x.stop_reason) {
		t->end.failed = false;
		t->end.stop_reason = x.stop_reason;
	}
	/* Before the end is written: the events of open tool calls belong in front of it. */
	close_open(s, t);
	if (!t->counted)
		PARTS_CALL(turn_closing, s, t);
	if (x.recorded)
		PARTS_CALL(turn_count, s, t);
	else if (PARTS_FIRST(turn_record, s, t) < 0)
		log_error("session", "the usage ledger cannot be written", "session", s->id);
	turn_end_write(s, t, &b, &r);
	free(x.stop_reason);
	if (t->goes_on)
		end_next(s, t, begun);
}
