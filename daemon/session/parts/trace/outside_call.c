/*
 * outside_call.c - tool calls that come over /mcp, told as those of a turn are.
 *
 * Their number is up to whoever has a token. Each is counted and measured, and is a span where spans are exported: these
 * are bounded by their queue. Events stay in the journal and lines in the log, so those have a pace; what was left out
 * is told with the next.
 */
#include "base/bucket.h"
#include "base/clock.h"
#include "json/json.h"
#include "outbox/outbox.h"
#include "session/core/session_internal.h"
#include "session/core/redact/redact_internal.h"
#include "session/parts/trace/session_trace.h"
#include "session/parts/trace/tool_trace.h"

struct outside_call {
	struct session_store *store;
	struct session *session; /* NULL: of none */
	struct trace_context caller;
	struct trace_span span;
	char *server, *tool;
	uint64_t since;
};

/* How it ended. */
struct call_outcome {
	enum outside_end end;
	const char *type; /* error.type, or NULL */
	char code[MCP_CODE_SIZE];
	char *reason; /* as far as the answer has one, and masked */
	uint64_t ms;
};

static const char *const words[] = { [OUTSIDE_COMPLETED] = "completed",
				     [OUTSIDE_FAILED] = "failed",
				     [OUTSIDE_CANCELLED] = "cancelled",
				     [OUTSIDE_NEEDS_INPUT] = "input_required" };

const char *outside_end_word(enum outside_end end)
{
	return words[end];
}

/* The caller's own trace context comes before the one that the session was opened with. */
struct outside_call *outside_call_begin(struct session_store *st, struct session *s,
					const char *server, struct slice params)
{
	struct outside_call *c = new0(struct outside_call);

	c->store = st;
	c->session = s;
	c->server = xstrdup(server);
	c->since = clock_mono_ms();
	if (jstr_decode(jobj_get(params, "name"), POLICY_NAME_MAX, &c->tool) < 0)
		c->tool = NULL;
	trace_context_read(&c->caller, jobj_get(params, "_meta").raw);
	span_begin_at(st, &c->span,
		      *c->caller.parent || !s ? c->caller.parent : trace_of(s)->opened.parent);
	return c;
}

const char *outside_call_parent(const struct outside_call *c, char out[TRACEPARENT_SIZE])
{
	return span_text(&c->span, out);
}

/* --- its end ------------------------------------------------------------------------------------------------ */

/* Both empty: the request was cancelled. */
static enum outside_end outside_end_of(struct slice result, struct slice error)
{
	if (!result.n && !error.n)
		return OUTSIDE_CANCELLED;
	if (error.n || jobj_get(result, "isError").type == J_TRUE)
		return OUTSIDE_FAILED;
	return jstr_is(jobj_get(result, "resultType"), "input_required") ? OUTSIDE_NEEDS_INPUT :
									   OUTSIDE_COMPLETED;
}

/* The daemon's refusals, and errors of servers that have such a word. */
static struct jval reason_of(struct slice result, struct slice error)
{
	struct slice own = jobj_get(jobj_get(result, "_meta").raw, "acpd").raw;

	return error.n ? jobj_get(jobj_get(error, "data").raw, "reason") :
			 jobj_get(jobj_get(own, "error").raw, "code");
}

static void outside_put_event(const struct outside_call *c, const struct call_outcome *o,
			      unsigned more)
{
	JW_BUF(w, b);

	jw_str(&w, "kind", "lifecycle");
	jw_str(&w, "event", "tool_called");
	jw_str(&w, "via", "mcp");
	jw_str(&w, "server", c->server);
	jw_str(&w, "tool", c->tool);
	jw_str(&w, "outcome", words[o->end]);
	jw_str(&w, "reason", o->reason);
	jw_uint(&w, "durationMs", o->ms);
	if (more)
		jw_uint(&w, "more", more);
	event_note_of(c->session, &c->caller, buf_slice(&b));
}

/* The fields that every line has are the variable arguments; first has those that only some have. */
static void outside_log_write(const char *const *first, ...)
{
	va_list ap;

	va_start(ap, first);
	log_vwrite(LOG_INFO, "mcp", "tool called", first, ap);
	va_end(ap);
}

