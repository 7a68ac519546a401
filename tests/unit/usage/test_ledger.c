/* The usage ledger: what was appended is there, in order and whole, over lives, torn ends and full disks; who waits is told once. */
#include "ledger_rig.h"

#include "base/os/file.h"
#include "base/limits.h"
#include "base/log.h"
#include "json/jscan.h"

#include <sys/stat.h>

#define HEAD_1 "{\"v\":1,\"n\":1,\"incarnation\":\"aa\",\"prevDigest\":null"

static void reopen(const char *incarnation)
{
	l = ledger_free(l);
	open_at(scratch_path(LEDGER), incarnation);
}

static uint64_t append_text(const char *text)
{
	return ledger_append(l, slice_of(text));
}

static void append(unsigned n)
{
	char text[64];

	for (unsigned i = 0; i < n; i++) {
		uint64_t want = ledger_last(l) + 1;

		snprintf(text, sizeof(text), "{\"type\":\"turn\",\"turn\":%u}", i + 1);
		assert_true(append_text(text) == want);
		assert_true(ledger_last(l) == want);
	}
}

static void check_report(const char *name, uint64_t records, uint64_t incarnations)
{
	struct ledger_report r;

	assert_int_equal(ledger_verify(scratch_path(name), NULL, &r, NULL), 0);
	if (r.first_bad)
		fail_msg("line %llu: %s", (unsigned long long)r.first_bad, r.reason);
	assert_true(r.records == records);
	assert_true(r.incarnations == incarnations);
}

static void slurp(struct buf *b)
{
	buf_reset(b);
	assert_int_equal(file_read(scratch_path(LEDGER), 64 << 20, b), 0);
}

/* --- what is written -------------------------------------------------------------------------------------- */

static void test_layout(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct stat sb;

	reopen("aa");
	assert_true(append_text("{\"type\":\"turn\"}") == 1);
	slurp(&b);
	assert_buf(&b, HEAD_1 ",\"type\":\"turn\"}\n");
	assert_true(append_text("{}") == 2);
	assert_true(append_text("{ }") == 3);
	stat(scratch_path(LEDGER), &sb);
	assert_int_equal(sb.st_mode & 07777, 0600);
	check_report(LEDGER, 3, 1);
}

/* The digest is what sha256sum makes of the line. */
static void test_digest_of_previous_line(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	reopen("aa");
	append_text("{\"type\":\"turn\"}");
	append_text("{\"type\":\"turn\"}");
	slurp(&b);
	assert_buf(&b, HEAD_1 ",\"type\":\"turn\"}\n"
			      "{\"v\":1,\"n\":2,\"incarnation\":\"aa\",\"prevDigest\":"
			      "\"9cf6f8bc56c1a6586c2fc3f561d71549d9695a421878089e795b0bf161c346dc\""
			      ",\"type\":\"turn\"}\n");
}

static void test_what_is_no_record(void **state _unused_)
{
	static const char *const bad[] = { "",
					   "{",
					   "[]",
					   "1",
					   "null",
					   "{\"a\":1} ",
					   " {\"a\":1}",
					   "{\"a\":\n1}",
					   "{\"a\":1}\n",
					   "{\"a\":1,}",
					   "{\"a\":1}{\"b\":2}",
					   "{\"v\":1}",
					   "{\"a\":1,\"n\":2}",
					   "{\"prevDigest\":null}",
					   "{\"incarnation\":\"x\"}",
					   "{\"\\u006e\":1}",
					   "{\"a\":\"\xff\"}" };

	reopen("aa");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (append_text(bad[i]))
			fail_row(i, bad[i]);
	assert_true(ledger_append(l, SLICE_NONE) == 0);
	assert_int_equal(ledger_error(l), 0);
	append(1);
	check_report(LEDGER, 1, 1);
}

