#include "outbox/otlp/otlp_log.h"

#include "base/clock.h"

#include <stdio.h>

#define ATTRIBUTES 6

/* As the data model numbers them; by enum log_level. */
static const struct {
	unsigned number;
	const char *text;
} severities[] = { { 17, "ERROR" }, { 13, "WARN" }, { 9, "INFO" }, { 5, "DEBUG" } };

static const char *find(const struct log_line *line, const char *key)
{
	for (size_t i = 0; i < line->n; i++)
		if (strcmp(line->pairs[2 * i], key) == 0)
			return line->pairs[2 * i + 1];
	return NULL;
}

/* "00-<trace>-<span>-01" */
static void put_trace(struct otlp_writer *w, const char *parent)
{
	char trace[33], span[17];

	if (!parent || strlen(parent) != 55)
		return;
	snprintf(trace, sizeof(trace), "%.32s", parent + 3);
	snprintf(span, sizeof(span), "%.16s", parent + 36);
	otlp_id(w, 9, "traceId", trace);
	otlp_id(w, 10, "spanId", span);
}

static void put_fields(struct otlp_writer *w, const struct log_line *line)
{
	otlp_list(w, "attributes");
	otlp_attr_text(w, ATTRIBUTES, "acpd.module", line->mod);
	for (size_t i = 0; i < line->n; i++) {
		char key[64];

		snprintf(key, sizeof(key), "acpd.%s", line->pairs[2 * i]);
		otlp_attr_text(w, ATTRIBUTES, key, line->pairs[2 * i + 1]);
	}
	otlp_attr_text(w, ATTRIBUTES, "gen_ai.conversation.id", find(line, "session"));
	otlp_list_end(w);
}

void otlp_log_put(struct otlp_log *l, const struct log_line *line, bool json, struct buf *b)
{
	uint64_t now = clock_real_ms() * 1000000;
	struct otlp_writer w;

	if (!bucket_take(&l->lines, clock_mono_ms(), OTLP_LINES_BURST, OTLP_LINES_EACH_MS))
		return;
	otlp_open(&w, b, json);
	otlp_wide(&w, 1, "timeUnixNano", now, true);
	otlp_wide(&w, 11, "observedTimeUnixNano", now, true);
	otlp_number(&w, 2, "severityNumber", severities[line->level].number);
	otlp_text(&w, 3, "severityText", slice_of(severities[line->level].text));
	otlp_begin(&w, 5, "body");
	otlp_text(&w, 1, "stringValue", slice_of(line->msg));
	otlp_end(&w);
	put_fields(&w, line);
	put_trace(&w, find(line, "traceparent"));
	otlp_close(&w);
}
