/*
 * telemetry.h - spans, metrics and lines of the log of this daemon, to receivers that take OTLP over HTTP.
 *
 * Nothing is sent until the daemon is claimed (telemetry_begin), and what waits goes no further once it is another sandbox's
 * (telemetry_forget). What is told here costs its encoding and a place in a bounded queue (otlp_sender.h); it never waits and
 * never fails. All texts are borrowed for the call; who calls has hidden secrets in them.
 *
 * Everything is on the loop, but for lines of the log, which other threads may write: those are left out.
 */
#pragma once

#include "base/format/metric.h"
#include "outbox/otlp/otlp_sender.h"
#include "outbox/otlp/otlp_writer.h"

struct telemetry;

/* config is taken over. */
struct telemetry *telemetry_new(struct loop *loop, struct fetcher *fetcher,
				struct otlp_config *config);
struct telemetry *telemetry_free(struct telemetry *t);
/* Whose numbers are told at each interval. */
void telemetry_collect(struct telemetry *t, void (*fn)(void *ctx, struct metric_sink *m),
		       void *ctx);
void telemetry_begin(struct telemetry *t, const char *incarnation);
void telemetry_forget(struct telemetry *t);
void telemetry_hold(struct telemetry *t, bool held);
/* The daemon ends: all goes now. */
void telemetry_flush(struct telemetry *t);
bool telemetry_busy(const struct telemetry *t);
/* False: that signal is not exported; ret is all zeros. */
bool telemetry_count(const struct telemetry *t, enum otlp_signal s, struct otlp_counts *ret);

/* --- spans -------------------------------------------------------------------------------------------------- */

/* t may be NULL. */
bool telemetry_traces(const struct telemetry *t);
/* Whether a trace that begins here is recorded. trace_id: 32 hex digits. parent: of a remote span; 1 sampled, 0 not, -1 none. */
bool telemetry_samples(const struct telemetry *t, const char *trace_id, int parent);

enum span_kind { SPAN_INTERNAL = 1, SPAN_SERVER = 2, SPAN_CLIENT = 3 };

struct telemetry_span {
	const char *trace_id, *span_id, *parent_id,
		*state; /* hex; parent_id "": none; state: or NULL */
	struct slice name;
	enum span_kind kind;
	uint64_t start_ns, end_ns; /* Unix */
};

#define SPAN_ATTRIBUTES 9 /* field of its attributes */

/* Attributes follow by otlp_attr_…, into w. */
void telemetry_span_begin(const struct telemetry *t, struct otlp_writer *w, struct buf *b,
			  const struct telemetry_span *x);
/* error: why it failed; NULL: it did not. */
void telemetry_span_end(struct telemetry *t, struct otlp_writer *w, const char *error);

/* --- durations and tokens --------------------------------------------------------------------------------------- */

enum measured { MEASURED_DURATION, MEASURED_TOKENS, MEASURED_TOOL, MEASURED_MAX };

#define MEASURED_LABELS 5

/* One more value; labels whose value is NULL are left out. */
void telemetry_measure(struct telemetry *t, enum measured what,
		       const struct metric_label labels[MEASURED_LABELS], double value);
