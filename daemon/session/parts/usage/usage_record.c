/*
 * usage_record.c - writes the usage ledger: one record for each reported model call, and one for each turn.
 *
 * The record bills a turn. If it cannot be written, the turn fails and its numbers enter no sum; budgets count
 * them all the same, since they have been used. A turn also fails if one of its calls has no record
 * (t->unrecorded). Calls between turns go to the session's totals, and only once their record is written.
 */
#include "session/core/session_internal.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/os/sandbox.h"
#include "base/log.h"
#include "json/jstr.h"
#include "usage/compat.h"
#include "model/call_meter.h"
#include "session/core/session_part.h"
#include "session/parts/usage/usage_record.h"

static void put_time(struct jw *w, const char *key, uint64_t ms)
{
	jw_str(w, key, CLOCK_ISO(ms));
}

/* t NULL: between turns. */
static void put_who(struct jw *w, const struct session *s, const struct session_turn *t,
		    const char *type)
{
	jw_str(w, "type", type);
	jw_str(w, "sessionId", s->id);
	if (t) {
		jw_uint(w, "turn", t->no);
		jw_str(w, "key", t->key);
		turn_put_incarnation(w, t);
	}
	jw_str(w, "harness", s->def->id);
	jw_str(w, "harnessVersion", s->harness.version);
	jw_str(w, "sandboxId", sandbox_id());
}

/* What was used comes before what was asked for. */
static void usage_put_model(struct jw *w, const struct session *s, const char *used,
			    const char *provider)
{
	jw_str(w, "model",
	       used		? used :
	       s->harness.model ? s->harness.model :
				  s->setup.gateway.model);
	jw_str(w, "provider", session_provider_name(s, provider));
}

/* Only of a trace that the client named: the daemon's own is in the exported spans. */
static void put_trace(struct jw *w, const struct session_turn *t)
{
	jw_str(w, "clientRequestId", t->trace.request_id);
	if (!*t->trace.parent)
		return;
	jw_slice(w, "traceId", trace_id_of(t->trace.parent));
	jw_slice(w, "parentSpanId", trace_span_of(t->trace.parent));
}

static int usage_append(struct session *s, struct buf *b)
{
	return ledger_append(s->store->ledger, buf_slice(b)) ? 0 : -EIO;
}

static void usage_note_event(struct session *s, const struct harness_usage *u)
{
	JW_BUF(w, b);

	jw_str(&w, "kind", "usage");
	account_put_usage(u, &w);
	event_note(s, EVENT_USAGE, buf_slice(&b));
}

/* What every record of a call begins with. */
static void usage_put_call(struct jw *w, const struct session *s, struct session_turn *t,
			   const struct harness_usage *u)
{
	put_who(w, s, t, "model_call");
	if (t)
		/* From 1 in each turn. */
		jw_uint(w, "call", ++t->call_records);
	usage_put_model(w, s, u->model, u->provider);
	put_time(w, "ts", clock_real_ms());
	jw_str(w, "responseId", u->response_id);
	jw_str(w, "finishReason", u->finish_reason);
	account_put_usage(u, w);
}

static void usage_record_call(struct session *s, const struct harness_usage *u)
{
	JW_BUF(w, b);
	struct session_turn *t = s->turn.current;

	usage_note_event(s, u);
	jw_obj(&w, NULL);
	usage_put_call(&w, s, t, u);
	put_trace(&w, t);
	jw_end_obj(&w);
	t->unrecorded |= usage_append(s, &b) < 0;
}

/* --- model calls that pass the daemon ------------------------------------------------------------------------- */