static void test_longest_record(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	reopen("aa");
	buf_puts(&b, "{\"a\":\"");
	while (buf_len(&b) < LEDGER_LINE_MAX)
		buf_putc(&b, 'x');
	buf_puts(&b, "\"}");
	assert_true(ledger_append(l, buf_slice(&b)) == 0);
	assert_int_equal(ledger_error(l), 0);
	b.len = LEDGER_LINE_MAX - 256;
	memcpy(b.data + b.len - 2, "\"}", 2);
	assert_true(ledger_append(l, buf_slice(&b)) == 1);
	append(2);
	check_report(LEDGER, 3, 1);
	reopen("bb");
	assert_true(ledger_last(l) == 3);
}

/* --- lives ------------------------------------------------------------------------------------------------ */

static void test_lives(void **state _unused_)
{
	reopen("aa");
	assert_true(ledger_last(l) == 0);
	check_report(LEDGER, 0, 0);
	append(3);
	reopen("bb");
	assert_true(ledger_last(l) == 3);
	append(2);
	reopen("cc"); /* a life without a record leaves no trace */
	reopen("dd");
	append(1);
	check_report(LEDGER, 6, 3);
	reopen("dd"); /* the same incarnation goes on with its chain */
	append(1);
	check_report(LEDGER, 7, 3);
}

/* A ledger that is written to becomes another's: as with a new life, its chain begins. */
static void test_begins_another(void **state _unused_)
{
	struct err e = { 0 };

	reopen("aa");
	append(2);
	assert_int_equal(ledger_begin(l, "aa", &e), -EINVAL);
	assert_int_equal(ledger_begin(l, "no incarnation", &e), -EINVAL);
	append(1);
	check_report(LEDGER, 3, 1);
	assert_int_equal(ledger_begin(l, "bb", &e), 0);
	append(2);
	assert_int_equal(ledger_begin(l, "cc", &e), 0);
	assert_int_equal(ledger_begin(l, "dd", &e), 0);
	append(1);
	check_report(LEDGER, 6, 3);
	reopen("dd");
	append(1);
	check_report(LEDGER, 7, 3);
}

/* Only the digest shows this one. */
static void test_changed_record(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct ledger_report r;

	reopen("aa");
	append(3);
	slurp(&b);
	*((char *)memmem(b.data, b.len, "\"turn\":2", 8) + 7) = '9';
	scratch_write(LEDGER, b.data, b.len);
	assert_int_equal(ledger_verify(scratch_path(LEDGER), NULL, &r, NULL), 0);
	assert_true(r.first_bad == 3 && r.records == 2);
	assert_string_equal(r.reason, "prevDigest is not the digest of the line before");
}

static void test_every_torn_end(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	size_t whole;

	reopen("aa");
	append(2);
	slurp(&b);
	whole = b.len;
	append(1);
	slurp(&b);
	for (size_t n = 0; n <= b.len; n += stride(5)) {
		unsigned kept = 0;

		for (size_t i = 0; i < n; i++)
			kept += b.data[i] == '\n';
		scratch_write(LEDGER, b.data, n);
		reopen("aa");
		assert_true(ledger_last(l) == kept);
		append(1);
		check_report(LEDGER, kept + 1, 1);
	}
	assert_true(whole < b.len);
}

/* Blocks that were allocated but never written. */
static void test_torn_with_zeros(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	size_t whole;

	reopen("aa");
	append(2);
	slurp(&b);
	whole = b.len;
	for (int i = 0; i < 5000; i++)
		buf_putc(&b, '\0');
	buf_puts(&b, "urn\":7}\n{\"v\":1,\"n\":4,\"incar");
	for (size_t n = whole + 1; n <= b.len; n += n < whole + 4990 ? 499 : 1) {
		scratch_write(LEDGER, b.data, n);
		reopen("bb");
		assert_true(ledger_last(l) == 2);
		append(1);
		check_report(LEDGER, 3, 2);
	}
	scratch_write(LEDGER, b.data + whole, 4000);
	reopen("bb");
	assert_true(ledger_last(l) == 0);
	append(1);
	check_report(LEDGER, 1, 1);
}

