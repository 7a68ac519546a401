/*
 * Two contents become a patch. Whatever they are: it is UTF-8 without NUL, an own reader of hunks makes the new text of the old
 * one, the sums are those of its lines, and the ranges of the line diff leave out only what is the same.
 */
#include "fuzz.h"

#include "base/format/utf8.h"
#include "diff/diff_lines.h"
#include "diff/git_patch.h"

static struct slice next_line(struct slice *rest)
{
	const char *newline = memchr(rest->p, '\n', rest->n);
	size_t n = newline ? (size_t)(newline + 1 - rest->p) : rest->n;
	struct slice line = { rest->p, n };

	*rest = slice_after(*rest, n);
	return line;
}

static void skip_lines(struct slice *rest, uint32_t n)
{
	while (n--) {
		FUZZ_CHECK(rest->n);
		next_line(rest);
	}
}

static void check_ranges(struct slice from, struct slice to)
{
	struct line_diff d;
	uint32_t at = 0;

	FUZZ_CHECK(line_diff_make(from, to, &d) == 0);
	for (size_t i = 0; i < d.n; i++) {
		FUZZ_CHECK(d.ranges[i].old_at >= at + (i > 0));
		for (; at < d.ranges[i].old_at; at++)
			FUZZ_CHECK(slice_eq(next_line(&from), next_line(&to)));
		skip_lines(&from, d.ranges[i].old_n);
		skip_lines(&to, d.ranges[i].new_n);
		at += d.ranges[i].old_n;
	}
	FUZZ_CHECK(slice_eq(from, to));
	line_diff_done(&d);
}

/* --- a reader of hunks ----------------------------------------------------------------------------------- */

struct replay {
	struct slice old; /* what is left of it */
	struct buf made;
	uint64_t at, plus, minus;
};

static void copy_line(struct replay *r)
{
	FUZZ_CHECK(r->old.n);
	buf_add_slice(&r->made, next_line(&r->old));
	r->at++;
}

/* "@@ -at[,n] +...": everything before it is unchanged. */
static void begin_hunk(struct replay *r, struct slice head)
{
	unsigned long at = 0, n = 1;
	char text[64];

	FUZZ_CHECK(head.n < sizeof(text));
	memcpy(text, head.p, head.n);
	text[head.n] = '\0';
	FUZZ_CHECK(sscanf(text, "@@ -%lu,%lu +", &at, &n) >= 1);
	while (r->at + (n != 0) < at)
		copy_line(r);
}

/* A line of a hunk without its newline if a remark says so. */
static void hunk_line(struct replay *r, struct slice line, bool cut)
{
	struct slice text = { line.p + 1, line.n - 1 - cut };

	if (line.p[0] != '+') {
		FUZZ_CHECK(slice_eq(next_line(&r->old), text));
		r->at++;
	}
	if (line.p[0] != '-')
		buf_add_slice(&r->made, text);
	r->plus += line.p[0] == '+';
	r->minus += line.p[0] == '-';
}

static void replay_hunks(struct replay *r, struct slice patch)
{
	while (patch.n) {
		struct slice line = next_line(&patch);
		bool cut = patch.n && patch.p[0] == '\\';

		if (cut)
			FUZZ_CHECK(slice_is(next_line(&patch), "\\ No newline at end of file\n"));
		if (line.p[0] == '@')
			begin_hunk(r, line);
		else
			hunk_line(r, line, cut);
	}
	while (r->old.n)
		copy_line(r);
}

/* The text behind the names; nothing for a change without hunks. */
static struct slice hunks_of(struct slice patch)
{
	while (patch.n && patch.p[0] != '@')
		next_line(&patch);
	return patch;
}

static void check_replay(struct slice from, struct slice to, struct slice patch,
			 const struct patch_stat *stat)
{
	struct replay r = { .old = from };

	replay_hunks(&r, hunks_of(patch));
	FUZZ_CHECK(slice_eq(buf_slice(&r.made), to));
	FUZZ_CHECK(r.plus == stat->insertions && r.minus == stat->deletions);
	buf_done(&r.made);
}

static void check_patch(struct diff_side a, struct diff_side b, unsigned context)
{
	struct buf out = { 0 };
	struct patch_options options = { context };
	struct patch_stat stat = { 0 };
	struct slice from = { a.mode ? a.data : NULL, a.mode ? a.n : 0 };
	struct slice to = { b.mode ? b.data : NULL, b.mode ? b.n : 0 };
	bool retyped = a.mode && b.mode && (a.mode == PATCH_SYMLINK) != (b.mode == PATCH_SYMLINK);

	FUZZ_CHECK(patch_append(&out, "a \"\n\xff", &a, &b, &options, &stat) == 0);
	FUZZ_CHECK(!memchr(out.data ? out.data : "", 0, out.len) && utf8_valid(buf_slice(&out)));
	FUZZ_CHECK(!out.len == (a.mode == b.mode && slice_eq(from, to)));
	if (!stat.binary && !retyped)
		check_replay(from, to, buf_slice(&out), &stat);
	buf_done(&out);
}

/* First byte: the two modes and how much context; second: where the first content ends, in 256ths. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned modes[] = { PATCH_FILE, PATCH_EXECUTABLE, PATCH_SYMLINK, 0 };
	struct slice from, to;
	size_t n;

	if (size < 2)
		return 0;
	n = (size - 2) * data[1] / 255;
	from = exact(data + 2, n);
	to = exact(data + 2 + n, size - 2 - n);
	check_ranges(from, to);
	check_patch((struct diff_side){ from.p, from.n, modes[data[0] & 3] },
		    (struct diff_side){ to.p, to.n, modes[data[0] >> 2 & 3] }, data[0] >> 4);
	exact_free(&from);
	exact_free(&to);
	return 0;
}
