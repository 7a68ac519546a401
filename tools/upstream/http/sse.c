#include "tools/upstream/http/sse.h"

#include "base/util.h"

#include <errno.h>

#define RETRY_MAX_MS 60000u

static void take_id(struct sse *s, struct slice v)
{
	for (size_t i = 0; i < v.n; i++)
		if ((unsigned char)v.p[i] < 0x20 || v.p[i] == 0x7f)
			return;
	buf_reset(&s->id);
	buf_add_slice(&s->id, v);
}

static void take_data(struct sse *s, struct slice v)
{
	buf_add_slice(&s->data, v);
	buf_putc(&s->data, '\n');
}

static void take_retry(struct sse *s, struct slice v)
{
	uint64_t ms = 0;

	for (size_t i = 0; i < v.n; i++) {
		if (v.p[i] < '0' || v.p[i] > '9')
			return;
		ms = MIN(ms * 10 + (uint64_t)(v.p[i] - '0'), (uint64_t)RETRY_MAX_MS);
	}
	if (v.n)
		s->retry_ms = MAX(ms, (uint64_t)1);
}

static const struct {
	const char *name;
	void (*take)(struct sse *s, struct slice value);
} fields[] = { { "data", take_data }, { "id", take_id }, { "retry", take_retry } };

static void take_field(struct sse *s, struct slice line)
{
	const char *colon = memchr(line.p, ':', line.n);
	struct slice name = { line.p, colon ? (size_t)(colon - line.p) : line.n };
	struct slice value = { name.p + name.n, 0 };

	if (colon) {
		value = (struct slice){ colon + 1, line.n - name.n - 1 };
		slice_skip(&value, " ");
	}
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (slice_is(name, fields[i].name))
			fields[i].take(s, value);
}

/* False: event wants no more. */
static bool end_line(struct sse *s, bool (*event)(void *ctx, struct slice data), void *ctx)
{
	struct slice line = buf_slice(&s->line), data = buf_slice(&s->data);
	bool more = true;

	if (!s->started)
		slice_skip(&line, "\xef\xbb\xbf");
	s->started = true;
	if (line.n) {
		take_field(s, line);
	} else if (data.n) {
		data.n--; /* the line break after the last line */
		more = event(ctx, data);
		buf_reset(&s->data);
		buf_trim(&s->data, 65536);
	}
	buf_reset(&s->line);
	buf_trim(&s->line, 65536);
	return more;
}

static bool line_end(char c)
{
	return c == '\n' || c == '\r';
}

int sse_feed(struct sse *s, struct slice bytes, bool (*event)(void *ctx, struct slice data),
	     void *ctx)
{
	s->line.max = s->data.max = s->max;
	while (bytes.n) {
		size_t n = 0;

		if (s->after_cr && bytes.p[0] == '\n') {
			s->after_cr = false;
			bytes = (struct slice){ bytes.p + 1, bytes.n - 1 };
			continue;
		}
		while (n < bytes.n && !line_end(bytes.p[n]))
			n++;
		buf_add(&s->line, bytes.p, n);
		if (s->line.failed)
			return -EMSGSIZE;
		s->after_cr = n < bytes.n && bytes.p[n] == '\r';
		if (n < bytes.n && !end_line(s, event, ctx))
			return 0;
		if (s->data.failed)
			return -EMSGSIZE;
		n = MIN(n + 1, bytes.n);
		bytes = (struct slice){ bytes.p + n, bytes.n - n };
	}
	return 0;
}

void sse_reader_done(struct sse *s)
{
	buf_done(&s->line);
	buf_done(&s->data);
	buf_done(&s->id);
}