/* A file of a later version is refused, and not a byte of it is changed. */
static void test_later_versions(void **state _unused_)
{
	static const char *const files[] = {
		"{\"v\":2,\"n\":1}\n",
		"{\"v\":2,\"n\":1}\n{\"v\":1,\"n\":",
		HEAD_1 "}\n{\"v\":2,\"n\":2,\"incarnation\":\"aa\",\"prevDigest\":null}\n",
		HEAD_1 "}\n{\"v\":2,\"n\":2,\"incarnation\":\"aa\",\"prevDigest\":null}\ntorn",
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		_cleanup_(buf_done) struct buf b = { 0 };
		struct err e = { 0 };

		scratch_write(LEDGER, files[i], strlen(files[i]));
		if (ledger_open(loop, scratch_path(LEDGER), "aa", &e))
			fail_row(i, files[i]);
		assert_string_equal(e.reason, "STATE_VERSION");
		slurp(&b);
		assert_buf(&b, files[i]);
	}
}

static void test_too_much_damaged(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	char line[7000];
	struct stat sb;

	reopen("aa");
	append(1);
	slurp(&b);
	memset(line, '#', sizeof(line));
	line[sizeof(line) - 1] = '\n';
	while (b.len < LEDGER_TAIL_MAX + 4096)
		buf_add(&b, line, sizeof(line));
	l = ledger_free(l);
	scratch_write(LEDGER, b.data, b.len);
	reopen("aa");
	append(1);
	check_report(LEDGER, 2, 1);
	stat(scratch_path(LEDGER ".aside"), &sb);
	assert_true((size_t)sb.st_size > LEDGER_TAIL_MAX);
	unlink(scratch_path(LEDGER ".aside"));
}

static void test_open_refusals(void **state _unused_)
{
	static const char *const names[] = { "a b",
					     "a\"b",
					     "a\\b",
					     "a\nb",
					     "\xc3\xa9",
					     "0123456789012345678901234567890123456789"
					     "0123456789012345678901234" };
	struct ledger *none;
	struct stat sb;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (ledger_open(loop, scratch_path(LEDGER), names[i], NULL))
			fail_row(i, names[i]);
	none = ledger_open(loop, scratch_path(LEDGER), "", NULL); /* there is none yet */
	assert_int_equal(ledger_append(none, SLICE("{}")), 0);
	assert_int_equal(ledger_begin(none, "aa", NULL), 0);
	assert_int_equal(ledger_append(none, SLICE("{}")), 1);
	ledger_free(none);
	unlink(scratch_path(LEDGER));
	assert_null(ledger_open(loop, scratch_path("no/file"), "aa", NULL));
	assert_null(ledger_open(loop, scratch_dir(), "aa", NULL));
	assert_int_equal(symlink(scratch_path("elsewhere"), scratch_path(LEDGER)), 0);
	assert_null(ledger_open(loop, scratch_path(LEDGER), "aa", NULL));
	unlink(scratch_path(LEDGER));
	assert_int_equal(mkfifo(scratch_path(LEDGER), 0600), 0);
	assert_null(ledger_open(loop, scratch_path(LEDGER), "aa", NULL));
	unlink(scratch_path(LEDGER));
	scratch_write(LEDGER, "", 0);
	chmod(scratch_path(LEDGER), 0644);
	reopen("aa");
	stat(scratch_path(LEDGER), &sb);
	assert_int_equal(sb.st_mode & 07777, 0600);
	append(1);
	check_report(LEDGER, 1, 1);
}

/* --- reading ---------------------------------------------------------------------------------------------- */

struct reader {
	uint64_t next, left;
	bool append;
};

static bool on_line(void *ctx, uint64_t n, struct slice line)
{
	struct reader *r = ctx;
	char start[64];

	assert_true(n == r->next);
	snprintf(start, sizeof(start), "{\"v\":1,\"n\":%llu,", (unsigned long long)n);
	assert_true(slice_starts(line, start));
	assert_true(line.p[line.n - 1] == '}');
	if (r->append)
		append(1);
	r->next++;
	return --r->left > 0;
}

/* Reads at most count after since; returns how many came. */
static uint64_t read_some(uint64_t since, uint64_t count)
{
	struct reader r = { .next = since + 1, .left = count };

	assert_int_equal(ledger_read(l, since, on_line, &r), 0);
	return r.next - since - 1;
}

