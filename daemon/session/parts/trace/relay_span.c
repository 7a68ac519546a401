/*
 * relay_span.c - spans of requests to the client's MCP servers, named as the MCP conventions of OpenTelemetry do.
 *
 * A request has a span only while traces are exported: otherwise relay_span_begin returns NULL, which
 * relay_span_end accepts.
 */
#include "base/limits.h"
#include "json/jstr.h"
#include "session/core/session_internal.h"
#include "session/parts/trace/session_trace.h"
#include "session/parts/trace/tool_trace.h"

#define RELAY_NAME_MAX 256

struct relay_span {
	struct session *session;
	struct trace_span span;
	char *server, *method, *tool;
};

/* The caller's own context goes before the turn's. What a harness asks between turns, of a session that was opened without
 * one, would be a trace of its own each time: it is none. */
static void relay_begin_span(struct session *s, struct trace_span *x, struct slice params)
{
	struct trace_context caller = { .state = NULL };

	trace_context_read(&caller, jobj_get(params, "_meta").raw);
	if (*caller.parent)
		span_begin(s, x, caller.parent);
	else if (s->turn.current || *trace_of(s)->opened.parent)
		session_span_begin(s, x);
	trace_context_done(&caller);
}

struct relay_span *relay_span_begin(struct session *s, const char *server, const char *method,
				    struct slice params)
{
	struct relay_span *r;
	struct trace_span x = { .on = false };

	relay_begin_span(s, &x, params);
	if (!x.on)
		return NULL;
	r = new0(struct relay_span);
	r->session = s;
	r->span = x;
	r->server = xstrdup(server);
	r->method = xstrdup(method);
	if (strcmp(method, "tools/call") == 0)
		jstr_decode(jobj_get(params, "name"), RELAY_NAME_MAX, &r->tool);
	return r;
}

const char *relay_span_text(const struct relay_span *r, char out[TRACEPARENT_SIZE])
{
	return span_text(&r->span, out);
}

static void relay_report(struct relay_span *r, const char *type)
{
	struct span_note n;

	if (!span_tell(r->session, &r->span, &n, SPAN_CLIENT, r->method, r->tool))
		return;
	span_put(&n, "mcp.method.name", r->method);
	span_put(&n, "acpd.mcp.server", r->server);
	span_put(&n, "gen_ai.tool.name", r->tool);
	span_put(&n, "gen_ai.operation.name", r->tool ? "execute_tool" : NULL);
	span_told(&n, type, NULL);
}

/* The code of a JSON-RPC error is its type. A tool that fails answers without one: isError in its result. */
const char *mcp_error_type(struct slice result, struct slice error, char code[MCP_CODE_SIZE])
{
	if (error.n) {
		snprintf(code, MCP_CODE_SIZE, "%.*s", (int)jobj_get(error, "code").raw.n,
			 jobj_get(error, "code").raw.p);
		return *code ? code : "_OTHER";
	}
	if (!result.n)
		return "cancelled";
	return jobj_get(result, "isError").type == J_TRUE ? "tool_error" : NULL;
}

struct relay_span *relay_span_end(struct relay_span *r, struct slice result, struct slice error)
{
	char code[MCP_CODE_SIZE];

	if (!r)
		return NULL;
	relay_report(r, mcp_error_type(result, error, code));
	free_each(r->server, r->method, r->tool, r);
	return NULL;
}
