/* A journal of an earlier life: torn at any byte it is cut to its last whole line; what is damaged is passed over,
 * the rest can be read, and no number that may have been seen is given again. */
#include "unit.h"

#include "base/os/file.h"
#include "session/core/log/evlog.h"
#include "session/core/log/event_table.h"
#include "session/core/log/journal_record.h"

#include <fcntl.h>
#include <sys/stat.h>

#define JOURNAL "journal"
#define EVENTS 5

static struct loop *loop;
static struct evlog l;
static struct buf whole; /* bytes of an undamaged journal */

static int close_log(void **state _unused_)
{
	evlog_close(&l);
	return 0;
}

static void append(uint64_t seq)
{
	char frame[64];
	struct evlog_entry e = { .seq = seq, .kind = UPDATE_AGENT_CHUNK };

	snprintf(frame, sizeof(frame), "{\"event\":%llu}", (unsigned long long)seq);
	e.frame = slice_of(frame);
	evlog_append(&l, &e, event_kind_name(e.kind));
}

static int make(void **state)
{
	scratch_setup(state);
	loop = loop_new();
	if (evlog_open(&l, loop, scratch_path(JOURNAL), 1 << 20) < 0)
		return -1;
	evlog_note(&l, "session", SLICE("{\"cwd\":\"/\"}"));
	for (uint64_t i = 1; i <= EVENTS; i++)
		append(i);
	evlog_close(&l);
	return file_read(scratch_path(JOURNAL), 1 << 20, &whole);
}

static int unmake(void **state)
{
	buf_done(&whole);
	loop = loop_free(loop);
	return scratch_done(state);
}

static void count(void *ctx, const struct journal_record *rec _unused_)
{
	++*(unsigned *)ctx;
}

static bool check_event(void *ctx, const struct evlog_entry *e)
{
	uint64_t *next = ctx;
	char want[64];

	snprintf(want, sizeof(want), "{\"event\":%llu}", (unsigned long long)e->seq);
	assert_true(e->seq == *next);
	assert_text(e->frame, want);
	++*next;
	return true;
}

static void check_history(uint64_t from, uint64_t last)
{
	uint64_t next = from;

	assert_int_equal(evlog_read(&l, from, check_event, &next), 0);
	assert_true(next == last + 1);
}

static int reopen(const void *p, size_t n, unsigned *records)
{
	*records = 0;
	scratch_write(JOURNAL, p, n);
	return evlog_reopen(&l, loop, scratch_path(JOURNAL), 1 << 20, count, records);
}

static size_t whole_lines(size_t n, unsigned *lines)
{
	size_t end = 0;

	*lines = 0;
	for (size_t i = 0; i < n; i++)
		if (whole.data[i] == '\n') {
			end = i + 1;
			++*lines;
		}
	return end;
}

static void check_size(size_t want)
{
	struct stat sb;

	assert_int_equal(stat(scratch_path(JOURNAL), &sb), 0);
	assert_int_equal(sb.st_size, want);
}

static void test_torn_anywhere(void **state)
{
	for (size_t n = 0; n <= whole.len; n += stride(3)) {
		unsigned lines, records;
		size_t end = whole_lines(n, &lines);
		uint64_t last = lines ? lines - 1 : 0;

		assert_int_equal(reopen(whole.data, n, &records), 0);
		assert_int_equal(records, lines);
		assert_true(l.last == last);
		check_size(end);
		append(last + 1);
		append(last + 2);
		for (uint64_t from = 1; from <= last + 2; from++)
			check_history(from, last + 2);
		assert_int_equal(evlog_flush(&l), 0);
		evlog_shrink(&l); /* now all of it comes from the file */
		check_history(1, last + 2);
		close_log(state);
	}
}

/* What is there and what is said to be missing together are 1..last, in order. Returns how many are missing. */
static uint64_t check_pieces(uint64_t last)
{
	uint64_t next = 1, missing = 0;
	struct evlog_gap g;

	while (next <= last) {
		if (evlog_gap(&l, next, &g)) {
			assert_true(g.from == next && g.to >= next && g.to <= last);
			assert_string_equal(g.reason, "damaged");
			missing += g.to - g.from + 1;
			next = g.to + 1;
			continue;
		}
		assert_int_equal(evlog_read(&l, next, check_event, &next), 0);
	}
	assert_true(next == last + 1 && missing == evlog_missing(&l));
	return missing;
}

/* The journal goes on, and reads the same in the next life. */
static void check_goes_on(void **state, uint64_t missing)
{
	uint64_t last = l.last;
	unsigned records = 0;

	append(last + 1);
	append(last + 2);
	assert_int_equal(evlog_flush(&l), 0);
	evlog_shrink(&l);
	assert_true(check_pieces(last + 2) == missing);
	close_log(state);
	assert_int_equal(evlog_reopen(&l, loop, scratch_path(JOURNAL), 1 << 20, count, &records),
			 0);
	assert_true(l.last == last + 2 && check_pieces(last + 2) == missing);
	close_log(state);
}

