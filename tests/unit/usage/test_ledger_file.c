/* A ledger as it lies on disk: which lines are records, how lines are cut from any chunks, what verify blames, and all of it while a daemon writes. */
#include "ledger_verify.h"
#include "unit.h"

#include "base/os/file.h"
#include "base/limits.h"
#include "usage/ledger/ledger_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define HEAD "{\"v\":1,\"n\":7,\"incarnation\":\"aa\",\"prevDigest\":null"

static void test_heads(void **state _unused_)
{
	static const struct {
		const char *line;
		enum ledger_line_kind want;
	} rows[] = {
		{ HEAD "}", LEDGER_LINE_OK },
		{ HEAD ",\"a\":1}", LEDGER_LINE_OK },
		{ "{\"v\":1,\"n\":9999999999999999999,\"incarnation\":\"aa\",\"prevDigest\":\"" HEX
		  "\"}",
		  LEDGER_LINE_OK },
		{ "{\"v\":1,\"n\":10000000000000000000,\"incarnation\":\"aa\",\"prevDigest\":null}",
		  LEDGER_LINE_FOREIGN },
		{ "{\"v\":1,\"n\":0,\"incarnation\":\"aa\",\"prevDigest\":null}",
		  LEDGER_LINE_FOREIGN },
		{ "{\"v\":1,\"n\":1.5,\"incarnation\":\"aa\",\"prevDigest\":null}",
		  LEDGER_LINE_FOREIGN },
		{ "{\"v\":1,\"n\":\"1\",\"incarnation\":\"aa\",\"prevDigest\":null}",
		  LEDGER_LINE_FOREIGN },
		{ "{\"v\":1,\"n\":1,\"incarnation\":\"\",\"prevDigest\":null}",
		  LEDGER_LINE_FOREIGN },
		{ "{\"v\":1,\"n\":1,\"incarnation\":\"a\\u0061\",\"prevDigest\":null}",
		  LEDGER_LINE_FOREIGN },
		{ "{\"v\":1,\"n\":1,\"incarnation\":null,\"prevDigest\":null}",
		  LEDGER_LINE_FOREIGN },
		{ "{\"v\":1,\"n\":1,\"incarnation\":\"" HEX "a\",\"prevDigest\":null}",
		  LEDGER_LINE_FOREIGN },
		{ "{\"v\":1,\"n\":1,\"incarnation\":\"aa\",\"prevDigest\":\"abc\"}",
		  LEDGER_LINE_FOREIGN },
		{ "{\"v\":1,\"n\":1,\"incarnation\":\"aa\",\"prevDigest\":\"" HEX "0\"}",
		  LEDGER_LINE_FOREIGN },
		{ "{\"v\":1,\"n\":1,\"incarnation\":\"aa\",\"prevDigest\":"
		  "\"A123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"}",
		  LEDGER_LINE_FOREIGN },
		{ HEAD " }", LEDGER_LINE_FOREIGN },
		{ HEAD "} ", LEDGER_LINE_FOREIGN },
		{ " " HEAD "}", LEDGER_LINE_FOREIGN },
		{ HEAD ",\"n\":7}", LEDGER_LINE_FOREIGN },
		{ HEAD ",\"\\u0076\":1}", LEDGER_LINE_FOREIGN },
		{ "{\"v\":2}", LEDGER_LINE_FOREIGN },
		{ "{}", LEDGER_LINE_FOREIGN },
		{ HEAD, LEDGER_LINE_DAMAGED },
		{ HEAD ",}", LEDGER_LINE_DAMAGED },
		{ HEAD "}}", LEDGER_LINE_DAMAGED },
		{ HEAD ",\"a\":\"\xff\"}", LEDGER_LINE_DAMAGED },
		{ "[]", LEDGER_LINE_DAMAGED },
		{ "", LEDGER_LINE_DAMAGED },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(slice_freep) struct slice line = exact_copy(slice_of(rows[i].line));
		const char *what = NULL;
		struct ledger_head h;

		if (ledger_line_check(line, &h, &what) != rows[i].want || !what)
			fail_row(i, rows[i].line);
	}
}

static void test_head_of_every_cut(void **state _unused_)
{
	static const char line[] = HEAD ",\"type\":\"turn\"}";
	struct ledger_head h;

	for (size_t n = 0; n < sizeof(line); n++) {
		_cleanup_(slice_freep) struct slice cut = exact_copy((struct slice){ line, n });

		if (ledger_head_parse(cut, &h))
			assert_true(h.size < n && h.n == 7 && h.prev_digest.n == 0);
		else
			assert_true(n <= sizeof(HEAD) - 1);
	}
}

