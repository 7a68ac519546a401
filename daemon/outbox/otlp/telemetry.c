/*
 * telemetry.c - spans, metrics and log lines of one sandbox: their envelope, their sampling, and
 * when they are sent.
 *
 * Nothing is recorded before the claim, which gives the incarnation that identifies the resource.
 * When the sandbox becomes another one, queues and histograms are discarded. The ratio sampler uses
 * the last 56 bits of the trace id, the random ones of W3C Trace Context level 2. Log lines of the
 * exporter itself are left out, because they would produce further exports.
 */
#include "outbox/otlp/telemetry.h"

#include "base/bucket.h"
#include "base/clock.h"
#include "base/format/digits.h"
#include "base/log.h"
#include "base/os/sandbox.h"
#include "base/version.h"
#include "json/jstr.h"
#include "outbox/otlp/otlp_metrics.h"

#define NS_OF_MS 1000000ull

struct telemetry {
	struct loop *loop;
	struct otlp_config cfg;
	struct otlp_sender *senders[OTLP_SIGNALS]; /* NULL: that signal is not exported */
	struct measures *measures;
	char *incarnation; /* NULL: unclaimed */
	uint64_t begun_ns;
	struct loop_timer timer;
	void (*collect)(void *ctx, struct metric_sink *m);
	void *collect_ctx;
	struct bucket
		lines; /* of the log: one that runs away would push everything else out of the queue */
};

/* --- bodies: Export…ServiceRequest {1: Resource… {1: resource, 2: Scope… {1: scope, 2: records}}}, in all signals ------ */

static const struct signal_names {
	const char *resources, *scopes, *records;
} names[OTLP_SIGNALS] = {
	{ "resourceSpans", "scopeSpans", "spans" },
	{ "resourceMetrics", "scopeMetrics", "metrics" },
	{ "resourceLogs", "scopeLogs", "logRecords" },
};

/* The daemon sets these itself; twice the same key would be ambiguous. */
static bool telemetry_is_ours(struct slice key)
{
	return slice_is(key, "service.name") || slice_is(key, "service.version") ||
	       slice_is(key, "service.instance.id");
}

/* What the operator says of the resource; a name there is the service's if no other variable names it. */
static void put_given(const struct telemetry *t, struct otlp_writer *w, const char **service,
		      char **named)
{
	jobj_each(key, v, slice_of(t->cfg.attributes)) {
		_cleanup_(freep) char *text = NULL;

		if (jstr_decode(v, OTLP_HEADERS_MAX, &text) < 0)
			continue;
		if (!telemetry_is_ours(key))
			otlp_attr_slice(w, 1, key, slice_of(text));
		else if (slice_is(key, "service.name") && !*service)
			*service = *named = TAKE_PTR(text);
	}
}

static void telemetry_put_resource(const struct telemetry *t, struct otlp_writer *w)
{
	_cleanup_(freep) char *named = NULL;
	const char *service = t->cfg.service;

	otlp_begin(w, 1, "resource");
	otlp_list(w, "attributes");
	put_given(t, w, &service, &named);
	otlp_attr_text(w, 1, "service.name", service ? service : "acpd");
	otlp_attr_text(w, 1, "service.version", acpd_version);
	otlp_attr_text(w, 1, "service.instance.id", t->incarnation);
	otlp_attr_text(w, 1, "acpd.sandbox.id", sandbox_id());
	otlp_list_end(w);
	otlp_end(w);
}

static void put_scope(struct otlp_writer *w)
{
	otlp_begin(w, 1, "scope");
	otlp_text(w, 1, "name", SLICE("acpd"));
	otlp_text(w, 2, "version", slice_of(acpd_version));
	otlp_end(w);
}

static void telemetry_wrap(void *ctx, enum otlp_signal s, const struct slice *records, size_t n,
			   struct buf *body)
{
	const struct telemetry *t = ctx;
	struct otlp_writer w;

	otlp_open(&w, body, t->cfg.to[s].json);
	otlp_list(&w, names[s].resources);
	otlp_begin(&w, 1, NULL);
	telemetry_put_resource(t, &w);
	otlp_list(&w, names[s].scopes);
	otlp_begin(&w, 2, NULL);
	put_scope(&w);
	otlp_list(&w, names[s].records);
	for (size_t i = 0; i < n; i++)
		otlp_item(&w, 2, records[i]);
	otlp_list_end(&w);
	otlp_end(&w);
	otlp_list_end(&w);
	otlp_end(&w);
	otlp_list_end(&w);
	otlp_close(&w);
}

static void telemetry_add(struct telemetry *t, enum otlp_signal s, const struct buf *b)
{
	if (b->failed || buf_len(b) > OTLP_RECORD_MAX)
		otlp_sender_lose(t->senders[s]);
	else
		otlp_sender_add(t->senders[s], buf_slice(b));
}

/* --- spans -------------------------------------------------------------------------------------------------- */

bool telemetry_traces(const struct telemetry *t)
{
	return t && t->incarnation && t->senders[OTLP_TRACES];
}

