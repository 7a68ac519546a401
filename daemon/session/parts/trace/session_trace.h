/*
 * session_trace.h - what a session passes on of trace contexts: those of its prompts, and the one that it was opened with.
 *
 * This folder owns struct session_trace . What runs for a turn has the turn's context; what is
 * started outside of turns, as most harnesses are, that of session/new, session/load or session/resume.
 */
#pragma once

#include "session/parts/session_parts.h"
#include "base/bucket.h"
#include "session/core/turn/trace_context.h"

struct session;
struct session_turn;
struct buf;
struct harness_plan;

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

/* _meta for the harness: the prompt's, with the turn's span as the parent. Borrowed, from t or b. */
struct slice session_trace_meta(const struct session_turn *t, struct buf *b);
/* TRACEPARENT, TRACESTATE and BAGGAGE, for a process that is started now. */
void session_trace_env(const struct session *s, struct harness_plan *plan);
