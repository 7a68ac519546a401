/* A journal of an earlier life: torn at any byte it is cut to its last whole line; damaged before its end it is left as it is. */
#include "unit.h"

#include "base/file.h"
#include "session/evlog.h"
#include "session/kinds.h"
#include "session/record.h"

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

static void count(void *ctx, const struct record *rec _unused_)
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
	for (size_t n = 0; n <= whole.len; n++) {
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

static void test_damaged_anywhere(void **state)
{
	unsigned lines, records;
	size_t last_line = whole_lines(whole.len - 1, &lines);

	/* without the newline before the last line the two are one, and that looks torn */
	for (size_t i = 0; i + 1 < last_line; i++) {
		_cleanup_(buf_done) struct buf b = { 0 }, after = { 0 };

		buf_add(&b, whole.data, whole.len);
		b.data[i] ^= 1;
		if (reopen(b.data, b.len, &records) != -EBADMSG)
			fail_msg("a change of byte %zu was not noticed", i);
		close_log(state);
		assert_int_equal(file_read(scratch_path(JOURNAL), 1 << 20, &after), 0);
		assert_true(slice_eq(buf_slice(&after), buf_slice(&b)));
	}
}

/* Without the line that begins at from. */
static void test_line_missing(void **state)
{
	const char *first = memchr(whole.data, '\n', whole.len), *second, *third;
	_cleanup_(buf_done) struct buf b = { 0 }, twice = { 0 };
	unsigned records;

	second = memchr(first + 1, '\n', 4096);
	third = memchr(second + 1, '\n', 4096);
	buf_add(&b, whole.data, (size_t)(second + 1 - whole.data));
	buf_add(&b, third + 1, (size_t)(whole.data + whole.len - third - 1));
	assert_int_equal(reopen(b.data, b.len, &records), -EBADMSG);
	close_log(state);
	check_size(b.len);
	buf_add(&twice, whole.data, (size_t)(third + 1 - whole.data));
	buf_add(&twice, second + 1, (size_t)(whole.data + whole.len - second - 1));
	assert_int_equal(reopen(twice.data, twice.len, &records), -EBADMSG);
	close_log(state);
	check_size(twice.len);
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
		cmocka_unit_test_teardown(test_line_missing, close_log),
		cmocka_unit_test_teardown(test_missing, close_log),
	};

	return RUN(tests, make, unmake);
}
