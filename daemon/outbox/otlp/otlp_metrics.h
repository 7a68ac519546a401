/* otlp_metrics.h - families of metrics (base/format/metric.h) as messages Metric: counters as cumulative sums. Their names lose the
 * ending that the kind and the unit say: a receiver that makes Prometheus' names of them has those of /metrics. */
#pragma once

#include "base/format/metric.h"
#include "outbox/otlp/telemetry.h"

struct otlp_metrics {
	struct metric_sink sink;
	struct otlp_writer w;
	struct buf message;
	bool json, open;
	enum metric_kind kind;
	uint64_t start_ns, now_ns;
	void (*fn)(void *ctx, struct slice metric);
	void *ctx;
};

/* fn gets each family. */
void otlp_metrics_init(struct otlp_metrics *m, bool json, uint64_t start_ns, uint64_t now_ns,
		       void (*fn)(void *ctx, struct slice metric), void *ctx);
/* The last of them. */
void otlp_metrics_done(struct otlp_metrics *m);

/* Histograms of what model and tool calls took, as the GenAI conventions name them. At most MEASURES_MAX sets of labels are
 * told apart in each; the others are one, marked otel.metric.overflow. */
struct measures;

struct measures *measures_new(void);
struct measures *measures_free(struct measures *m);
void measures_add(struct measures *m, enum measured what,
		  const struct metric_label labels[MEASURED_LABELS], double value);
/* Each that has values as a message Metric, to fn. */
void measures_put(const struct measures *m, bool json, uint64_t start_ns, uint64_t now_ns,
		  void (*fn)(void *ctx, struct slice metric), void *ctx);
