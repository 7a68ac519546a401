/*
 * otlp_metrics.c - a metric_sink that converts families of metrics to OTLP messages.
 *
 * A message is complete when the next family begins or at otlp_metrics_done, and is then passed to
 * fn. Prometheus encodes unit and kind as suffixes of the name, OTLP has fields for them: the
 * suffixes are removed, so a receiver that converts names back gets those of /metrics. The first
 * underscore becomes a dot, which separates the namespace.
 */
#include "outbox/otlp/otlp_metrics.h"

#include "base/util.h"

/* Of Metric, and of NumberDataPoint. */
enum { METRIC_AS_GAUGE = 5, METRIC_AS_SUM = 7, POINT_ATTRIBUTES = 7 };

static bool drop_end(struct slice *name, const char *end)
{
	size_t n = strlen(end);

	if (name->n <= n || memcmp(name->p + name->n - n, end, n) != 0)
		return false;
	name->n -= n;
	return true;
}

static const char *take_unit(struct slice *name)
{
	drop_end(name, "_total");
	return drop_end(name, "_seconds") ? "s" : drop_end(name, "_bytes") ? "By" : "1";
}

static void put_name(struct otlp_writer *w, struct slice name)
{
	_cleanup_(freep) char *text = xstrndup(name.p, name.n);
	char *at = strchr(text, '_');

	if (at)
		*at = '.';
	otlp_text(w, 1, "name", slice_of(text));
}

static void end_family(struct otlp_metrics *m)
{
	if (!m->open)
		return;
	otlp_list_end(&m->w);
	if (m->kind == METRIC_COUNTER) {
		otlp_number(&m->w, 2, "aggregationTemporality", OTLP_CUMULATIVE);
		otlp_bool(&m->w, 3, "isMonotonic", true);
	}
	otlp_end(&m->w);
	otlp_close(&m->w);
	m->fn(m->ctx, buf_slice(&m->message));
	buf_reset(&m->message);
	m->open = false;
}

static void on_family(struct metric_sink *s, const char *name, const char *help,
		      enum metric_kind kind)
{
	struct otlp_metrics *m = container_of(s, struct otlp_metrics, sink);
	struct slice rest = slice_of(name);
	const char *unit = take_unit(&rest);
	bool counts = kind == METRIC_COUNTER;

	end_family(m);
	m->kind = kind;
	m->open = true;
	otlp_open(&m->w, &m->message, m->json);
	put_name(&m->w, rest);
	otlp_text(&m->w, 2, "description", slice_of(help));
	otlp_text(&m->w, 3, "unit", slice_of(unit));
	otlp_begin(&m->w, counts ? METRIC_AS_SUM : METRIC_AS_GAUGE, counts ? "sum" : "gauge");
	otlp_list(&m->w, "dataPoints");
}

static void on_point(struct metric_sink *s, const struct metric_label *labels, size_t n,
		     double value)
{
	struct otlp_metrics *m = container_of(s, struct otlp_metrics, sink);

	otlp_begin(&m->w, 1, NULL);
	if (m->kind == METRIC_COUNTER)
		otlp_wide(&m->w, 2, "startTimeUnixNano", m->start_ns, true);
	otlp_wide(&m->w, 3, "timeUnixNano", m->now_ns, true);
	otlp_double(&m->w, 4, "asDouble", value);
	otlp_list(&m->w, "attributes");
	for (size_t i = 0; i < n; i++)
		otlp_attr_text(&m->w, POINT_ATTRIBUTES, labels[i].name, labels[i].value);
	otlp_list_end(&m->w);
	otlp_end(&m->w);
}

void otlp_metrics_init(struct otlp_metrics *m, bool json, uint64_t start_ns, uint64_t now_ns,
		       void (*fn)(void *ctx, struct slice metric), void *ctx)
{
	*m = (struct otlp_metrics){ .sink = { on_family, on_point },
				    .json = json,
				    .start_ns = start_ns,
				    .now_ns = now_ns,
				    .fn = fn,
				    .ctx = ctx };
}

void otlp_metrics_done(struct otlp_metrics *m)
{
	end_family(m);
	buf_done(&m->message);
}
