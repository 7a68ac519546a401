/*
 * session_trace.c - passes trace context on to harness processes and MCP servers.
 *
 * The daemon's own span replaces the client's traceparent only if traces are exported; otherwise
 * the client's passes unchanged. Members that a request already has are never replaced. tracestate
 * belongs to a traceparent, so it is added only with the client's own.
 */
#include "session/parts/trace/session_trace.h"

#include "harnesses/spawn_plan.h"
#include "json/jenc.h"
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
	return t && !trace_context_empty(&t->trace) ? &t->trace : &trace_of(s)->opened;
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

static void trace_drop(struct session *s)
{
	trace_context_done(&trace_of(s)->opened);
}

static void begin_call_span(struct session *s, struct turn_tool_call *c)
{
	tool_call_span_begin(s, c);
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
	.tool_call_begin = begin_call_span,
	.tool_call_end = tool_call_span_end,
	.turn_ended = turn_span_end,
};