static void test_damaged_anywhere(void **state)
{
	for (size_t n = 0; n < 8 * (whole.len - 1); n += stride(11)) {
		_cleanup_(buf_done) struct buf b = { 0 };
		size_t i = n / 8;
		unsigned before, records, bit = n % 8;
		uint64_t missing;

		whole_lines(i, &before); /* the line that is hit has as many before it */
		buf_add(&b, whole.data, whole.len);
		b.data[i] ^= (char)(1 << bit);
		assert_int_equal(reopen(b.data, b.len, &records), 0);
		if (!evlog_damaged(&l))
			fail_msg("a change of byte %zu was not noticed", i);
		assert_true(l.last >= EVENTS && l.last <= EVENTS + 1);
		missing = check_pieces(l.last);
		/* one event, or two of which the newline between them was hit, or the head */
		assert_true(missing <= 2 && (before > 0) <= (missing > 0));
		check_size(b.len);
		check_goes_on(state, missing);
	}
}

static void test_newline_at_the_end(void **state)
{
	for (unsigned bit = 0; bit < 8; bit++) {
		_cleanup_(buf_done) struct buf b = { 0 };
		unsigned records;

		buf_add(&b, whole.data, whole.len);
		b.data[whole.len - 1] ^= (char)(1 << bit);
		assert_int_equal(reopen(b.data, b.len, &records), 0);
		assert_true(l.last == EVENTS && !evlog_damaged(&l));
		check_size(b.len);
		check_goes_on(state, 0);
	}
}

/* A digit: that line; x: one that is damaged; z: zeros. */
static void put_piece(struct buf *b, char what)
{
	static const char zeros[300];
	const char *p = whole.data, *end = whole.data + whole.len, *nl;

	if (what == 'x')
		buf_puts(b, "{\"n\":9,\"o\":1,\"k\":\"x\"}\n");
	else if (what == 'z')
		buf_add(b, zeros, sizeof(zeros));
	for (int skip = what - '0'; what <= '9' && p < end; p = nl + 1, skip--) {
		nl = memchr(p, '\n', (size_t)(end - p));
		if (skip == 0)
			buf_add(b, p, (size_t)(nl + 1 - p));
	}
}

/* Lines are taken out, doubled, exchanged, or replaced by what is none. */
static void test_lines_missing(void **state)
{
	static const char *const orders[] = { "01345",	"0112345", "0213456", "05", "5",
					      "0xx45",	"0123x",   "0x",      "x",  "",
					      "01zz45", "0123z",   "z" };

	for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
		_cleanup_(buf_done) struct buf b = { 0 };
		unsigned records;

		for (const char *o = orders[i]; *o; o++)
			put_piece(&b, *o);
		assert_int_equal(reopen(b.data ? b.data : "", b.len, &records), 0);
		check_goes_on(state, check_pieces(l.last));
	}
}

/* A hole is skipped, however large, and zeros are no damage if nothing is missing. */
static void test_hole(void **state)
{
	const char *second = (char *)memchr(whole.data, '\n', whole.len) + 1;
	unsigned records;
	off_t size = 1L << 40;
	int fd;

	scratch_write(JOURNAL, "", 0);
	fd = open(scratch_path(JOURNAL), O_WRONLY | O_CLOEXEC);
	if (pwrite(fd, second, (size_t)(whole.data + whole.len - second), size) < 0)
		size = 0; /* no such files here */
	close(fd);
	if (!size)
		skip();
	assert_int_equal(
		evlog_reopen(&l, loop, scratch_path(JOURNAL), SIZE_MAX / 4, count, &records), 0);
	assert_true(l.last == EVENTS && !evlog_damaged(&l));
	check_history(1, EVENTS);
	check_goes_on(state, 0);
}

static void test_missing(void **state)
{
	unsigned records = 0;

	unlink(scratch_path(JOURNAL));
	assert_int_equal(evlog_reopen(&l, loop, scratch_path(JOURNAL), 1 << 20, count, &records),
			 -ENOENT);
	close_log(state);
	assert_int_equal(symlink("/etc/hostname", scratch_path(JOURNAL)), 0);
	assert_int_equal(evlog_reopen(&l, loop, scratch_path(JOURNAL), 1 << 20, count, &records),
			 -ELOOP);
	close_log(state);
	assert_int_equal(records, 0);
	unlink(scratch_path(JOURNAL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_torn_anywhere, close_log),
		cmocka_unit_test_teardown(test_damaged_anywhere, close_log),
		cmocka_unit_test_teardown(test_newline_at_the_end, close_log),
		cmocka_unit_test_teardown(test_lines_missing, close_log),
		cmocka_unit_test_teardown(test_hole, close_log),
		cmocka_unit_test_teardown(test_missing, close_log),
	};

	return RUN(tests, make, unmake);
}
