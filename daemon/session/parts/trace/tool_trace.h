/* tool_trace.h - the traces of requests to tools: what is passed on with them, and what is told of them. */
#pragma once

#include "base/buf.h"

struct session;
struct session_store;

/* A request to an MCP server of the client's, from when it goes on to its answer: NULL where no traces are exported.
 * params raw; context: what its server gets as traceparent, where the caller has none. */
struct relay_span;
struct relay_span *relay_span_begin(struct session *s, const char *server, const char *method,
				    struct slice params);
const char *relay_span_text(const struct relay_span *r, char out[56]);
/* error raw, or empty; isError of a result counts too. Always NULL. */
struct relay_span *relay_span_end(struct relay_span *r, struct slice result, struct slice error);
/* A tool call that comes over /mcp, from its arrival to its answer: an event of its session, a line of the log, a span,
 * and metrics. s: NULL if it is of no session; else it must outlive this. params raw. */
struct outside_call;
struct outside_call *outside_call_begin(struct session_store *st, struct session *s,
					const char *server, struct slice params);
/* What its server gets as traceparent; "": what the caller sent, since no spans are exported. */
const char *outside_call_parent(const struct outside_call *c, char out[56]);
/* As relay_span_end: result or error, raw; both empty: it was cancelled. c may be NULL. Always NULL. */
struct outside_call *outside_call_end(struct outside_call *c, struct slice result,
				      struct slice error);
/* Raw members for the _meta of a request that is passed on: the trace context of the running turn, but for what the
 * caller's own _meta (raw, or empty) has. Empty: there is none. */
void session_trace_put(const struct session *s, const struct relay_span *span, struct slice have,
		       struct buf *members);
