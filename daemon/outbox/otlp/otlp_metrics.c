/*
 * otlp_metrics.c - metrics as OTLP messages: families of a metric_sink, and histograms of model and tool calls.
 *
 * A family is complete when the next one begins or at otlp_metrics_done, and is then passed to fn. Prometheus encodes unit and
 * kind as suffixes of the name, OTLP has fields for them: the suffixes are removed, so a receiver that converts names back gets
 * those of /metrics. The first underscore becomes a dot, which separates the namespace.
 *
 * Names, units and bounds of histograms are those of OpenTelemetry's GenAI conventions; field numbers are those of
 * opentelemetry-proto. Labels contain names from harnesses and models, so their combinations are bounded: after MEASURES_MAX
 * series a metric adds further values to one with the label otel.metric.overflow. Values are cumulative since the claim.
 */
#include "outbox/otlp/otlp_metrics.h"

#include "base/util.h"

/* --- families -------------------------------------------------------------------------------------------------- */

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

static const char *otlp_metrics_take_unit(struct slice *name)
{
	drop_end(name, "_total");
	return drop_end(name, "_seconds") ? "s" : drop_end(name, "_bytes") ? "By" : "1";
}

static void otlp_metrics_put_name(struct otlp_writer *w, struct slice name)
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

static void on_otlp_metrics_family(struct metric_sink *s, const char *name, const char *help,
				   enum metric_kind kind)
{
	struct otlp_metrics *m = container_of(s, struct otlp_metrics, sink);
	struct slice rest = slice_of(name);
	const char *unit = otlp_metrics_take_unit(&rest);
	bool counts = kind == METRIC_COUNTER;

	end_family(m);
	m->kind = kind;
	m->open = true;
	otlp_open(&m->w, &m->message, m->json);
	otlp_metrics_put_name(&m->w, rest);
	otlp_text(&m->w, 2, "description", slice_of(help));
	otlp_text(&m->w, 3, "unit", slice_of(unit));
	otlp_begin(&m->w, counts ? METRIC_AS_SUM : METRIC_AS_GAUGE, counts ? "sum" : "gauge");
	otlp_list(&m->w, "dataPoints");
}

