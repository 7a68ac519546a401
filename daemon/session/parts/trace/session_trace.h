/*
 * session_trace.h - what a session passes on of trace contexts: those of its prompts, and the one that it was opened with.
 *
 * This folder owns struct session_trace. What runs for a turn has the turn's context; what is
 * started outside of turns, as most harnesses are, that of session/new, session/load or session/resume.
 */
#pragma once

#include "session/parts/session_parts.h"
#include "base/bucket.h"
#include "session/core/turn/span.h"
#include "session/core/trace_context.h"

struct session;
struct session_turn;
struct turn_tool_call;

/* State of the part. */
struct session_trace {
	struct trace_context opened;
	struct bucket outside; /* of tool calls over /mcp: outside_call.c */
};

static inline struct session_trace *trace_of(const struct session *s)
{
	return s->parts[PART_TRACE];
}

/* For all sessions. */
struct store_trace {
	struct bucket outside; /* of calls over /mcp that are of no session */
};

static inline struct store_trace *store_trace_of(const struct session_store *st)
{
	return st->parts[PART_TRACE];
}

/*
 * The spans of a turn: itself, its model calls, tool calls, questions, checks, and requests that are relayed; and of what is
 * put into a workspace. Attributes are named as the GenAI conventions of OpenTelemetry do.
 *
 * Tokens are reported once: by the spans of model calls where these pass the daemon, otherwise by the turn's.
 */
/* Begins a span of that turn; NULL: of the call that opened the session. */
void span_begin_for(const struct session *s, struct trace_span *x, const struct session_turn *t);
/* Begins a span of the running turn, or of the call that opened the session. */
void session_span_begin(const struct session *s, struct trace_span *x);
/* Adds the counts for which the GenAI conventions have a name. */
void span_put_tokens(struct span_note *n, const struct harness_usage *u);
#define MCP_CODE_SIZE 24
/* error.type of an MCP request, from its raw result or error; both empty: it was cancelled. NULL: it went well. */
const char *mcp_error_type(struct slice result, struct slice error, char code[MCP_CODE_SIZE]);
