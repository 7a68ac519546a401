/* The line framer: what comes out depends on the bytes alone, not on how they were cut. A naive splitter says what. */
#include "fuzz.h"

#include "base/limits.h"
#include "proc/output/lines.h"

#include <errno.h>

/* Lines in brackets, then how it ended. */
struct result {
	struct buf out;
	int end;
};

static void put_line(struct result *r, struct slice line)
{
	buf_putc(&r->out, '[');
	buf_add_slice(&r->out, line);
	buf_puts(&r->out, "]\n");
}

static void take(struct lines *l, struct result *r)
{
	struct slice line;

	if (r->end < 0)
		return;
	while ((r->end = lines_next(l, &line)) > 0)
		put_line(r, line);
	FUZZ_CHECK(r->end == 0 || r->end == -E2BIG);
	if (r->end < 0)
		FUZZ_CHECK(lines_next(l, &line) == -E2BIG);
}

static void feed(struct lines *l, struct slice piece)
{
	char *space = piece.n ? lines_space(l, piece.n) : NULL;

	if (!piece.n)
		return;
	FUZZ_CHECK(space);
	memcpy(space, piece.p, piece.n);
	lines_filled(l, piece.n);
}

/* cuts: sizes of the pieces, again and again. */
static void run(struct slice text, struct slice cuts, size_t max, struct result *r)
{
	struct slice left = text;
	struct lines l;
	size_t turn = 0;

	lines_init(&l, max);
	while (left.n && r->end >= 0) {
		size_t n = cuts.n ? (size_t)(unsigned char)cuts.p[turn++ % cuts.n] + 1 :
				    CHILD_READ_BYTES;

		n = MIN(n, left.n);
		feed(&l, (struct slice){ left.p, n });
		take(&l, r);
		if (turn % 3 == 0)
			lines_trim(&l);
		left = slice_after(left, n);
	}
	if (r->end == 0)
		put_line(r, lines_rest(&l));
	FUZZ_CHECK(l.in.cap <= 2 * (max + CHILD_READ_BYTES + KIB));
	lines_done(&l);
}

static void naive(struct slice text, size_t max, struct result *r)
{
	size_t start = 0;

	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] != '\n')
			continue;
		if (i - start > max) {
			r->end = -E2BIG;
			return;
		}
		put_line(r, (struct slice){ text.p + start,
					    i - start - (i > start && text.p[i - 1] == '\r') });
		start = i + 1;
	}
	if (text.n - start > max)
		r->end = -E2BIG;
	else
		put_line(r, slice_after(text, start));
}

/* First byte: the longest line; second: how many of the next bytes are sizes of pieces; the rest is the stream. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct result want = { 0 }, whole = { 0 }, cut = { 0 };
	struct slice text, cuts;
	size_t max, n;

	if (size < 2)
		return 0;
	max = data[0] == 255 ? 100000 : data[0];
	n = MIN(data[1], size - 2);
	cuts = (struct slice){ (const char *)data + 2, n };
	text = (struct slice){ (const char *)data + 2 + n, size - 2 - n };
	naive(text, max, &want);
	run(text, SLICE_NONE, max, &whole);
	run(text, cuts, max, &cut);
	FUZZ_CHECK(want.end == whole.end && want.end == cut.end);
	FUZZ_CHECK(slice_eq(buf_slice(&want.out), buf_slice(&whole.out)));
	FUZZ_CHECK(slice_eq(buf_slice(&want.out), buf_slice(&cut.out)));
	buf_done(&want.out);
	buf_done(&whole.out);
	buf_done(&cut.out);
	return 0;
}
