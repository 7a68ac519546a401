/*
 * span.h - spans of what a session does: begun where it begins, told where it ends (outbox/otlp/telemetry.h).
 *
 * A span is a value in what it is about; all zeros is none, and so is one that was begun while no traces are exported. One
 * that is not sampled is followed too: what is passed on says so. Texts have secrets hidden in them.
 */
#pragma once

#include "outbox/otlp/telemetry.h"
#include "session/core/trace_context.h"

struct session;
struct session_store;

struct trace_span {
	bool on, sampled, told;
	char trace[TRACE_ID_SIZE], id[SPAN_ID_SIZE], parent[SPAN_ID_SIZE];
	uint64_t began_ns;
};

/* parent: a traceparent, or "": a trace begins. */
void span_begin(const struct session *s, struct trace_span *x, const char *parent);
/* The same of what may be no session's. */
void span_begin_at(const struct session_store *st, struct trace_span *x, const char *parent);
/* Within another, which may be none: then this is none. */
void span_begin_in(struct trace_span *x, const struct trace_span *of);
/* As traceparent; "" for none. */
const char *span_text(const struct trace_span *x, char out[TRACEPARENT_SIZE]);

/* A span that is being told. */
struct span_note {
	const struct session *session; /* NULL: of none, and so without secrets */
	struct telemetry *telemetry;
	struct otlp_writer w;
	struct buf b;
};

/* True: say what it was, then span_told. Once. */
bool span_tell(const struct session *s, struct trace_span *x, struct span_note *n,
	       enum span_kind kind, const char *name, const char *of);
/* The same for a note that is prepared, of what may be no session's (s NULL). */
struct span_note span_note_of(const struct session_store *st, const struct session *s);
bool span_tell_at(struct trace_span *x, struct span_note *n, enum span_kind kind, const char *name,
		  const char *of);
void span_put(struct span_note *n, const char *key, const char *text);
void span_put_int(struct span_note *n, const char *key, int64_t v);
void span_put_bool(struct span_note *n, const char *key, bool v);
void span_put_only(struct span_note *n, const char *key, const char *text);
/* type: error.type; NULL: it went well. text: or NULL. */
void span_told(struct span_note *n, const char *type, const char *text);
