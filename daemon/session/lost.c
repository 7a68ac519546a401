/* lost.c - a turn that an earlier daemon left open is ended once: as its record in the ledger says, or as failed, with a record then. */
#include "session/internal.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "json/jdec.h"
#include "json/jstr.h"

#include <stdio.h>

struct search {
	struct session *s;
	struct turn *t;
	char *stop_reason;
	bool recorded;
};

static bool is_ours(const struct search *x, struct slice record)
{
	int64_t turn;

	return jstr_is(jobj_get(record, "sessionId"), x->s->id) &&
	       jdec_int(jobj_get(record, "turn"), &turn) == 0 && (uint64_t)turn == x->t->no;
}

static void load_error(struct turn *t, struct slice error)
{
	t->end.failed = true;
	turn_error_load(error, &t->end.error);
}

/* A record that ended the turn says how; those of its model calls, what it had used. */
static bool on_line(void *ctx, uint64_t n _unused_, struct slice line)
{
	struct search *x = ctx;
	struct harness_usage u;

	if (!is_ours(x, line))
		return true;
	account_load_call(line, &u);
	if (jstr_is(jobj_get(line, "type"), "model_call")) {
		account_usage(&x->t->account, &u);
		return true;
	}
	u.whole_turn = true;
	account_usage(&x->t->account, &u);
	x->recorded = true;
	if (jstr_decode(jobj_get(line, "stopReason"), 64, &x->stop_reason) < 0)
		load_error(x->t, jobj_get(line, "error").raw);
	return false;
}

/* Key and trace of the turn, if that record is its. */
static void load_begun(struct turn *t, struct slice begun)
{
	_cleanup_(freep) char *trace = NULL;
	int64_t turn = 0;

	if (!begun.n || jdec_int(jobj_get(begun, "turn"), &turn) < 0 || (uint64_t)turn != t->no)
		return;
	jstr_decode(jobj_get(begun, "key"), SESSION_KEY_LEN, &t->key);
	if (jstr_decode(jobj_get(begun, "traceparent"), TRACEPARENT_SIZE, &trace) == 0)
		snprintf(t->traceparent, sizeof(t->traceparent), "%s", trace);
}

void turn_end_lost(struct session *s, uint64_t no, struct slice begun)
{
	struct turn t = { .no = no, .session = s };
	struct search x = { .s = s, .t = &t };
	_cleanup_(buf_done) struct buf b = { 0 };
	struct turn_result r;

	load_begun(&t, begun);
	t.end.error = (struct turn_error){ .cls = "shutdown", .retryable = true };
	t.end.failed = true;
	snprintf(t.end.error.message, sizeof(t.end.error.message),
		 "the daemon ended before the turn did");
	t.ended_ms = clock_real_ms();
	ledger_read(s->store->ledger, 0, on_line, &x);
	if (x.recorded && x.stop_reason) {
		t.end.failed = false;
		t.end.stop_reason = x.stop_reason;
	}
	if (!x.recorded && bill_turn(s, &t) < 0)
		log_error("session", "the usage ledger cannot be written", "session", s->id);
	turn_tell(s, &t, &b, &r);
	free(x.stop_reason);
	free(t.key);
	account_done(&t.account);
}