/* --- lines ------------------------------------------------------------------------------------------------ */

static int open_scratch(const void *p, size_t n)
{
	int fd;

	scratch_write("lines", p, n);
	fd = open(scratch_path("lines"), O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static void test_lines_of_any_chunk(void **state _unused_)
{
	static const char text[] = "one\n\nthree\nfour four four\n\n\nseven\ntorn";
	static const char *const want[] = { "one", "", "three", "four four four", "", "", "seven" };
	_cleanup_(closep) int fd = open_scratch(text, sizeof(text) - 1);

	for (size_t chunk = 1; chunk < sizeof(text) + 2; chunk++) {
		_cleanup_(ledger_lines_done) struct ledger_lines l = { 0 };
		struct slice line;

		ledger_lines_init(&l, fd, 0, chunk);
		for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
			assert_int_equal(ledger_lines_next(&l, &line), 1);
			assert_text(line, want[i]);
		}
		assert_int_equal(ledger_lines_next(&l, &line), 0);
		assert_int_equal(l.at, sizeof(text) - 1 - 4);
		assert_int_equal(ledger_lines_next(&l, &line), 0);
	}
}

static void put_many(struct buf *b, char c, size_t n)
{
	assert_int_equal(buf_reserve(b, n), 0);
	memset(b->data + b->len, c, n);
	b->len += n;
}

static void test_lines_too_long(void **state _unused_)
{
	_cleanup_(ledger_lines_done) struct ledger_lines l = { 0 };
	_cleanup_(buf_done) struct buf b = { 0 };
	_cleanup_(closep) int fd = -1;
	struct ledger_report r;
	struct slice line;

	buf_puts(&b, HEAD "}\n");
	put_many(&b, 'x', 5 * MIB);
	buf_puts(&b, "\n" HEAD "}\n");
	put_many(&b, 'y', LEDGER_LINE_MAX - 1);
	buf_puts(&b, "\n");
	put_many(&b, 'z', LEDGER_LINE_MAX);
	buf_puts(&b, "\n" HEAD "}\n");
	fd = open_scratch(b.data, b.len);
	for (size_t chunk = 1000; chunk < 200000; chunk *= 13) {
		ledger_lines_init(&l, fd, 0, chunk);
		assert_int_equal(ledger_lines_next(&l, &line), 1);
		assert_int_equal(ledger_lines_next(&l, &line), 2);
		assert_int_equal(line.n, 0);
		assert_true(l.b.cap <= 4 * MIB);
		assert_int_equal(ledger_lines_next(&l, &line), 1);
		assert_text(line, HEAD "}");
		assert_int_equal(ledger_lines_next(&l, &line), 1);
		assert_int_equal(line.n, LEDGER_LINE_MAX - 1);
		assert_int_equal(ledger_lines_next(&l, &line), 2);
		assert_int_equal(ledger_lines_next(&l, &line), 1);
		assert_int_equal(ledger_lines_next(&l, &line), 0);
	}
	assert_int_equal(ledger_verify(scratch_path("lines"), NULL, &r, NULL), 0);
	assert_true(r.first_bad == 1); /* n is 7 */
	assert_string_equal(r.reason, "n is 7 where 1 was due");
}

/* --- large gaps ------------------------------------------------------------------------------------------- */

static bool collect(void *ctx, uint64_t n, struct slice line _unused_)
{
	buf_printf(ctx, "%llu ", (unsigned long long)n);
	return true;
}

static void put_line(struct buf *b, unsigned n)
{
	buf_printf(b, "{\"v\":1,\"n\":%u,\"incarnation\":\"aa\",\"prevDigest\":null,\"pad\":\"", n);
	put_many(b, 'p', 3000);
	buf_puts(b, "\"}\n");
}

/* Halving lands in stretches without any record, at the start, in the middle and at the end. */
static void test_seeking_over_damage(void **state _unused_)
{
	for (unsigned where = 1; where <= 101; where += 50) {
		_cleanup_(buf_done) struct buf b = { 0 };
		_cleanup_(closep) int fd = -1;

		for (unsigned n = 1; n <= 101; n++) {
			for (unsigned i = 0; n == where && i < 700; i++, buf_putc(&b, '\n'))
				put_many(&b, '#', 999);
			if (n <= 100)
				put_line(&b, n);
		}
		fd = open_scratch(b.data, b.len);
		for (unsigned since = 0; since <= 100; since += stride(10)) {
			_cleanup_(buf_done) struct buf got = { 0 }, want = { 0 };
			uint64_t skipped;

			for (unsigned n = since + 1; n <= 100; n++)
				buf_printf(&want, "%u ", n);
			assert_int_equal(ledgerfile_read(fd, 0, since, collect, &got, &skipped), 0);
			assert_true(slice_eq(buf_slice(&got), buf_slice(&want)));
			assert_true(skipped == 700 || since > 0);
		}
	}
}

static void put_odd_line(struct buf *b, unsigned n)
{
	buf_printf(b, "{\"v\":1,\"n\":%u,\"incarnation\":\"aa\",\"prevDigest\":null,\"pad\":\"", n);
	put_many(b, 'p', n % 97 == 0 ? 150000 : n % 13 * 40);
	buf_puts(b, "\"}\n");
}

/* Damage of each kind every some lines, and an end that is torn. */
static void put_damaged(struct buf *b, unsigned lines)
{
	for (unsigned n = 1; n <= lines; n++) {
		size_t at = buf_len(b);

		put_odd_line(b, n);
		if (n % 31 == 0)
			b->data[at] = '#'; /* no JSON */
		else if (n % 43 == 0)
			b->data[b->len - 2] = ' '; /* a head that can be read, and no record */
		else if (n % 59 == 0)
			b->data[b->len - 1] = ' '; /* takes the next with it */
		else if (n % 71 == 0)
			memset(b->data + at, 0, b->len - at); /* blocks without their bytes */
	}
	buf_puts(b, HEAD);
}

/* What is read from any number on is the end of what is read from the first on. */
static void test_any_number_beside_all(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 }, all = { 0 };
	_cleanup_(closep) int fd = -1;
	const char *rest;

	put_damaged(&b, 2000);
	fd = open_scratch(b.data, b.len);
	assert_int_equal(ledgerfile_read(fd, 0, 0, collect, &all, NULL), 0);
	buf_putc(&all, '\0');
	rest = all.data;
	assert_true(slice_starts(slice_of(rest), "1 2 "));
	for (unsigned since = 0; since <= 2001; since++) {
		_cleanup_(buf_done) struct buf got = { 0 };

		while (*rest && strtoul(rest, NULL, 10) <= since)
			rest = strchr(rest, ' ') + 1;
		if (since % stride(7) && since < 1980)
			continue;
		assert_int_equal(ledgerfile_read(fd, 0, since, collect, &got, NULL), 0);
		assert_text(buf_slice(&got), rest);
	}
	assert_int_equal(*rest, 0);
}

