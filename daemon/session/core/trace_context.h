/*
 * trace_context.h - how the clients of a prompt, and of what it calls, find it again in systems of theirs: W3C Trace
 * Context and Baggage, which ACP and MCP carry in _meta, and a word of the client's own, requestId.
 *
 * What is malformed counts as absent, as these standards want. All zeros is none. Pure but for its memory.
 */
#pragma once

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

#define TRACEPARENT_SIZE 56 /* W3C: 2-32-16-2 hex digits with dashes, and NUL */
#define TRACE_ID_SIZE 33
#define SPAN_ID_SIZE 17

struct trace_context {
	char parent[TRACEPARENT_SIZE]; /* "": none */
	char *state, *baggage, *request_id;
};

/* meta: raw object, or empty. */
void trace_context_read(struct trace_context *t, struct slice meta);
/* The same from headers of HTTP; "" where one is absent. */
void trace_context_read_headers(struct trace_context *t, const char *parent, const char *state);
void trace_context_copy(struct trace_context *to, const struct trace_context *from);
void trace_context_done(struct trace_context *t);
/* Nothing of it is there. */
bool trace_context_is_empty(const struct trace_context *t);
/* Takes over the text if it is a traceparent. */
bool trace_parent_set(char to[TRACEPARENT_SIZE], const char *text);
/* Of a traceparent that is there. */
struct slice trace_id_of(const char *parent);
struct slice trace_span_of(const char *parent);
bool trace_is_sampled(const char *parent);
/* A new one for a span of ours: its trace goes on, or begins here. */
void trace_parent_make(char to[TRACEPARENT_SIZE], const char *trace_id, const char *span_id,
		       bool sampled);
