/*
 * sse_lines.c - parses an event stream (HTML standard, "Server-sent events") as its bytes pass,
 * without a line buffer.
 *
 * Only the field name is stored, up to one byte more than the longest known name. A longer name
 * therefore compares unequal and selects SSE_OTHER. The value is passed to the caller in the pieces
 * in which it arrives, so an endless line uses no memory here. A line end can be cut between CR and
 * LF: after_cr makes the next call drop that LF.
 */
#include "base/http/sse_lines.h"

#include "base/util.h"

enum { PART_NAME, PART_SPACE, PART_VALUE };

static const struct {
	const char *name;
	enum sse_field field;
} fields[] = { { "data", SSE_DATA }, { "id", SSE_ID }, { "retry", SSE_RETRY } };

static struct slice sse_name_of(const struct sse_lines *s)
{
	struct slice name = { s->name, s->nname };

	if (!s->started)
		slice_skip(&name, "\xef\xbb\xbf");
	return name;
}

static enum sse_field field_of(const struct sse_lines *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (slice_is(sse_name_of(s), fields[i].name))
			return fields[i].field;
	return SSE_OTHER;
}

/* Up to the colon, if it is there. */
static void sse_take_name(struct sse_lines *s, struct slice *line)
{
	const char *colon = memchr(line->p, ':', line->n);
	size_t n = colon ? (size_t)(colon - line->p) : line->n;
	size_t kept = MIN(n, sizeof(s->name) - s->nname);

	memcpy(s->name + s->nname, line->p, kept);
	s->nname += (unsigned char)kept;
	n += colon != NULL;
	*line = slice_after(*line, n);
	if (!colon)
		return;
	s->field = field_of(s);
	s->part = PART_SPACE;
}

static void sse_take_bytes(struct sse_lines *s, struct slice line, const struct sse_lines_ops *ops,
			   void *ctx)
{
	if (s->part == PART_NAME)
		sse_take_name(s, &line);
	if (s->part == PART_SPACE && line.n) {
		slice_skip(&line, " ");
		s->part = PART_VALUE;
	}
	if (s->part == PART_VALUE && line.n && s->field != SSE_OTHER)
		ops->value(ctx, s->field, line);
}

/* False: event wants no more. */
static bool sse_end_line(struct sse_lines *s, const struct sse_lines_ops *ops, void *ctx)
{
	bool blank = s->part == PART_NAME && !sse_name_of(s).n, more = true;

	if (s->part == PART_NAME)
		s->field = field_of(s); /* a name without a colon */
	if (blank && s->has_data) {
		s->has_data = false;
		more = ops->event(ctx);
	} else if (s->field != SSE_OTHER) {
		s->has_data |= s->field == SSE_DATA;
		ops->line(ctx, s->field);
	}
	s->started = true;
	s->nname = 0;
	s->part = PART_NAME;
	s->field = SSE_OTHER;
	return more;
}

static size_t sse_line_length(struct slice bytes)
{
	const char *lf = memchr(bytes.p, '\n', bytes.n);
	size_t n = lf ? (size_t)(lf - bytes.p) : bytes.n;
	const char *cr = memchr(bytes.p, '\r', n);

	return cr ? (size_t)(cr - bytes.p) : n;
}

bool sse_lines_feed(struct sse_lines *s, struct slice bytes, const struct sse_lines_ops *ops,
		    void *ctx)
{
	while (bytes.n) {
		size_t n = sse_line_length(bytes);

		if (s->after_cr && bytes.p[0] == '\n') {
			s->after_cr = false;
			bytes = slice_after(bytes, 1);
			continue;
		}
		s->after_cr = n < bytes.n && bytes.p[n] == '\r';
		if (n)
			sse_take_bytes(s, (struct slice){ bytes.p, n }, ops, ctx);
		if (n < bytes.n && !sse_end_line(s, ops, ctx))
			return false;
		n = MIN(n + 1, bytes.n);
		bytes = slice_after(bytes, n);
	}
	return true;
}