static void put_report(struct jw *w, const struct session *s, const struct call_report *r)
{
	const struct metered *m = r->use;

	jw_str(w, "callId", r->call_id);
	jw_uint(w, "attempt", r->attempt);
	jw_str(w, "via", harness_via_name(s->setup.gateway.via));
	jw_str(w, "modelAsked", r->model_asked);
	jw_str(w, "serviceTier", m->service_tier);
	jw_str(w, "requestId", r->request_id);
	if (m->status)
		jw_int(w, "status", m->status);
	jw_bool(w, "complete", m->complete);
	if (r->cancelled)
		jw_bool(w, "cancelled", true);
	if (m->failed)
		turn_error_put(w, "error", &m->error);
	if (r->auxiliary)
		jw_bool(w, "auxiliary", true);
	jw_object(w, "bytes", JW_UINT("sent", r->sent), JW_UINT("received", r->received));
	if (r->answered)
		jw_uint(w, "ttfbMs", r->ttfb_ms);
	jw_uint(w, "durationMs", r->duration_ms);
}

void usage_record_metered(struct session *s, struct session_turn *t, const struct call_report *r)
{
	JW_BUF(w, b);
	bool written;

	if (t) {
		usage_note_event(s, &r->use->usage);
		/* Then the span of the turn has no tokens: those of its calls have them. */
		t->calls_told |= t->span.on;
	}
	model_call_span(s, t, r);
	jw_obj(&w, NULL);
	usage_put_call(&w, s, t, &r->use->usage);
	put_report(&w, s, r);
	if (t)
		put_trace(&w, t);
	jw_end_obj(&w);
	written = usage_append(s, &b) == 0;
	if (t) {
		t->unrecorded |= !written;
	} else if (written) { /* No turn has it, so the session's totals take it at once. */
		totals_add_call(&s->turn.totals, &r->use->usage, r->succeeded);
		turn_totals_note(s, s->turn.last_counted);
	}
}

/* --- turns ------------------------------------------------------------------------------------------------------ */

/* A turn has a stop reason or an error, never both. */
static void put_outcome(struct jw *w, const struct session_turn *t)
{
	if (!t->end.failed) {
		jw_str(w, "stopReason", t->end.stop_reason);
		return;
	}
	turn_error_put(w, "error", &t->end.error);
}

/* Without a start both times are those of the end, and there is no duration. */
static void put_times(struct jw *w, const struct session_turn *t)
{
	put_time(w, "tsStart", t->started_ms ? t->started_ms : t->ended_ms);
	put_time(w, "tsEnd", t->ended_ms);
	if (!t->started_ms)
		return; /* it never began */
	jw_uint(w, "durationMs", t->ended_mono - t->started_mono);
	if (t->first_output_mono)
		jw_uint(w, "ttftMs", t->first_output_mono - t->started_mono);
}

static void usage_put_process(struct jw *w, const struct session_turn *t)
{
	if (!t->used.source || !t->started_ms)
		return;
	jw_obj(w, "process");
	/* A smaller count is of other processes: the difference would mean nothing. */
	if (t->used.cpu_us >= t->before.cpu_us)
		jw_uint(w, "cpuMs", (t->used.cpu_us - t->before.cpu_us) / 1000);
	if (t->used.peak_rss)
		jw_uint(w, "peakRssBytes", t->used.peak_rss);
	jw_str(w, "source", t->used.source);
	jw_end_obj(w);
}

/* The harness's own word for what the daemon has counted itself. */
static void put_reported(struct jw *w, const struct account *a)
{
	if (!a->calls && !a->turn.has && !a->turn.has_cost)
		return;
	jw_obj(w, "reported");
	account_put_numbers(a, w);
	jw_end_obj(w);
}

static void usage_put_turn(struct jw *w, const struct session *s, const struct session_turn *t)
{
	jw_obj(w, NULL);
	put_who(w, s, t, "turn");
	usage_put_model(w, s, t->account.model, t->account.provider);
	put_times(w, t);
	put_outcome(w, t);
	PARTS_CALL(put_end, t, w, END_RECORD);
	account_put_numbers(&t->account, w);
	put_reported(w, &t->reported);
	account_put_tools(&t->account, w);
	usage_put_process(w, t);
	put_trace(w, t);
	session_labels_put(w, s->setup.labels);
	totals_put(&s->turn.totals, w, "cumulative");
	jw_end_obj(w);
}

