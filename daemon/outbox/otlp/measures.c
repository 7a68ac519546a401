/*
 * measures.c - histograms of model and tool calls, as OTLP messages.
 *
 * Names, units and bounds are those of OpenTelemetry's GenAI conventions; field numbers are those
 * of opentelemetry-proto. Labels contain names from harnesses and models, so their combinations are
 * bounded: after MEASURES_MAX series a metric adds further values to one with the label
 * otel.metric.overflow. Values are cumulative since the claim.
 */
#include "outbox/otlp/measures.h"

#include "base/util.h"

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

static struct series *find(struct measures *m, enum measured what,
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
	struct series *s = find(m, what, labels);
	size_t i = 0;

	while (i < BOUNDS_MAX && value > forms[what].bounds[i])
		i++;
	s->buckets[i]++;
	s->count++;
	s->sum += value;
}

/* --- as messages: HistogramDataPoint, Histogram, Metric ------------------------------------------------------- */

static void put_labels(struct otlp_writer *w, const struct series *s, bool overflow)
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
	put_labels(w, s, overflow);
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
	for (size_t i = 0; i < MEASURED_LABELS; i++) {
		free(s->names[i]);
		free(s->values[i]);
	}
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
