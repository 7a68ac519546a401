/* metric_text.c - GET /metrics, in the text format of Prometheus. */
#include "http/metrics/metrics.h"

#include "base/util.h"
#include "http/routes/handlers.h"

static void on_metric_text_family(struct metric_sink *s, const char *name, const char *help,
				  enum metric_kind kind)
{
	struct metric_text *t = container_of(s, struct metric_text, sink);

	t->name = name;
	t->help = help;
	t->kind = kind;
	t->is_told = false;
}

/* Printed with the first point, so a family without points leaves no lines. */
static void tell_family(struct metric_text *t)
{
	if (!t->is_told)
		buf_printf(t->out, "# HELP %s %s\n# TYPE %s %s\n", t->name, t->help, t->name,
			   t->kind == METRIC_COUNTER ? "counter" : "gauge");
	t->is_told = true;
}

/* Quotes, backslashes and newlines are escaped. */
static void metric_text_put_label(struct buf *b, const struct metric_label *l, char before)
{
	buf_printf(b, "%c%s=\"", before, l->name);
	for (const char *at = l->value; *at; at++) {
		if (*at == '"' || *at == '\\' || *at == '\n')
			buf_putc(b, '\\');
		buf_putc(b, *at == '\n' ? 'n' : *at);
	}
	buf_putc(b, '"');
}

static void on_metric_text_point(struct metric_sink *s, const struct metric_label *labels, size_t n,
				 double value)
{
	struct metric_text *t = container_of(s, struct metric_text, sink);
	char before = '{';

	tell_family(t);
	buf_puts(t->out, t->name);
	for (size_t i = 0; i < n; i++) {
		if (!labels[i].value)
			continue;
		metric_text_put_label(t->out, &labels[i], before);
		before = ',';
	}
	if (before == ',')
		buf_putc(t->out, '}');
	buf_printf(t->out, value == (double)(int64_t)value ? " %.0f\n" : " %.6f\n", value);
}

void metric_text_init(struct metric_text *t, struct buf *out)
{
	*t = (struct metric_text){ .sink = { on_metric_text_family, on_metric_text_point },
				   .out = out };
}

void http_get_metrics(const struct http_call *c, struct http_reply *ret)
{
	struct metric_text t;

	ret->content_type = METRIC_TEXT_TYPE;
	metric_text_init(&t, &ret->body);
	daemon_metrics_put(c->ctx, &t.sink);
}
