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
#include "session/core/session_internal.h"
#include "session/parts/trace/session_trace.h"

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

void span_put_tokens(struct span_note *n, const struct harness_usage *u)
{
	for (size_t i = 0; i < ARRAY_SIZE(tokens); i++)
		if (u->has & (1u << tokens[i].count))
			span_put_int(n, tokens[i].name, (int64_t)u->count[tokens[i].count]);
}

static void put_turn_tokens(struct span_note *n, const struct account *a)
{
	struct harness_usage u = { 0 };

	account_add_to(a, &u);
	span_put_tokens(n, &u);
}

/* --- parents ------------------------------------------------------------------------------------------------- */

void span_begin_for(const struct session *s, struct trace_span *x, const struct session_turn *t)
{
	if (t)
		span_begin_in(x, &t->span);
	else
		span_begin(s, x, trace_of(s)->opened.parent);
}

void session_span_begin(const struct session *s, struct trace_span *x)
{
	span_begin_for(s, x, s->turn.current);
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

	span_put(n, "gen_ai.provider.name", session_provider_name(s, provider));
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
	PARTS_CALL(put_span, t, n, SPAN_CAUSE);
	if (!t->end.failed)
		span_put_only(n, "gen_ai.response.finish_reasons", t->end.stop_reason);
	PARTS_CALL(put_span, t, n, SPAN_OUTCOME);
}

void turn_span_end(struct session *s, struct session_turn *t)
{
	struct span_note n;

	if (!span_tell(s, &t->span, &n, SPAN_INTERNAL, "invoke_agent", s->def->id))
		return;
	span_put_turn(&n, s, t);
	span_told(&n, t->end.failed ? t->end.error.cls : NULL, t->end.error.message);
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