/* By the last 56 bits of the trace's id, as random as it is: the same trace is judged alike by all. */
static bool telemetry_is_below(const char *trace_id, double ratio)
{
	uint64_t v = 0;

	for (size_t i = 18; i < 32; i++)
		v = v << 4 | (unsigned)hex_digit(trace_id[i]);
	return (double)v < ratio * (double)(1ull << 56);
}

bool telemetry_samples(const struct telemetry *t, const char *trace_id, int parent)
{
	/* Without a parent (a negative value) the sampler of roots decides. */
	if (t->cfg.parent_based && parent >= 0)
		return parent;
	if (t->cfg.sampler == SAMPLER_RATIO)
		return telemetry_is_below(trace_id, t->cfg.ratio);
	return t->cfg.sampler == SAMPLER_ON;
}

void telemetry_span_begin(const struct telemetry *t, struct otlp_writer *w, struct buf *b,
			  const struct telemetry_span *x)
{
	otlp_open(w, b, t->cfg.to[OTLP_TRACES].json);
	otlp_id(w, 1, "traceId", x->trace_id);
	otlp_id(w, 2, "spanId", x->span_id);
	if (x->state)
		otlp_text(w, 3, "traceState", slice_of(x->state));
	if (*x->parent_id)
		otlp_id(w, 4, "parentSpanId", x->parent_id);
	otlp_text(w, 5, "name", x->name);
	otlp_number(w, 6, "kind", x->kind);
	otlp_wide(w, 7, "startTimeUnixNano", x->start_ns, true);
	otlp_wide(w, 8, "endTimeUnixNano", MAX(x->end_ns, x->start_ns), true);
	otlp_list(w, "attributes");
}

void telemetry_span_end(struct telemetry *t, struct otlp_writer *w, const char *error)
{
	otlp_list_end(w);
	if (error) {
		otlp_begin(w, 15, "status");
		otlp_text(w, 2, "message", slice_of(error));
		otlp_number(w, 3, "code", 2);
		otlp_end(w);
	}
	otlp_close(w);
	telemetry_add(t, OTLP_TRACES, w->b);
}

/* --- metrics ------------------------------------------------------------------------------------------------ */

void telemetry_measure(struct telemetry *t, enum measured what,
		       const struct metric_label labels[MEASURED_LABELS], double value)
{
	if (t && t->senders[OTLP_METRICS])
		measures_add(t->measures, what, labels, value);
}

static void on_metric(void *ctx, struct slice metric)
{
	struct telemetry *t = ctx;

	if (metric.n > OTLP_RECORD_MAX)
		otlp_sender_lose(t->senders[OTLP_METRICS]);
	else
		otlp_sender_add(t->senders[OTLP_METRICS], metric);
}

static void telemetry_send_metrics(struct telemetry *t)
{
	uint64_t now = clock_real_ms() * NS_OF_MS;
	bool json = t->cfg.to[OTLP_METRICS].json;
	struct otlp_metrics m;

	if (!t->senders[OTLP_METRICS] || !t->incarnation)
		return;
	if (t->collect) {
		otlp_metrics_init(&m, json, t->begun_ns, now, on_metric, t);
		t->collect(t->collect_ctx, &m.sink);
		otlp_metrics_done(&m);
	}
	measures_put(t->measures, json, t->begun_ns, now, on_metric, t);
	/* At once: the interval is the delay of metrics already. */
	otlp_sender_flush(t->senders[OTLP_METRICS]);
}

static void on_interval(void *ctx)
{
	struct telemetry *t = ctx;

	telemetry_send_metrics(t);
	loop_timer_set(t->loop, &t->timer, t->cfg.to[OTLP_METRICS].delay_ms, on_interval, t);
}

void telemetry_collect(struct telemetry *t, void (*fn)(void *ctx, struct metric_sink *m), void *ctx)
{
	if (!t)
		return;
	t->collect = fn;
	t->collect_ctx = ctx;
}

/* --- the log: its fields are attributes, its traceparent is that of the record ------------------------------------- */

#define LOG_ATTRIBUTES 6

/* As the data model numbers them; by enum log_level. */
static const struct {
	unsigned number;
	const char *text;
} severities[] = { { 17, "ERROR" }, { 13, "WARN" }, { 9, "INFO" }, { 5, "DEBUG" } };

static const char *log_field(const struct log_line *line, const char *key)
{
	for (size_t i = 0; i < line->n; i++)
		if (strcmp(line->pairs[2 * i], key) == 0)
			return line->pairs[2 * i + 1];
	return NULL;
}

/* "00-<trace>-<span>-01" */
static void telemetry_put_trace(struct otlp_writer *w, const char *parent)
{
	char trace[33], span[17];

	if (!parent || strlen(parent) != 55)
		return;
	snprintf(trace, sizeof(trace), "%.32s", parent + 3);
	snprintf(span, sizeof(span), "%.16s", parent + 36);
	otlp_id(w, 9, "traceId", trace);
	otlp_id(w, 10, "spanId", span);
}

