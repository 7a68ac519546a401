#include "base/format/metric.h"

#include <string.h>

/* The kind is in the name: it ends in _total, or does not. */
static enum metric_kind metric_kind_of(const char *name)
{
	const char *last = strrchr(name, '_');

	return last && strcmp(last, "_total") == 0 ? METRIC_COUNTER : METRIC_GAUGE;
}

void metric_family(struct metric_sink *s, const char *name, const char *help)
{
	s->family(s, name, help, metric_kind_of(name));
}

void metric_point(struct metric_sink *s, const char *label, const char *of, double value)
{
	struct metric_label l = { label, of };

	s->point(s, &l, label ? 1 : 0, value);
}

void metric_put(struct metric_sink *s, const char *name, const char *help, double value)
{
	metric_family(s, name, help);
	metric_point(s, NULL, NULL, value);
}
