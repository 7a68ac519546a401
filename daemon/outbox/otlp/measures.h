/*
 * measures.h - histograms of what model and tool calls took, as the GenAI conventions name them. At most MEASURES_MAX sets of
 * labels are told apart in each; the others are one, marked otel.metric.overflow.
 */
#pragma once

#include "outbox/otlp/telemetry.h"

struct measures;

struct measures *measures_new(void);
struct measures *measures_free(struct measures *m);
void measures_add(struct measures *m, enum measured what,
		  const struct metric_label labels[MEASURED_LABELS], double value);
/* Each that has values as a message Metric, to fn. */
void measures_put(const struct measures *m, bool json, uint64_t start_ns, uint64_t now_ns,
		  void (*fn)(void *ctx, struct slice metric), void *ctx);
