/* The line diff: right for every pair, shortest where it is cheap, bounded where it is not. */
#include "unit.h"

#include "base/limits.h"
#include "diff/diff_lines.h"

#include <time.h>

static const struct {
	const char *from, *to, *ranges; /* old_at+old_n>new_at+new_n */
} rows[] = {
	{ "", "", "" },
	{ "a\nb\n", "a\nb\n", "" },
	{ "a", "a", "" },
	{ "", "a\n", "0+0>0+1 " },
	{ "a\n", "", "0+1>0+0 " },
	{ "", "a", "0+0>0+1 " },
	{ "a", "a\n", "0+1>0+1 " },
	{ "a\n", "a\nb", "1+0>1+1 " },
	{ "a\nb", "a\nb\nc", "1+1>1+2 " },
	{ "a\nb\nc\n", "a\nx\nc\n", "1+1>1+1 " },
	{ "a\nb\nc\n", "a\nc\n", "1+1>1+0 " },
	{ "a\nc\n", "a\nb\nc\n", "1+0>1+1 " },
	{ "a\nb\nc\nd\n", "b\nc\nd\ne\n", "0+1>0+0 4+0>3+1 " },
	{ "a\nb\nc\na\nb\nb\na\n", "c\nb\na\nb\na\nc\n", NULL },
	{ "\n\n\n", "\n\n", "2+1>2+0 " },
	{ "x\n\ny\n", "x\n\n\ny\n", "2+0>2+1 " },
	{ "a\r\nb\r\n", "a\nb\r\n", "0+1>0+1 " },
	/* an insertion goes down as far as it can */
	{ "f {\n}\nz\n", "f {\n}\ng {\n}\nz\n", "2+0>2+2 " },
	{ "0\n{\n1\n}\nq\n{\n2\n}\n9\n", "X\n{\n1\n}\nq\n{\nn\n}\nq\n{\n2\n}\nY\n",
	  "0+1>0+1 6+0>6+4 8+1>12+1 " },
};

static void print_ranges(const struct line_diff *d, struct buf *out)
{
	for (size_t i = 0; i < d->n; i++) {
		const struct line_range *r = &d->ranges[i];

		buf_printf(out, "%u+%u>%u+%u ", r->old_at, r->old_n, r->new_at, r->new_n);
	}
}

static size_t split(struct slice text, struct slice *lines)
{
	size_t n = 0;

	while (text.n) {
		const char *newline = memchr(text.p, '\n', text.n);
		size_t len = newline ? (size_t)(newline + 1 - text.p) : text.n;

		lines[n++] = (struct slice){ text.p, len };
		text = slice_after(text, len);
	}
	return n;
}

/* Everything outside of the ranges is the same, in order, and ranges do not touch. Returns the lines in ranges. */
static size_t check_right(struct slice from, struct slice to, const struct line_diff *d)
{
	_cleanup_(freep) struct slice *a = calloc(from.n + 1, sizeof(*a));
	_cleanup_(freep) struct slice *b = calloc(to.n + 1, sizeof(*b));
	size_t an = split(from, a), bn = split(to, b), x = 0, y = 0, changed = 0;

	for (size_t i = 0; i <= d->n; i++) {
		struct line_range end = { (uint32_t)an, 0, (uint32_t)bn, 0 };
		struct line_range r = i < d->n ? d->ranges[i] : end;

		assert_true(r.old_at >= x && r.old_at + r.old_n <= an);
		assert_true(r.new_at >= y && r.new_at + r.new_n <= bn);
		assert_true(i == d->n || r.old_n + r.new_n);
		assert_true(i == 0 || i == d->n || r.old_at > x);
		assert_int_equal(r.old_at - x, r.new_at - y);
		for (; x < r.old_at; x++, y++)
			assert_true(slice_eq(a[x], b[y]));
		x += r.old_n;
		y += r.new_n;
		changed += r.old_n + r.new_n;
	}
	return changed;
}

static size_t compare(struct slice from, struct slice to, struct buf *ranges)
{
	_cleanup_(slice_freep) struct slice a = exact_copy(from), b = exact_copy(to);
	struct line_diff d;
	size_t changed;

	assert_int_equal(line_diff_make(a, b, &d), 0);
	changed = check_right(a, b, &d);
	if (ranges)
		print_ranges(&d, ranges);
	line_diff_done(&d);
	return changed;
}

