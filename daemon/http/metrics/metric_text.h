/* metric_text.h - metrics in the text format of Prometheus, version 0.0.4. */
#pragma once

#include "base/buf.h"
#include "base/metric.h"

#define METRIC_TEXT_TYPE "text/plain; version=0.0.4"

struct metric_text {
	struct metric_sink sink;
	struct buf *out;
	const char *name; /* of the family, and help: told with its first point */
	const char *help;
	enum metric_kind kind;
	bool told;
};

/* A family without points is left out. */
void metric_text_init(struct metric_text *t, struct buf *out);
