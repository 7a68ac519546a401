/* The line framer: the same lines come out however the bytes arrive. */
#include "unit.h"

#include "base/limits.h"
#include "proc/output/lines.h"

static void feed(struct lines *l, const char *p, size_t n)
{
	char *space;

	if (!n)
		return;
	space = lines_space(l, n);
	assert_non_null(space);
	memcpy(space, p, n);
	lines_filled(l, n);
}

/* All complete lines, each in brackets. Returns the last result of lines_next. */
static int take(struct lines *l, struct buf *out)
{
	struct slice line;
	int r;

	while ((r = lines_next(l, &line)) > 0) {
		buf_putc(out, '[');
		buf_add_slice(out, line);
		buf_putc(out, ']');
	}
	return r;
}

static const char sample[] =
	"one\n\ntwo\r\n\r\n\r\r\nth\rree\nUnicode\xe2\x80\xa8line\xc2\x85\x0b\x0c\n\xff\xfe\nrest\r";
static const char sample_lines[] =
	"[one][][two][][\r][th\rree][Unicode\xe2\x80\xa8line\xc2\x85\x0b\x0c][\xff\xfe]";

static void check_cuts(size_t a, size_t b)
{
	_cleanup_(buf_done) struct buf out = { 0 };
	size_t n = sizeof(sample) - 1;
	struct lines l;

	lines_init(&l, 100);
	feed(&l, sample, a);
	assert_int_equal(take(&l, &out), 0);
	feed(&l, sample + a, b - a);
	assert_int_equal(take(&l, &out), 0);
	feed(&l, sample + b, n - b);
	assert_int_equal(take(&l, &out), 0);
	assert_buf(&out, sample_lines);
	assert_text(lines_rest(&l), "rest\r");
	lines_done(&l);
}

static void test_every_split(void **state _unused_)
{
	for (size_t a = 0; a < sizeof(sample); a++)
		for (size_t b = a; b < sizeof(sample); b++)
			check_cuts(a, b);
}

static void test_byte_by_byte(void **state _unused_)
{
	_cleanup_(buf_done) struct buf out = { 0 };
	struct lines l;

	lines_init(&l, 100);
	for (size_t i = 0; i < sizeof(sample) - 1; i++) {
		feed(&l, sample + i, 1);
		assert_int_equal(take(&l, &out), 0);
	}
	assert_buf(&out, sample_lines);
	lines_done(&l);
}

static void test_nul_is_a_byte(void **state _unused_)
{
	struct slice line;
	struct lines l;

	lines_init(&l, 100);
	feed(&l, "a\0b\n", 4);
	assert_int_equal(lines_next(&l, &line), 1);
	assert_int_equal(line.n, 3);
	assert_memory_equal(line.p, "a\0b", 3);
	lines_done(&l);
}

/* max counts the bytes before the newline. */
static void test_too_long(void **state _unused_)
{
	for (size_t n = 98; n <= 102; n++) {
		for (int newline = 0; newline <= 1; newline++) {
			struct slice line = SLICE_NONE;
			struct lines l;
			char text[104];
			int r;

			memset(text, 'x', sizeof(text));
			text[n] = '\n';
			lines_init(&l, 100);
			feed(&l, text, n + newline);
			r = lines_next(&l, &line);
			assert_int_equal(r, n > 100 ? -E2BIG : newline);
			if (r > 0)
				assert_int_equal(line.n, n);
			if (n > 100) /* and it stays so */
				assert_int_equal(lines_next(&l, &line), -E2BIG);
			lines_done(&l);
		}
	}
}

static void test_good_lines_before_a_long_one(void **state _unused_)
{
	_cleanup_(buf_done) struct buf out = { 0 };
	struct lines l;

	lines_init(&l, 5);
	feed(&l, "a\nbb\n123456\nc\n", 14);
	assert_int_equal(take(&l, &out), -E2BIG);
	assert_buf(&out, "[a][bb]");
	lines_done(&l);
}

/* One line that grows for long is searched once, and what it took is given back. */
static void test_large_line_gives_memory_back(void **state _unused_)
{
	const size_t max = 4 * MIB;
	static char chunk[CHILD_READ_BYTES];
	struct slice line;
	struct lines l;
	size_t sent = 0;

	memset(chunk, 'y', sizeof(chunk));
	lines_init(&l, max);
	for (; sent + sizeof(chunk) <= max; sent += sizeof(chunk)) {
		feed(&l, chunk, sizeof(chunk));
		assert_int_equal(lines_next(&l, &line), 0);
		assert_int_equal(l.scanned, sent + sizeof(chunk));
	}
	feed(&l, "\n", 1);
	assert_int_equal(lines_next(&l, &line), 1);
	assert_int_equal(line.n, sent);
	lines_trim(&l);
	assert_true(l.in.cap <= 4 * CHILD_READ_BYTES);
	lines_done(&l);
}

/* What one reader asks for at once always fits beside the longest line. */
static void test_space_beside_the_longest_line(void **state _unused_)
{
	static char line[1000];
	struct slice got;
	struct lines l;

	memset(line, 'z', sizeof(line));
	lines_init(&l, sizeof(line));
	feed(&l, line, sizeof(line));
	assert_int_equal(lines_next(&l, &got), 0);
	assert_non_null(lines_space(&l, CHILD_READ_BYTES));
	feed(&l, "\n", 1);
	assert_int_equal(lines_next(&l, &got), 1);
	assert_int_equal(got.n, sizeof(line));
	lines_done(&l);
}

static void test_empty(void **state _unused_)
{
	struct slice line;
	struct lines l;

	lines_init(&l, 10);
	assert_int_equal(lines_next(&l, &line), 0);
	assert_int_equal(lines_rest(&l).n, 0);
	lines_filled(&l, 0);
	assert_int_equal(lines_next(&l, &line), 0);
	lines_done(&l);
	lines_done(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_split),
		cmocka_unit_test(test_byte_by_byte),
		cmocka_unit_test(test_nul_is_a_byte),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_good_lines_before_a_long_one),
		cmocka_unit_test(test_large_line_gives_memory_back),
		cmocka_unit_test(test_space_beside_the_longest_line),
		cmocka_unit_test(test_empty),
	};

	return RUN(tests, NULL, NULL);
}
