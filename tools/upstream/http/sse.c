/*
 * sse.c - joins the lines of a text/event-stream to events, and stores the last id and the retry
 * time.
 *
 * The server is untrusted: a value above `max` bytes ends the stream, and the retry time is at most
 * RETRY_MAX_MS. An id with control characters is ignored, because it is sent back in the header
 * Last-Event-ID. Large buffers are released after each event.
 */
#include "tools/upstream/http/http_post.h"

#include "base/util.h"

#define RETRY_MAX_MS 60000u
#define KEEP_BYTES 65536 /* of an empty buffer */

struct sse_read {
	struct sse *s;
	bool (*event)(void *ctx, struct slice data);
	void *ctx;
};

static void sse_take_id(struct sse *s, struct slice v)
{
	if (slice_has_control(v))
		return;
	buf_reset(&s->id);
	buf_add_slice(&s->id, v);
}

/* A value with anything but digits is ignored, as the standard says. At least 1 ms: 0 means
 * that none was sent. */
static void take_retry(struct sse *s, struct slice v)
{
	uint64_t ms = 0;

	for (size_t i = 0; i < v.n; i++) {
		if (v.p[i] < '0' || v.p[i] > '9')
			return;
		/* Limited at each digit, so a long number cannot overflow. */
		ms = MIN(ms * 10 + (uint64_t)(v.p[i] - '0'), (uint64_t)RETRY_MAX_MS);
	}
	if (v.n)
		s->retry_ms = MAX(ms, (uint64_t)1);
}

static bool sse_is_too_large(const struct sse *s)
{
	return s->value.failed || s->data.failed;
}

static void sse_on_value(void *ctx, enum sse_field field, struct slice piece)
{
	struct sse_read *r = ctx;

	buf_add_slice(field == SSE_DATA ? &r->s->data : &r->s->value, piece);
}

static void sse_on_line(void *ctx, enum sse_field field)
{
	struct sse_read *r = ctx;

	if (field == SSE_DATA) {
		/* The standard joins the data lines of an event with line breaks. */
		buf_putc(&r->s->data, '\n');
		return;
	}
	if (sse_is_too_large(r->s))
		return;
	(field == SSE_ID ? sse_take_id : take_retry)(r->s, buf_slice(&r->s->value));
	buf_reset(&r->s->value);
	buf_trim(&r->s->value, KEEP_BYTES);
}

static bool sse_on_event(void *ctx)
{
	struct sse_read *r = ctx;
	struct slice data = buf_slice(&r->s->data);
	bool more;

	if (sse_is_too_large(r->s))
		return false;
	data.n--; /* the line break after the last line */
	more = r->event(r->ctx, data);
	buf_reset(&r->s->data);
	buf_trim(&r->s->data, KEEP_BYTES);
	return more;
}

int sse_feed(struct sse *s, struct slice bytes, bool (*event)(void *ctx, struct slice data),
	     void *ctx)
{
	static const struct sse_lines_ops ops = { sse_on_value, sse_on_line, sse_on_event };
	struct sse_read r = { s, event, ctx };

	s->value.max = s->data.max = s->max;
	sse_lines_feed(&s->lines, bytes, &ops, &r);
	return sse_is_too_large(s) ? -EMSGSIZE : 0;
}

void sse_reader_done(struct sse *s)
{
	buf_done(&s->value);
	buf_done(&s->data);
	buf_done(&s->id);
}
