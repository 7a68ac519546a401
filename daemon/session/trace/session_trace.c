#include "session/trace/session_trace.h"

#include "harnesses/spawn_plan.h"
#include "json/jenc.h"
#include "session/session_internal.h"

void session_trace_opened(struct session *s, struct slice meta)
{
	trace_context_read(&s->trace.opened, meta);
}

/* Of the turn that runs, or that a harness is started for. */
static const struct trace_context *context_now(const struct session *s)
{
	const struct session_turn *t = s->turn.current;

	if (!t)
		t = turn_first_queued((struct session *)(uintptr_t)s);
	return t && !trace_context_empty(&t->trace) ? &t->trace : &s->trace.opened;
}

void session_trace_env(const struct session *s, struct harness_plan *plan)
{
	const struct trace_context *t = context_now(s);

	if (*t->parent)
		harness_plan_env(plan, "TRACEPARENT", t->parent);
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

void session_trace_put(const struct session *s, struct slice have, struct buf *members)
{
	const struct session_turn *t = s->turn.current;
	bool named = have.n && jobj_get(have, "traceparent").type != J_NONE;
	struct jw w = JW(members);

	if (!t)
		return;
	if (!named && *t->trace.parent) {
		jw_str(&w, "traceparent", t->trace.parent);
		put_if_absent(&w, have, "tracestate", t->trace.state);
	}
	put_if_absent(&w, have, "baggage", t->trace.baggage);
	put_if_absent(&w, have, "requestId", t->trace.request_id);
}