/* Lines of very different length, so that halving meets all kinds of places. */
static void append_odd(unsigned n)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	for (unsigned i = 0; i < n; i++) {
		size_t size = i % 97 == 0 ? 150000 : i % 13 * 40;

		buf_reset(&b);
		buf_puts(&b, "{\"pad\":\"");
		while (buf_len(&b) < size)
			buf_putc(&b, '{');
		buf_puts(&b, "\"}");
		assert_true(ledger_append(l, buf_slice(&b)) > 0);
	}
}

static void test_read_from_every_number(void **state _unused_)
{
	reopen("aa");
	append_odd(400);
	reopen("bb");
	append_odd(300);
	check_report(LEDGER, 700, 2);
	for (uint64_t since = 0; since <= 700; since += stride(20))
		assert_true(read_some(since, 3) == MIN(3u, 700 - since));
	assert_true(read_some(0, UINT64_MAX) == 700);
	assert_true(read_some(5000, 3) == 0);
	assert_true(read_some(UINT64_MAX, 3) == 0);
}

static void test_read_empty(void **state _unused_)
{
	reopen("aa");
	assert_true(read_some(0, 10) == 0);
	append(1);
	assert_true(read_some(0, 10) == 1);
	assert_true(read_some(1, 10) == 0);
}

static void test_append_while_reading(void **state _unused_)
{
	struct reader r = { .next = 1, .left = UINT64_MAX, .append = true };

	reopen("aa");
	append(1000);
	assert_int_equal(ledger_read(l, 0, on_line, &r), 0);
	assert_true(r.next == 1001);
	assert_true(ledger_last(l) == 2000);
}

/* The end of a large file is found without reading the rest: bytes read are counted by the kernel. */
static uint64_t bytes_read(void)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	assert_int_equal(file_read("/proc/self/io", 4096, &b), 0);
	buf_putc(&b, '\0');
	return strtoull(strstr(b.data, "rchar: ") + 7, NULL, 10);
}

static void test_end_of_a_large_file(void **state _unused_)
{
	uint64_t before;

	reopen("aa");
	append_odd(3000);
	before = bytes_read();
	assert_true(read_some(2990, 100) == 10);
	assert_true(bytes_read() - before < 2 * MIB);
	before = bytes_read();
	reopen("bb");
	assert_true(bytes_read() - before < 1 * MIB);
	assert_true(ledger_last(l) == 3000);
}

static bool collect(void *ctx, uint64_t n, struct slice line)
{
	struct jval v;

	assert_int_equal(jscan_value(line, &v), JSCAN_OK);
	buf_printf(ctx, "%llu ", (unsigned long long)n);
	return true;
}

static void test_damaged_lines_are_left_out(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 }, got = { 0 };
	char *at;

	reopen("aa");
	append(6);
	slurp(&b);
	at = memmem(b.data, b.len, "\"n\":3", 5);
	at[1] = 'm';
	at = memmem(b.data, b.len, "\"turn\":5", 8);
	at[0] = 'x';
	at = memmem(b.data, b.len, "\"n\":2", 5);
	*(char *)memchr(at, '\n', 1000) = ' '; /* takes 3 with it */
	scratch_write(LEDGER, b.data, b.len);
	assert_int_equal(ledger_read(l, 0, collect, &got), 0);
	assert_buf(&got, "1 4 6 ");
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_layout),
		T(test_digest_of_previous_line),
		T(test_what_is_no_record),
		T(test_longest_record),
		T(test_lives),
		T(test_begins_another),
		T(test_changed_record),
		T(test_every_torn_end),
		T(test_torn_with_zeros),
		T(test_later_versions),
		T(test_too_much_damaged),
		T(test_open_refusals),
		T(test_read_from_every_number),
		T(test_read_empty),
		T(test_append_while_reading),
		T(test_end_of_a_large_file),
		T(test_damaged_lines_are_left_out),
	};

	log_set_level(LOG_ERROR);
	return RUN(tests, scratch_setup, scratch_done);
}