/* --- with a writer ---------------------------------------------------------------------------------------- */

static void writer(unsigned written)
{
	struct loop *loop = loop_new();
	struct ledger *l = ledger_open(loop, scratch_path("live"), "aa", NULL);
	_cleanup_(buf_done) struct buf b = { 0 };

	buf_puts(&b, "{\"pad\":\"");
	put_many(&b, 'p', 20000); /* some pages, so that a line is not there at once */
	buf_puts(&b, "\"}");
	for (unsigned i = 0; l && i < written; i++)
		ledger_append(l, buf_slice(&b));
	ledger_free(l);
	loop_free(loop);
	_exit(0);
}

static void test_while_a_daemon_writes(void **state _unused_)
{
	unsigned written = 1500 / stride(5);
	struct ledger_report r = { 0 };
	int status = -1;
	pid_t pid;

	scratch_write("live", "", 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		writer(written);
	do {
		assert_int_equal(ledger_verify(scratch_path("live"), NULL, &r, NULL), 0);
		if (r.first_bad) {
			kill(pid, SIGKILL);
			fail_msg("line %llu: %s", (unsigned long long)r.first_bad, r.reason);
		}
	} while (waitpid(pid, &status, WNOHANG) == 0);
	assert_int_equal(status, 0);
	assert_int_equal(ledger_verify(scratch_path("live"), NULL, &r, NULL), 0);
	assert_int_equal(r.records,
			 written); /* how often it was looked at is the scheduler's affair */
}

static void test_unreadable(void **state _unused_)
{
	struct ledger_report r;
	struct err e = { 0 };

	assert_int_equal(ledger_verify(scratch_path("missing"), NULL, &r, &e), -ENOENT);
	assert_non_null(strstr(e.msg, "missing"));
	assert_int_equal(ledger_verify(scratch_dir(), NULL, &r, &e), -EISDIR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_heads),
		cmocka_unit_test(test_head_of_every_cut),
		cmocka_unit_test(test_lines_of_any_chunk),
		cmocka_unit_test(test_lines_too_long),
		cmocka_unit_test(test_seeking_over_damage),
		cmocka_unit_test(test_any_number_beside_all),
		cmocka_unit_test(test_while_a_daemon_writes),
		cmocka_unit_test(test_unreadable),
	};

	return RUN(tests, scratch_setup, scratch_done);
}
