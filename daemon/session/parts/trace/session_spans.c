/*
 * session_spans.c - the attributes of a session's spans, and the metrics measured with them.
 *
 * Metrics are recorded for every call; a span is exported only if its trace is sampled (span_tell).
 * A model call is reported when it ends, so its start is moved back by its duration. While a
 * journal is replayed, s->def is NULL and tool calls produce no spans: the earlier daemon exported
 * them. A failed span has the class as error.type.
 */

#include "base/limits.h"
#include "json/jstr.h"
#include "outbox/outbox.h"
#include "session/parts/check/check_internal.h"
#include "session/core/session_internal.h"
#include "session/parts/trace/session_trace.h"
#include "session/parts/approval/approval_internal.h"
#include "model/call_meter.h"
#include "session/parts/check/turn_proof.h"
#include "session/parts/usage/usage_record.h"

#include <stdio.h>

/* --- what is used -------------------------------------------------------------------------------------------- */

static const struct {
	enum harness_count count;
	const char *name;
} tokens[] = {
	{ COUNT_INPUT, "gen_ai.usage.input_tokens" },
	{ COUNT_OUTPUT, "gen_ai.usage.output_tokens" },
	{ COUNT_CACHE_READ, "gen_ai.usage.cache_read.input_tokens" },
	{ COUNT_CACHE_WRITE, "gen_ai.usage.cache_creation.input_tokens" },
	{ COUNT_REASONING, "gen_ai.usage.reasoning.output_tokens" },
};

static void put_call_tokens(struct span_note *n, const struct harness_usage *u)
{
	for (size_t i = 0; i < ARRAY_SIZE(tokens); i++)
		if (u->has & (1u << tokens[i].count))
			span_put_int(n, tokens[i].name, (int64_t)u->count[tokens[i].count]);
}

static void put_turn_tokens(struct span_note *n, const struct account *a)
{
	uint64_t v;

	for (size_t i = 0; i < ARRAY_SIZE(tokens); i++)
		if (account_count(a, tokens[i].count, &v))
			span_put_int(n, tokens[i].name, (int64_t)v);
}

/* --- the turn ------------------------------------------------------------------------------------------------ */

void turn_span_begin(struct session *s, struct session_turn *t)
{
	span_begin(s, &t->span, t->trace.parent);
}

static void span_put_model(struct span_note *n, const struct session *s, const char *used,
			   const char *provider)
{
	const char *asked = s->harness.model ? s->harness.model : s->setup.gateway.model;

	span_put(n, "gen_ai.provider.name", usage_provider_name(s, provider));
	span_put(n, "gen_ai.request.model", asked);
	span_put(n, "gen_ai.response.model", used);
}

static void span_put_turn(struct span_note *n, const struct session *s,
			  const struct session_turn *t)
{
	span_put(n, "gen_ai.operation.name", "invoke_agent");
	span_put(n, "gen_ai.agent.name", s->def->id);
	span_put(n, "gen_ai.agent.version", s->harness.version);
	span_put_model(n, s, t->account.model, t->account.provider);
	/* Otherwise a sum over all spans would count them twice. */
	if (!t->calls_told)
		put_turn_tokens(n, &t->account);
	span_put_int(n, "acpd.turn", (int64_t)t->no);
	span_put_int(n, "acpd.turn.queued_ms", (int64_t)(t->started_mono - t->queued_mono));
	span_put(n, "acpd.turn.key", t->key);
	span_put(n, "acpd.request.id", t->trace.request_id);
	for (size_t i = 0; i < LABEL_MAX; i++)
		span_put(n, session_label_attributes[i], s->setup.labels[i]);
	if (proof_of(t)->attempt)
		span_put_int(n, "acpd.turn.attempt", proof_of(t)->attempt);
	if (!t->end.failed)
		span_put_only(n, "gen_ai.response.finish_reasons", t->end.stop_reason);
	if (proof_of(t)->wanted)
		span_put(n, "acpd.checks.verdict", check_verdict_name(proof_of(t)->verdict));
}

