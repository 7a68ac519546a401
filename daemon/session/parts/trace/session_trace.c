/*
 * session_trace.c - the trace context that a session passes on to processes and MCP servers, and the spans of its turns and
 * tool calls with the metrics measured with them.
 *
 * The daemon's own span replaces the client's traceparent only if traces are exported; otherwise
 * the client's passes unchanged. Members that a request already has are never replaced. tracestate
 * belongs to a traceparent, so it is added only with the client's own.
 *
 * Metrics are recorded for every tool call; a span is exported only if its trace is sampled (span_tell). While a journal is
 * replayed, s->def is NULL and tool calls produce no spans: the daemon that ran them exported them. A failed span has the
 * class as error.type.
 */
#include "session/parts/trace/session_trace.h"

#include "base/limits.h"
#include "harnesses/spawn_plan.h"
#include "json/json.h"
#include "outbox/outbox.h"
#include "session/core/session_internal.h"
#include "session/parts/trace/tool_trace.h"

/* The context of the call that opens the session. */
static void trace_opened(struct session *s, const struct session_params *p)
{
	trace_context_read(&trace_of(s)->opened, p->meta);
}

/* Of the turn that runs, or that a harness is started for. */
static const struct trace_context *trace_context_now(const struct session *s)
{
	const struct session_turn *t = s->turn.current;

	if (!t)
		t = turn_first_queued(s);
	return t && !trace_context_is_empty(&t->trace) ? &t->trace : &trace_of(s)->opened;
}

/* Of the turn's own span, if there is one. */
static const char *parent_now(const struct session *s, const struct trace_context *t,
			      char out[TRACEPARENT_SIZE])
{
	return s->turn.current && s->turn.current->span.on ?
		       span_text(&s->turn.current->span, out) :
		       t->parent;
}

/* TRACEPARENT, TRACESTATE and BAGGAGE, for a process that is started now. */
static void session_trace_env(const struct session *s, struct harness_plan *plan)
{
	const struct trace_context *t = trace_context_now(s);
	char parent[TRACEPARENT_SIZE];
	const char *shown = parent_now(s, t, parent);

	if (*shown)
		harness_plan_env(plan, "TRACEPARENT", shown);
	if (t->state)
		harness_plan_env(plan, "TRACESTATE", t->state);
	if (t->baggage)
		harness_plan_env(plan, "BAGGAGE", t->baggage);
}

static void put_if_absent(struct jw *w, struct slice have, const char *name, const char *value)
{
	if (!have.n || jobj_get(have, name).type == J_NONE)
		jw_str(w, name, value);
}

void session_trace_put(const struct session *s, const struct relay_span *span, struct slice have,
		       struct buf *members)
{
	const struct session_turn *t = s->turn.current;
	bool named = have.n && jobj_get(have, "traceparent").type != J_NONE;
	char text[TRACEPARENT_SIZE];
	struct jw w = JW(members);
	const char *parent = span ? relay_span_text(span, text) : t ? turn_trace(t, text) : "";

	if (!named && *parent)
		jw_str(&w, "traceparent", parent);
	if (!t)
		return;
	if (!named && *t->trace.parent)
		put_if_absent(&w, have, "tracestate", t->trace.state);
	put_if_absent(&w, have, "baggage", t->trace.baggage);
	put_if_absent(&w, have, "requestId", t->trace.request_id);
}

/* _meta for the harness: the prompt's, with the turn's span as the parent. Borrowed, from t or b. */
static struct slice session_trace_meta(const struct session_turn *t, struct buf *b)
{
	char parent[TRACEPARENT_SIZE];
	struct jw w = JW(b);

	if (!t->span.on)
		return SLICE_NONE;
	jw_obj(&w, NULL);
	if (t->meta)
		jw_members(&w, slice_of(t->meta), "traceparent");
	jw_str(&w, "traceparent", span_text(&t->span, parent));
	jw_end_obj(&w);
	return buf_slice(b);
}

/* --- what is used -------------------------------------------------------------------------------------------- */

static const char *const token_names[] = {
	[COUNT_INPUT] = "gen_ai.usage.input_tokens",
	[COUNT_OUTPUT] = "gen_ai.usage.output_tokens",
	[COUNT_CACHE_READ] = "gen_ai.usage.cache_read.input_tokens",
	[COUNT_CACHE_WRITE] = "gen_ai.usage.cache_creation.input_tokens",
	[COUNT_REASONING] = "gen_ai.usage.reasoning.output_tokens",
};

void span_put_tokens(struct span_note *n, const struct harness_usage *u)
{
	for (size_t i = 0; i < ARRAY_SIZE(token_names); i++)
		if (u->has & (1u << i))
			span_put_int(n, token_names[i], (int64_t)u->count[i]);
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

static void turn_span_begin(struct session *s, struct session_turn *t)
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

static void turn_span_end(struct session *s, struct session_turn *t)
{
	struct span_note n;

	if (!span_tell(s, &t->span, &n, SPAN_INTERNAL, "invoke_agent", s->def->id))
		return;
	span_put_turn(&n, s, t);
	span_told(&n, t->end.failed ? t->end.error.cls : NULL, t->end.error.message);
}

/* --- tool calls ---------------------------------------------------------------------------------------------- */

/* Outside turns a call has no span. */
static void tool_call_span_begin(struct session *s, struct turn_tool_call *c)
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

static void tool_call_span_end(struct session *s, struct turn_tool_call *c, bool ok, uint64_t ms)
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

/* --- the part --------------------------------------------------------------------------------------------------- */

static void trace_drop(struct session *s)
{
	trace_context_done(&trace_of(s)->opened);
}

const struct session_part trace_part = {
	.name = "trace",
	.size = sizeof(struct session_trace),
	.drop = trace_drop,
	.store_size = sizeof(struct store_trace),
	.begin = trace_opened,
	.opened = trace_opened,
	.put_env = session_trace_env,
	.turn_begin = turn_span_begin,
	.prompt_meta = session_trace_meta,
	.tool_call_begin = tool_call_span_begin,
	.tool_call_end = tool_call_span_end,
	.turn_ended = turn_span_end,
};
