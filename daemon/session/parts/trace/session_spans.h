/*
 * session_spans.h - the spans of a turn: itself, its model calls, tool calls, questions, checks, and requests that are
 * relayed; and of what is put into a workspace. Attributes are named as the GenAI conventions of OpenTelemetry do.
 *
 * Tokens are told once: by the spans of model calls where these pass the daemon, else by the turn's.
 */
#pragma once

#include "session/core/turn/span.h"

struct call_report;
struct check_evidence;
struct check_spec;
struct session_question;
struct session_turn;
struct turn_tool_call;

/* It begins, or has ended as its members say. */
void turn_span_begin(struct session *s, struct session_turn *t);
void turn_span_end(struct session *s, struct session_turn *t);
/* A call that passed has ended just now. t: its turn, or NULL. */
void model_call_span(struct session *s, const struct session_turn *t, const struct call_report *r);
void tool_call_span_begin(const struct session *s, struct turn_tool_call *c);
void tool_call_span_end(struct session *s, struct turn_tool_call *c, bool ok, uint64_t ms);
void question_span_begin(const struct session *s, struct session_question *a);
void question_span_end(const struct session *s, struct session_question *a, const char *by,
		       const char *outcome);
/* turn: of which they are; 0: none. */
void check_span_begin(const struct session *s, struct trace_span *x, uint64_t turn);
void check_span_end(const struct session *s, struct trace_span *x, const struct check_spec *c,
		    const struct check_evidence *v);
/* Of the running turn, or of the call that opened the session. */
void session_span_begin(const struct session *s, struct trace_span *x);
void materialize_span_end(const struct session *s, struct trace_span *x, const struct err *e);
#define MCP_CODE_SIZE 24
/* error.type of an MCP request, from its raw result or error; both empty: it was cancelled. NULL: it went well. */
const char *mcp_error_type(struct slice result, struct slice error, char code[MCP_CODE_SIZE]);
