/*
 * metric.h - numbers that the daemon tells of itself, as whoever collects them gives them to whoever writes them down:
 * Prometheus' text (http/metrics/), or OTLP (outbox/otlp/).
 *
 * A family is begun, then its points follow, each with other labels. Names and labels are what Prometheus wants: base
 * units, and _total at the end of counters alone. All texts are borrowed for the call.
 */
#pragma once

#include <stddef.h>

enum metric_kind { METRIC_GAUGE, METRIC_COUNTER };

struct metric_label {
	const char *name, *value; /* value NULL: left out */
};

/* Embedded in its owner. */
struct metric_sink {
	void (*family)(struct metric_sink *s, const char *name, const char *help,
		       enum metric_kind kind);
	void (*point)(struct metric_sink *s, const struct metric_label *labels, size_t n,
		      double value);
};

void metric_family(struct metric_sink *s, const char *name, const char *help);
/* label may be NULL. */
void metric_point(struct metric_sink *s, const char *label, const char *of, double value);
/* A family of one point without labels. */
void metric_put(struct metric_sink *s, const char *name, const char *help, double value);