/* --- the view for Agenta's runner ------------------------------------------------------------------------- */

/* From the environment that the client gave the session; NULL: nobody wants the file. */
static char *compat_path(const struct session *s)
{
	struct jval v = s->setup.env ? jobj_get(slice_of(s->setup.env), USAGE_COMPAT_ENV) :
				       (struct jval){ 0 };
	char *path = NULL;

	if (v.type == J_STRING)
		jstr_decode(v, 4096, &path);
	return path;
}

static struct usage_compat_owner compat_owner(const struct session *s)
{
	return (struct usage_compat_owner){ .switch_user = s->user.switched,
					    .uid = s->user.uid,
					    .gid = s->user.gid };
}

/* That file is an extra: a failure to write it is logged and ends no turn. */
static void compat_failed(const struct session *s, int r)
{
	if (r < 0)
		log_warn("session", USAGE_COMPAT_ENV " cannot be written", "session", s->id, "text",
			 strerror(-r));
}

static void compat_write(const struct session *s, const struct account *a)
{
	_cleanup_(freep) char *path = compat_path(s);
	struct usage_compat u = { .owner = compat_owner(s) };

	if (!path)
		return;
	u.has_input = account_count(a, COUNT_INPUT, &u.input);
	u.has_output = account_count(a, COUNT_OUTPUT, &u.output);
	u.has_total = account_count(a, COUNT_TOTAL, &u.total);
	u.has_cost = account_cost(a, &u.cost);
	compat_failed(s, usage_compat_write(path, &u));
}

/* A reader must not take the numbers of the previous turn for those of this one. */
static void usage_record_begin(struct session *s, struct session_turn *t _unused_)
{
	_cleanup_(freep) char *path = compat_path(s);
	struct usage_compat_owner owner = compat_owner(s);

	if (path)
		compat_failed(s, usage_compat_remove(path, &owner));
}

/* Of a turn whose record is written already: only the sums lack it. */
static void usage_record_count(struct session *s, struct session_turn *t)
{
	if (t->counted)
		return;
	totals_add(&s->turn.totals, &t->account);
	s->turn.last_counted = t->no;
	turn_totals_note(s, t->no);
}

/* Where the cgroup does not keep the memory's peak it costs a walk through the process table, which short turns in a
 * row share. */
static void measure_end(struct session *s, struct session_turn *t)
{
	bool peak = !s->turn.peak_rss || clock_mono_ms() - s->turn.peak_at_ms >= PEAK_INTERVAL_MS;

	proc_measure(s->harness.proc, peak, &t->used);
	if (t->used.peak_rss) {
		s->turn.peak_rss = t->used.peak_rss;
		s->turn.peak_at_ms = clock_mono_ms();
	} else {
		/* Not measured again: the last value, at most PEAK_INTERVAL_MS old. */
		t->used.peak_rss = s->turn.peak_rss;
	}
}

static int usage_record_turn(struct session *s, struct session_turn *t)
{
	JW_BUF(w, b);
	struct totals before = s->turn.totals;
	int r;

	if (t->started_ms)
		compat_write(s, &t->account);
	if (s->harness.proc && t->started_ms)
		measure_end(s, t);
	if (!t->counted)
		totals_add(&s->turn.totals, &t->account);
	usage_put_turn(&w, s, t);
	r = usage_append(s, &b);
	if (r < 0) { /* what is in no record is in no sum, but budgets know of it */
		before.spent = s->turn.totals.spent;
		s->turn.totals = before;
	}
	s->turn.last_counted = t->no;
	turn_totals_note(s, t->no);
	return r < 0 || t->unrecorded ? -EIO : 0;
}

const struct session_part usage_part = {
	.name = "usage",
	.turn_begin =
		usage_record_begin, /* removes the file of the turn before, while this one cannot end */
	.model_call = usage_record_call,
	.turn_record = usage_record_turn,
	.turn_count = usage_record_count,
};