void turn_span_end(struct session *s, struct session_turn *t)
{
	struct span_note n;

	if (!span_tell(s, &t->span, &n, SPAN_INTERNAL, "invoke_agent", s->def->id))
		return;
	span_put_turn(&n, s, t);
	span_told(&n, t->end.failed ? t->end.error.cls : NULL, t->end.error.message);
}

/* --- model calls --------------------------------------------------------------------------------------------- */

static const char *call_error(const struct call_report *r)
{
	if (r->cancelled)
		return "cancelled";
	return r->use->failed ? r->use->error.cls : NULL;
}

static void measure_call(const struct session *s, const struct call_report *r, const char *model)
{
	struct telemetry *t = outbox_telemetry(s->store->outbox);
	const struct harness_usage *u = &r->use->usage;
	struct metric_label l[MEASURED_LABELS] = {
		{ "gen_ai.operation.name", "chat" },
		{ "gen_ai.provider.name", usage_provider_name(s, u->provider) },
		{ "gen_ai.request.model", model },
		{ "error.type", call_error(r) },
	};

	telemetry_measure(t, MEASURED_DURATION, l, (double)r->duration_ms / 1000);
	/* The last label is the error for a duration, and the direction for tokens. */
	l[3] = (struct metric_label){ "gen_ai.token.type", "input" };
	if (u->has & (1u << COUNT_INPUT))
		telemetry_measure(t, MEASURED_TOKENS, l, (double)u->count[COUNT_INPUT]);
	l[3].value = "output";
	if (u->has & (1u << COUNT_OUTPUT))
		telemetry_measure(t, MEASURED_TOKENS, l, (double)u->count[COUNT_OUTPUT]);
}

static void span_put_call(struct span_note *n, const struct session *s, const struct call_report *r,
			  const char *model)
{
	const struct metered *m = r->use;

	span_put(n, "gen_ai.operation.name", "chat");
	span_put(n, "gen_ai.provider.name", usage_provider_name(s, m->usage.provider));
	span_put(n, "gen_ai.request.model", model);
	span_put(n, "gen_ai.response.model", m->usage.model);
	span_put(n, "gen_ai.response.id", m->usage.response_id);
	span_put_only(n, "gen_ai.response.finish_reasons", m->usage.finish_reason);
	put_call_tokens(n, &m->usage);
	if (m->status)
		span_put_int(n, "http.response.status_code", m->status);
	if (r->answered)
		span_put_int(n, "acpd.model.first_byte_ms", (int64_t)r->ttfb_ms);
	span_put_int(n, "acpd.model.attempt", r->attempt);
	span_put(n, "acpd.model.via", harness_via_name(s->setup.gateway.via));
	span_put(n, "acpd.model.call.id", r->call_id);
	span_put(n, "acpd.provider.request.id", r->request_id);
	if (r->auxiliary)
		span_put_bool(n, "acpd.model.auxiliary", true);
}

void model_call_span(struct session *s, const struct session_turn *t, const struct call_report *r)
{
	const char *model = r->model_asked ? r->model_asked : r->use->usage.model;
	struct span_note n;
	struct trace_span x;

	measure_call(s, r, model);
	if (t)
		span_begin_in(&x, &t->span);
	else
		span_begin(s, &x, trace_of(s)->opened.parent);
	x.began_ns -= MIN(x.began_ns, r->duration_ms * 1000000);
	if (!span_tell(s, &x, &n, SPAN_CLIENT, "chat", model))
		return;
	span_put_call(&n, s, r, model);
	span_told(&n, call_error(r), r->use->failed ? r->use->error.message : NULL);
}

/* --- tool calls ---------------------------------------------------------------------------------------------- */

/* Outside turns a call has no span. */
void tool_call_span_begin(const struct session *s, struct turn_tool_call *c)
{
	if (s->turn.current)
		span_begin_in(&c->span, &s->turn.current->span);
}

