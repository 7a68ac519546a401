/* run_trace.c - how other systems find a run again: the trace of its request, and its own id (session/trace). */
#include "agui/agui_run.h"

#include <stdio.h>

void agui_run_trace(struct agui_run *r, struct slice parent, struct slice state)
{
	char text[TRACEPARENT_SIZE];

	if (parent.n >= sizeof(text))
		return;
	snprintf(text, sizeof(text), "%.*s", (int)parent.n, parent.n ? parent.p : "");
	if (trace_parent_set(r->traceparent, text) && state.n > 1) /* "?": too long */
		r->tracestate = xstrndup(state.p, state.n);
}

/* Who sent the request is nearer than who made its body. */
void agui_run_put_trace(const struct agui_run *r, struct jw *w)
{
	struct slice given = jobj_get(r->in.given_props.raw, "_meta").raw;

	if (*r->traceparent) {
		jw_str(w, "traceparent", r->traceparent);
		jw_str(w, "tracestate", r->tracestate);
	} else {
		jw_raw(w, "traceparent", jobj_get(given, "traceparent").raw);
		jw_raw(w, "tracestate", jobj_get(given, "tracestate").raw);
	}
	jw_raw(w, "baggage", jobj_get(given, "baggage").raw);
	jw_str(w, "requestId", r->in.run_id);
}