static void test_rows(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf got = { 0 };

		compare(slice_of(rows[i].from), slice_of(rows[i].to), &got);
		buf_putc(&got, '\0');
		if (rows[i].ranges && strcmp(got.data, rows[i].ranges) != 0)
			fail_msg("row %zu: %s instead of %s", i, got.data, rows[i].ranges);
	}
}

/* --- shortest -------------------------------------------------------------------------------------------- */

#define SHORT_MAX 24

/* Lines that no shortest edit changes: the longest common subsequence, by the book. */
static size_t common(const char *a, size_t an, const char *b, size_t bn)
{
	size_t best[SHORT_MAX + 1][SHORT_MAX + 1] = { 0 };

	for (size_t i = 1; i <= an; i++)
		for (size_t j = 1; j <= bn; j++)
			best[i][j] = a[i - 1] == b[j - 1] ? best[i - 1][j - 1] + 1 :
							    MAX(best[i - 1][j], best[i][j - 1]);
	return best[an][bn];
}

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 16;
}

static size_t random_letters(uint32_t *seed, char *out, unsigned kinds)
{
	size_t n = next_random(seed) % (SHORT_MAX + 1);

	for (size_t i = 0; i < n; i++)
		out[i] = (char)('a' + next_random(seed) % kinds);
	return n;
}

static struct slice as_lines(const char *letters, size_t n, char *out)
{
	for (size_t i = 0; i < n; i++) {
		out[2 * i] = letters[i];
		out[2 * i + 1] = '\n';
	}
	return (struct slice){ out, 2 * n };
}

static void test_shortest(void **state _unused_)
{
	char a[SHORT_MAX], b[SHORT_MAX], from[2 * SHORT_MAX], to[2 * SHORT_MAX];

	for (uint32_t i = 1; i <= 20000; i++) {
		uint32_t seed = i;
		size_t an = random_letters(&seed, a, 2 + i % 7);
		size_t bn = random_letters(&seed, b, 2 + i % 7);
		size_t got = compare(as_lines(a, an, from), as_lines(b, bn, to), NULL);

		if (got != an + bn - 2 * common(a, an, b, bn))
			fail_msg("seed %u: %zu lines changed", i, got);
	}
}

/* --- bounds ---------------------------------------------------------------------------------------------- */

static void fill(struct buf *b, unsigned lines, uint32_t seed, unsigned kinds)
{
	for (unsigned i = 0; i < lines; i++)
		buf_printf(b, "%u\n", next_random(&seed) % kinds);
}

static void compare_random(unsigned lines, unsigned kinds)
{
	_cleanup_(buf_done) struct buf a = { 0 }, b = { 0 };

	fill(&a, lines, 1, kinds);
	fill(&b, lines, 2, kinds);
	compare(buf_slice(&a), buf_slice(&b), NULL);
}

/* Every search gives up before it is done. */
static void test_long(void **state _unused_)
{
	for (unsigned kinds = 2; kinds <= 20000; kinds *= 10)
		compare_random(10000, kinds);
}

/* Two long texts that share most lines and no order: minutes, were there no bound. */
static void test_pathological(void **state _unused_)
{
	clock_t began = clock();

	compare_random(250000, 60000);
	assert_true((clock() - began) / CLOCKS_PER_SEC < 60);
}

/* Beyond the bound of lines one block replaces the other; what is the same before and after it still counts. */
static void test_too_many_lines(void **state _unused_)
{
	_cleanup_(buf_done) struct buf a = { 0 }, b = { 0 }, got = { 0 };

	buf_puts(&a, "same\none\n");
	buf_puts(&b, "same\ntwo\n");
	for (size_t i = 0; i < DIFF_LINES_MAX; i++) {
		buf_puts(&a, "x\n");
		buf_puts(&b, "x\n");
	}
	buf_puts(&a, "three\nend\n");
	buf_puts(&b, "four\nend\n");
	compare(buf_slice(&a), buf_slice(&b), &got);
	assert_buf(&got, "1+524290>1+524290 ");
}

static void test_too_large(void **state _unused_)
{
	struct line_diff d;

	assert_int_equal(line_diff_make((struct slice){ "", DIFF_SIDE_MAX + 1 }, SLICE_NONE, &d),
			 -EFBIG);
	line_diff_done(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),	     cmocka_unit_test(test_shortest),
		cmocka_unit_test(test_pathological), cmocka_unit_test(test_too_many_lines),
		cmocka_unit_test(test_too_large),    cmocka_unit_test(test_long),
	};

	return RUN(tests, NULL, NULL);
}