static void measure_tool(const struct session *s, const struct turn_tool_call *c, bool ok,
			 uint64_t ms)
{
	struct metric_label l[MEASURED_LABELS] = {
		{ "gen_ai.operation.name", "execute_tool" },
		{ "gen_ai.tool.name", c->name ? c->name : "other" },
		{ "gen_ai.agent.name", s->def->id },
		{ "error.type", ok ? NULL : "tool_error" },
	};

	telemetry_measure(outbox_telemetry(s->store->outbox), MEASURED_TOOL, l, (double)ms / 1000);
}

/* The id as clients have it, without the quotes of its JSON. */
static void put_call_id(struct span_note *n, const struct turn_tool_call *c)
{
	_cleanup_(freep) char *id = NULL;
	const char *raw = c->ours ? c->ours : c->id;

	if (jstr_decode((struct jval){ J_STRING, slice_of(raw) }, RPC_ID_MAX, &id) == 0)
		span_put(n, "gen_ai.tool.call.id", id);
}

void tool_call_span_end(struct session *s, struct turn_tool_call *c, bool ok, uint64_t ms)
{
	const char *name = c->name ? c->name : "other";
	struct span_note n;

	if (!s->def)
		return; /* the journal is read at a start: this was told when it happened */
	measure_tool(s, c, ok, ms);
	if (!span_tell(s, &c->span, &n, SPAN_INTERNAL, "execute_tool", name))
		return;
	span_put(&n, "gen_ai.operation.name", "execute_tool");
	span_put(&n, "gen_ai.tool.name", name);
	span_put(&n, "gen_ai.tool.type", "function");
	put_call_id(&n, c);
	span_put(&n, "acpd.tool.kind", c->kind);
	span_put(&n, "acpd.mcp.tool", c->served);
	span_told(&n, ok ? NULL : "tool_error", NULL);
}

/* --- questions ----------------------------------------------------------------------------------------------- */

void question_span_begin(const struct session *s, struct session_question *a)
{
	session_span_begin(s, &a->span);
}

/* A refusal is an answer, not an error. */
void question_span_end(const struct session *s, struct session_question *a, const char *by,
		       const char *outcome)
{
	struct span_note n;

	if (!span_tell(s, &a->span, &n, SPAN_INTERNAL, "wait_for_human",
		       a->elicitation ? "elicitation" : "permission"))
		return;
	span_put_int(&n, "acpd.question", (int64_t)a->no);
	span_put(&n, "acpd.question.answered_by", by);
	span_put(&n, "acpd.question.outcome", outcome);
	span_told(&n, NULL, NULL);
}

/* --- checks, workspaces -------------------------------------------------------------------------------------- */

void session_span_begin(const struct session *s, struct trace_span *x)
{
	if (s->turn.current)
		span_begin_in(x, &s->turn.current->span);
	else
		span_begin(s, x, trace_of(s)->opened.parent);
}

/* The span of a turn is a parent only while the turn runs. */
void check_span_begin(const struct session *s, struct trace_span *x, uint64_t turn)
{
	const struct session_turn *t = s->turn.current;

	if (turn && t && t->no == turn)
		span_begin_in(x, &t->span);
	else
		span_begin(s, x, trace_of(s)->opened.parent);
}

void check_span_end(const struct session *s, struct trace_span *x, const struct check_spec *c,
		    const struct check_evidence *v)
{
	struct span_note n;

	if (!span_tell(s, x, &n, SPAN_INTERNAL, "check", c->id))
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

/* e NULL: everything was written. */
void materialize_span_end(const struct session *s, struct trace_span *x, const struct err *e)
{
	struct span_note n;

	if (!span_tell(s, x, &n, SPAN_INTERNAL, "materialize", NULL))
		return;
	span_put_bool(&n, "acpd.workspace.written", !e);
	span_told(&n, e ? e->reason : NULL, e ? e->msg : NULL);
}