static void on_otlp_metrics_point(struct metric_sink *s, const struct metric_label *labels,
				  size_t n, double value)
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
	*m = (struct otlp_metrics){ .sink = { on_otlp_metrics_family, on_otlp_metrics_point },
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

/* --- histograms ------------------------------------------------------------------------------------------------ */

#define BOUNDS_MAX 14

/* As the conventions advise. */
static const struct measure_form {
	const char *name, *unit, *description;
	double bounds[BOUNDS_MAX];
} forms[MEASURED_MAX] = {
	{ "gen_ai.client.operation.duration",
	  "s",
	  "Duration of model calls.",
	  { .01, .02, .04, .08, .16, .32, .64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92 } },
	{ "gen_ai.client.token.usage",
	  "{token}",
	  "Tokens of model calls.",
	  { 1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216,
	    67108864 } },
	{ "gen_ai.execute_tool.duration",
	  "s",
	  "Duration of tool calls.",
	  { .01, .02, .04, .08, .16, .32, .64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92 } },
};

struct series {
	char *names[MEASURED_LABELS], *values[MEASURED_LABELS]; /* NULL: no such label */
	uint64_t count, buckets[BOUNDS_MAX + 1];
	double sum;
};

struct measures {
	struct {
		struct series *v;
		size_t n;
		struct series overflow;
	} of[MEASURED_MAX];
};

static bool has_labels(const struct series *s, const struct metric_label labels[MEASURED_LABELS])
{
	for (size_t i = 0; i < MEASURED_LABELS; i++) {
		const char *want = labels[i].value;

		if (!want != !s->values[i] || (want && strcmp(want, s->values[i]) != 0))
			return false;
	}
	return true;
}

static struct series *otlp_metrics_find(struct measures *m, enum measured what,
					const struct metric_label labels[MEASURED_LABELS])
{
	struct series *s;

	for (size_t i = 0; i < m->of[what].n; i++)
		if (has_labels(&m->of[what].v[i], labels))
			return &m->of[what].v[i];
	if (m->of[what].n >= MEASURES_MAX)
		return &m->of[what].overflow;
	s = GROW(m->of[what].v, m->of[what].n);
	for (size_t i = 0; i < MEASURED_LABELS; i++) {
		s->names[i] = labels[i].value ? xstrdup(labels[i].name) : NULL;
		s->values[i] = xstrdup(labels[i].value);
	}
	return s;
}

void measures_add(struct measures *m, enum measured what,
		  const struct metric_label labels[MEASURED_LABELS], double value)
{
	struct series *s = otlp_metrics_find(m, what, labels);
	size_t i = 0;

	/* A bound belongs to the bucket that it closes, as OTLP specifies. */
	while (i < BOUNDS_MAX && value > forms[what].bounds[i])
		i++;
	s->buckets[i]++;
	s->count++;
	s->sum += value;
}

/* As messages: HistogramDataPoint, Histogram, Metric. */

static void otlp_metrics_put_labels(struct otlp_writer *w, const struct series *s, bool overflow)
{
	otlp_list(w, "attributes");
	for (size_t i = 0; i < MEASURED_LABELS; i++)
		if (s->names[i])
			otlp_attr_text(w, 9, s->names[i], s->values[i]);
	if (overflow)
		otlp_attr_bool(w, 9, "otel.metric.overflow", true);
	otlp_list_end(w);
}

static void put_series(struct otlp_writer *w, const struct measure_form *f, const struct series *s,
		       bool overflow, const uint64_t times[2])
{
	otlp_begin(w, 1, NULL);
	otlp_wide(w, 2, "startTimeUnixNano", times[0], true);
	otlp_wide(w, 3, "timeUnixNano", times[1], true);
	otlp_wide(w, 4, "count", s->count, true);
	otlp_double(w, 5, "sum", s->sum);
	otlp_packed(w, 6, "bucketCounts", s->buckets, BOUNDS_MAX + 1);
	otlp_packed_doubles(w, 7, "explicitBounds", f->bounds, BOUNDS_MAX);
	otlp_metrics_put_labels(w, s, overflow);
	otlp_end(w);
}

static void put_metric(const struct measures *m, enum measured what, struct otlp_writer *w,
		       const uint64_t times[2])
{
	const struct measure_form *f = &forms[what];

	otlp_text(w, 1, "name", slice_of(f->name));
	otlp_text(w, 2, "description", slice_of(f->description));
	otlp_text(w, 3, "unit", slice_of(f->unit));
	otlp_begin(w, 9, "histogram");
	otlp_list(w, "dataPoints");
	for (size_t i = 0; i < m->of[what].n; i++)
		put_series(w, f, &m->of[what].v[i], false, times);
	if (m->of[what].overflow.count)
		put_series(w, f, &m->of[what].overflow, true, times);
	otlp_list_end(w);
	otlp_number(w, 2, "aggregationTemporality", OTLP_CUMULATIVE);
	otlp_end(w);
}

void measures_put(const struct measures *m, bool json, uint64_t start_ns, uint64_t now_ns,
		  void (*fn)(void *ctx, struct slice metric), void *ctx)
{
	const uint64_t times[2] = { start_ns, now_ns };

	for (int what = 0; what < MEASURED_MAX; what++) {
		_cleanup_(buf_done) struct buf b = { 0 };
		struct otlp_writer w;

		if (!m->of[what].n)
			continue;
		otlp_open(&w, &b, json);
		put_metric(m, (enum measured)what, &w, times);
		otlp_close(&w);
		fn(ctx, buf_slice(&b));
	}
}

struct measures *measures_new(void)
{
	return new0(struct measures);
}

static void series_done(struct series *s)
{
	for (size_t i = 0; i < MEASURED_LABELS; i++)
		free_each(s->names[i], s->values[i]);
}

struct measures *measures_free(struct measures *m)
{
	for (int what = 0; m && what < MEASURED_MAX; what++) {
		for (size_t i = 0; i < m->of[what].n; i++)
			series_done(&m->of[what].v[i]);
		free(m->of[what].v);
	}
	free(m);
	return NULL;
}