static void telemetry_put_fields(struct otlp_writer *w, const struct log_line *line)
{
	otlp_list(w, "attributes");
	otlp_attr_text(w, LOG_ATTRIBUTES, "acpd.module", line->mod);
	for (size_t i = 0; i < line->n; i++)
		otlp_attr_text(w, LOG_ATTRIBUTES, SHORT_TEXT(64, "acpd.%s", line->pairs[2 * i]),
			       line->pairs[2 * i + 1]);
	/* The name of OpenTelemetry's conventions, in addition to acpd.session. */
	otlp_attr_text(w, LOG_ATTRIBUTES, "gen_ai.conversation.id", log_field(line, "session"));
	otlp_list_end(w);
}

/* A message LogRecord. */
static void telemetry_put_line(const struct log_line *line, bool json, struct buf *b)
{
	uint64_t now = clock_real_ms() * NS_OF_MS;
	struct otlp_writer w;

	otlp_open(&w, b, json);
	otlp_wide(&w, 1, "timeUnixNano", now, true);
	otlp_wide(&w, 11, "observedTimeUnixNano", now, true);
	otlp_number(&w, 2, "severityNumber", severities[line->level].number);
	otlp_text(&w, 3, "severityText", slice_of(severities[line->level].text));
	otlp_begin(&w, 5, "body");
	otlp_text(&w, 1, "stringValue", slice_of(line->msg));
	otlp_end(&w);
	telemetry_put_fields(&w, line);
	telemetry_put_trace(&w, log_field(line, "traceparent"));
	otlp_close(&w);
}

static void on_telemetry_line(void *ctx, const struct log_line *line)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct telemetry *t = ctx;

	if (!t->incarnation || strcmp(line->mod, "otlp") == 0 ||
	    !bucket_take(&t->lines, clock_mono_ms(), OTLP_LINES_BURST, OTLP_LINES_EACH_MS))
		return;
	telemetry_put_line(line, t->cfg.to[OTLP_LOGS].json, &b);
	telemetry_add(t, OTLP_LOGS, &b);
}

/* --- its life ----------------------------------------------------------------------------------------------- */

void telemetry_begin(struct telemetry *t, const char *incarnation)
{
	if (!t)
		return;
	xstrset(&t->incarnation, incarnation);
	/* The start time of cumulative metrics: a receiver takes a new one for a reset. */
	t->begun_ns = clock_real_ms() * NS_OF_MS;
	if (t->senders[OTLP_METRICS])
		loop_timer_set(t->loop, &t->timer, t->cfg.to[OTLP_METRICS].delay_ms, on_interval,
			       t);
}

void telemetry_forget(struct telemetry *t)
{
	for (int s = 0; t && s < OTLP_SIGNALS; s++)
		if (t->senders[s])
			otlp_sender_clear(t->senders[s]);
	if (!t)
		return;
	loop_timer_cancel(&t->timer);
	t->measures = measures_free(t->measures);
	t->measures = measures_new();
	xstrset(&t->incarnation, NULL);
}

void telemetry_hold(struct telemetry *t, bool held)
{
	for (int s = 0; t && s < OTLP_SIGNALS; s++)
		if (t->senders[s])
			otlp_sender_hold(t->senders[s], held);
}

void telemetry_flush(struct telemetry *t)
{
	if (t)
		telemetry_send_metrics(t);
	for (int s = 0; t && s < OTLP_SIGNALS; s++)
		if (t->senders[s])
			otlp_sender_flush(t->senders[s]);
}

bool telemetry_busy(const struct telemetry *t)
{
	for (int s = 0; t && s < OTLP_SIGNALS; s++)
		if (t->senders[s] && otlp_sender_busy(t->senders[s]))
			return true;
	return false;
}

bool telemetry_count(const struct telemetry *t, enum otlp_signal s, struct otlp_counts *ret)
{
	*ret = (struct otlp_counts){ 0 };
	if (!t || !t->senders[s])
		return false;
	otlp_sender_count(t->senders[s], ret);
	return true;
}

struct telemetry *telemetry_new(struct loop *loop, struct fetcher *fetcher,
				struct otlp_config *config)
{
	struct telemetry *t = new0(struct telemetry);

	t->loop = loop;
	t->cfg = *config;
	*config = (struct otlp_config){ .service = NULL };
	t->measures = measures_new();
	for (int s = 0; s < OTLP_SIGNALS; s++)
		if (t->cfg.to[s].on)
			t->senders[s] = otlp_sender_new(
				&(struct otlp_sender_config){ .loop = loop,
							      .fetcher = fetcher,
							      .signal = (enum otlp_signal)s,
							      .to = &t->cfg.to[s],
							      .wrap = telemetry_wrap,
							      .ctx = t });
	if (t->senders[OTLP_LOGS])
		log_tap(on_telemetry_line, t);
	return t;
}

struct telemetry *telemetry_free(struct telemetry *t)
{
	if (!t)
		return NULL;
	/* First: nothing may be added to senders that are being freed. */
	log_tap(NULL, NULL);
	loop_timer_cancel(&t->timer);
	for (int s = 0; s < OTLP_SIGNALS; s++)
		otlp_sender_free(t->senders[s]);
	measures_free(t->measures);
	otlp_config_done(&t->cfg);
	free_each(t->incarnation, t);
	return NULL;
}