static void outside_log(const struct outside_call *c, const struct call_outcome *o, unsigned more)
{
	char parent[TRACEPARENT_SIZE];
	const char *trace = c->span.on ? outside_call_parent(c, parent) : c->caller.parent;
	_cleanup_(freep) char *tool = xstrdup(c->tool ? c->tool : "");
	const struct {
		const char *key, *value;
	} known[] = {
		{ "session", c->session ? c->session->id : NULL },
		{ "traceparent", *trace ? trace : NULL },
		{ "clientRequestId", c->caller.request_id },
		{ "configVersion",
		  c->session ? c->session->setup.labels[LABEL_CONFIG_VERSION] : NULL },
		{ "reason", o->reason },
		{ "more", more ? NUMBER_TEXT(more) : NULL },
	};
	const char *first[2 * ARRAY_SIZE(known) + 1];
	size_t n = 0;

	if (c->session)
		session_mask_string(c->session, &tool);
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (!known[i].value)
			continue;
		first[n++] = known[i].key;
		first[n++] = known[i].value;
	}
	first[n] = NULL;
	outside_log_write(first, "server", c->server, "tool", tool, "outcome", words[o->end], "ms",
			  NUMBER_TEXT(o->ms), NULL);
}

static void put_span(struct outside_call *c, const struct call_outcome *o)
{
	struct span_note n = span_note_of(c->store, c->session);

	if (!span_tell_at(&c->span, &n, SPAN_SERVER, "execute_tool", c->tool))
		return;
	span_put(&n, "gen_ai.operation.name", "execute_tool");
	span_put(&n, "gen_ai.tool.name", c->tool);
	span_put(&n, "gen_ai.tool.type", "function");
	span_put(&n, "mcp.method.name", "tools/call");
	span_put(&n, "acpd.mcp.server", c->server);
	span_put(&n, "acpd.request.id", c->caller.request_id);
	span_told(&n, o->type, o->reason);
}

/* Names that no server knew are up to the caller, and each would be a set of labels. */
static void outside_measure(const struct outside_call *c, const struct call_outcome *o)
{
	bool known = c->tool && (o->end == OUTSIDE_COMPLETED || o->end == OUTSIDE_NEEDS_INPUT ||
				 (o->type && strcmp(o->type, "tool_error") == 0));
	struct metric_label l[MEASURED_LABELS] = {
		{ "gen_ai.operation.name", "execute_tool" },
		{ "gen_ai.tool.name", known ? c->tool : "other" },
		{ "acpd.mcp.server", c->server },
		{ "error.type", o->type },
	};

	c->store->totals.outside[o->end]++;
	telemetry_measure(outbox_telemetry(c->store->outbox), MEASURED_TOOL, l,
			  (double)o->ms / 1000);
}

/* Asks the bucket before it formats anything: a flood costs little. The next line reports how many were left
 * out. */
static void outside_report(struct outside_call *c, const struct call_outcome *o)
{
	struct bucket *pace = c->session ? &trace_of(c->session)->outside :
					   &store_trace_of(c->store)->outside;
	unsigned more;

	if (!bucket_take(pace, clock_mono_ms(), OUTSIDE_CALLS_BURST, OUTSIDE_CALLS_EACH_MS))
		return;
	more = bucket_left_out(pace);
	outside_log(c, o, more);
	if (c->session)
		outside_put_event(c, o, more);
}

struct outside_call *outside_call_end(struct outside_call *c, struct slice result,
				      struct slice error)
{
	struct call_outcome o = { .end = outside_end_of(result, error) };

	if (!c)
		return NULL;
	o.type = mcp_error_type(result, error, o.code);
	o.ms = clock_mono_ms() - c->since;
	if (jstr_decode(reason_of(result, error), OUTSIDE_REASON_MAX, &o.reason) < 0)
		o.reason = NULL;
	if (c->session)
		session_mask_string(c->session, &o.reason);
	/* Measured and counted always; the event and the log line have a pace. */
	outside_measure(c, &o);
	outside_report(c, &o);
	put_span(c, &o);
	trace_context_done(&c->caller);
	free_each(o.reason, c->server, c->tool, c);
	return NULL;
}
