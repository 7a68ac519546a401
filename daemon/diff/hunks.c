/*
 * hunks.c - prints line ranges as the hunks of a unified diff.
 *
 * Both texts are read once from start to end; hunks are in ascending order, so the readers never
 * move back. Ranges whose contexts touch or overlap share a hunk. Context lines are read from the
 * old text only: outside the ranges both texts are equal. The context after a hunk's last range is
 * counted with a copy of the reader.
 */
#include "diff/hunks.h"

#include "base/util.h"

/* A text read from the beginning to the end once. */
struct hunk_reader {
	struct slice rest;
	uint32_t line; /* of the first byte of rest */
};

static struct slice next_line(struct hunk_reader *r)
{
	const char *newline = memchr(r->rest.p, '\n', r->rest.n);
	size_t n = newline ? (size_t)(newline + 1 - r->rest.p) : r->rest.n;
	struct slice line = { r->rest.p, n };

	r->rest = slice_after(r->rest, n);
	r->line++;
	return line;
}

static void skip_to(struct hunk_reader *r, uint32_t line)
{
	while (r->line < line)
		next_line(r);
}

static void put_line(struct buf *out, char mark, struct slice line)
{
	buf_putc(out, mark);
	buf_add_slice(out, line);
	if (!line.n || line.p[line.n - 1] != '\n')
		buf_puts(out, "\n\\ No newline at end of file\n");
}

static void put_until(struct buf *out, char mark, struct hunk_reader *r, uint32_t end)
{
	while (r->line < end)
		put_line(out, mark, next_line(r));
}

/* An empty part is named by the line before it, and 1 is not written. */
static void put_span(struct buf *out, char mark, uint32_t at, uint32_t n)
{
	buf_printf(out, "%c%u", mark, n ? at + 1 : at);
	if (n != 1)
		buf_printf(out, ",%u", n);
}

static uint32_t lines_left(struct hunk_reader r, uint32_t most)
{
	uint32_t n = 0;

	while (n < most && r.rest.n) {
		next_line(&r);
		n++;
	}
	return n;
}

/* How many lines of context follow the last range of a hunk: from is read up to its end. */
static uint32_t context_after(struct hunk_reader from, uint32_t end, unsigned context)
{
	skip_to(&from, end);
	return lines_left(from, context);
}

/* Ranges [first, last] with less than two contexts between each. */
static void put_hunk(struct buf *out, struct hunk_reader *from, struct hunk_reader *to,
		     const struct line_range *first, const struct line_range *last,
		     unsigned context)
{
	uint32_t before = MIN(first->old_at, context);
	uint32_t old_end = last->old_at + last->old_n, new_end = last->new_at + last->new_n;
	uint32_t after, old_at = first->old_at - before, new_at = first->new_at - before;

	skip_to(from, old_at);
	skip_to(to, new_at);
	after = context_after(*from, old_end, context);
	buf_puts(out, "@@ ");
	put_span(out, '-', old_at, old_end + after - old_at);
	buf_putc(out, ' ');
	put_span(out, '+', new_at, new_end + after - new_at);
	buf_puts(out, " @@\n");
	for (const struct line_range *r = first; r <= last; r++) {
		put_until(out, ' ', from, r->old_at);
		skip_to(to, r->new_at);
		put_until(out, '-', from, r->old_at + r->old_n);
		put_until(out, '+', to, r->new_at + r->new_n);
	}
	put_until(out, ' ', from, old_end + after);
}

static bool joined(const struct line_range *a, const struct line_range *b, unsigned context)
{
	return b->old_at - (a->old_at + a->old_n) <= 2 * context;
}

void hunks_append(struct buf *out, struct slice from, struct slice to, const struct line_diff *diff,
		  unsigned context)
{
	struct hunk_reader a = { .rest = from }, b = { .rest = to };

	for (size_t i = 0, last; i < diff->n && !out->failed; i = last + 1) {
		for (last = i; last + 1 < diff->n; last++)
			if (!joined(&diff->ranges[last], &diff->ranges[last + 1], context))
				break;
		put_hunk(out, &a, &b, &diff->ranges[i], &diff->ranges[last], context);
	}
}
