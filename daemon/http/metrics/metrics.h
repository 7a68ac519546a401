/*
 * metrics.h - all numbers that the daemon reports of itself: of its work (daemon_metrics.c), and of the machine and
 * the processes on it (machine_metrics.c); and their text format (metric_text.c).
 *
 * What agents decide is no label: a process is named by what the daemon started it as, and at most METRIC_PROCESSES_MAX
 * have rows.
 */
#pragma once

#include "base/buf.h"
#include "base/format/metric.h"

struct http_context;

void daemon_metrics_put(const struct http_context *ctx, struct metric_sink *m);
void machine_metrics_put(const struct http_context *ctx, struct metric_sink *m);

/* The text format of Prometheus, version 0.0.4. */
#define METRIC_TEXT_TYPE "text/plain; version=0.0.4"

struct metric_text {
	struct metric_sink sink;
	struct buf *out;
	const char *name; /* of the family, and help: told with its first point */
	const char *help;
	enum metric_kind kind;
	bool is_told;
};

/* A family without points is left out. */
void metric_text_init(struct metric_text *t, struct buf *out);
