/*
 * daemon_metrics.h - all numbers that the daemon tells of itself: of its work (daemon_metrics.c), and of the machine and
 * the processes on it (machine_metrics.c).
 *
 * What agents decide is no label: a process is named by what the daemon started it as, and at most METRIC_PROCESSES_MAX
 * have rows.
 */
#pragma once

#include "base/metric.h"

struct http_context;

void daemon_metrics_put(const struct http_context *ctx, struct metric_sink *m);
void machine_metrics_put(const struct http_context *ctx, struct metric_sink *m);
