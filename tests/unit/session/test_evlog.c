/* The event log: memory tail and journal give one history, in order and whole, wherever a reader starts. */
#include "unit.h"

#include "base/os/file.h"
#include "base/limits.h"
#include "session/core/log/evlog.h"
#include "session/core/log/event_table.h"

#include <fcntl.h>
#include <sys/stat.h>

#define JOURNAL "journal"

static struct loop *loop;
static struct evlog l;

static int setup(void **state _unused_)
{
	loop = loop_new();
	memset(&l, 0, sizeof(l));
	unlink(scratch_path(JOURNAL));
	return loop ? 0 : -1;
}

static int teardown(void **state _unused_)
{
	evlog_close(&l);
	loop = loop_free(loop);
	return 0;
}

static void open_log(size_t journal_max)
{
	assert_int_equal(
		evlog_open(&l, loop, journal_max ? scratch_path(JOURNAL) : NULL, journal_max), 0);
}

/* Length of event seq: mostly small, some large, never the same pattern in two blocks. */
static size_t event_size(uint64_t seq)
{
	return 40 + seq * 37 % 500 + (seq % 101 == 0 ? 90000 : 0);
}

static char letters[26 + 91000];

static void put_event(struct buf *b, uint64_t seq)
{
	buf_reset(b);
	buf_printf(b, "{\"seq\":%06llu,\"pad\":\"", (unsigned long long)seq);
	buf_add(b, letters + seq % 26, event_size(seq) - 2 - buf_len(b));
	buf_puts(b, "\"}");
}

static void append(uint64_t n)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	for (uint64_t end = l.last + n; l.last < end;) {
		struct evlog_entry e = { .seq = l.last + 1,
					 .origin = l.last % 3,
					 .kind = (uint8_t)(l.last % EVENT_KIND_MAX),
					 .time_ms = 1795248000000 + l.last };

		put_event(&b, e.seq);
		e.frame = buf_slice(&b);
		evlog_append(&l, &e, event_kind_name(e.kind));
		if (e.seq % 50 == 0)
			evlog_note(&l, "session", SLICE("{\"note\":1}"));
	}
}

struct log_reader {
	uint64_t next; /* what must come */
	uint64_t left; /* refuses after so many */
	struct buf want;
};

static bool on_event(void *ctx, const struct evlog_entry *e)
{
	struct log_reader *r = ctx;

	assert_true(e->seq == r->next);
	if (!r->left)
		return false;
	r->left--;
	put_event(&r->want, e->seq);
	assert_true(slice_eq(e->frame, buf_slice(&r->want)));
	assert_int_equal(e->origin, (e->seq - 1) % 3);
	assert_true(e->time_ms == 1795248000000 + e->seq - 1);
	assert_int_equal(e->kind, (e->seq - 1) % EVENT_KIND_MAX);
	r->next++;
	return true;
}

/* Reads count events from seq on; returns the first one not read. */
static uint64_t read_some(uint64_t seq, uint64_t count)
{
	struct log_reader r = { .next = seq, .left = count };

	assert_int_equal(evlog_read(&l, seq, on_event, &r), 0);
	buf_done(&r.want);
	return r.next;
}

static void check_all_starts(void)
{
	for (uint64_t seq = 1; seq <= l.last; seq += stride(11)) {
		uint64_t want = MIN(seq + 3, l.last + 1);

		assert_true(read_some(seq, 3) == want);
	}
	assert_true(read_some(1, UINT64_MAX) == l.last + 1);
	assert_true(read_some(l.last / 2, UINT64_MAX) == l.last + 1);
	assert_true(read_some(l.last + 1, UINT64_MAX) == l.last + 1);
}

static void test_read_at_every_seq(void **state _unused_)
{
	open_log(JOURNAL_MAX);
	append(1200);
	assert_true(l.tail_first > 1);
	assert_true(l.tail_first < l.last);
	assert_true(l.first == 1);
	assert_true(l.tail_bytes <= l.tail_max + LOG_BLOCK_MAX + 100000);
	check_all_starts();
}

static void test_one_at_a_time(void **state _unused_)
{
	uint64_t next = 1;

	open_log(JOURNAL_MAX);
	append(1000);
	while (next <= l.last) {
		uint64_t now = read_some(next, 7);

		assert_true(now > next);
		next = now;
	}
}

static void test_empty(void **state _unused_)
{
	open_log(JOURNAL_MAX);
	assert_true(read_some(1, 10) == 1);
	assert_true(evlog_behind(&l, 1) == 0);
	assert_int_equal(evlog_flush(&l), 0);
	evlog_shrink(&l);
	append(1);
	assert_true(read_some(1, 10) == 2);
}

static void test_shrink(void **state _unused_)
{
	open_log(JOURNAL_MAX);
	append(300);
	evlog_shrink(&l);
	assert_int_equal(l.tail_bytes, 0);
	assert_true(l.tail_first == l.last + 1);
	check_all_starts();
	append(5);
	assert_true(l.tail_first == 301);
	check_all_starts();
	evlog_shrink(&l);
	append(1);
	assert_true(read_some(299, UINT64_MAX) == 307);
}

/* Nothing reaches the file before the turn ends, unless it must. */
static void test_written_once_per_turn(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	open_log(JOURNAL_MAX);
	append(10);
	assert_int_equal(l.written, 0);
	loop_dispatch(loop);
	assert_true(l.written > 0);
	assert_int_equal(buf_len(&l.pending), 0);
	assert_int_equal(file_read(scratch_path(JOURNAL), 1 << 20, &b), 0);
	assert_int_equal(buf_len(&b), l.written);
	append(1);
	evlog_shrink(&l);
	assert_true(read_some(1, 100) == 12);
}

/* At least what is really ahead of the reader, at most one index step more; in memory hardly more than that. */
static void test_behind(void **state _unused_)
{
	uint64_t real = 0;

	open_log(JOURNAL_MAX);
	append(1200);
	assert_true(evlog_behind(&l, l.last + 1) == 0);
	for (uint64_t seq = l.last; seq > 0; seq--) {
		uint64_t said = evlog_behind(&l, seq), records = l.last - seq + 1;
		uint64_t slack = seq >= l.tail_first ? 0 : LOG_INDEX_STEP + 100000;

		real += event_size(seq);
		assert_true(said >= real);
		assert_true(said <= real + 200 * records + slack);
	}
}

static void test_behind_without_journal(void **state _unused_)
{
	open_log(0);
	append(5000);
	assert_true(evlog_behind(&l, l.last + 1) == 0);
	assert_true(evlog_behind(&l, l.last) < event_size(l.last) + 200);
	assert_true(evlog_behind(&l, l.first) >= evlog_behind(&l, l.last));
	assert_true(evlog_behind(&l, l.first) <= l.tail_bytes);
}

static bool on_first(void *ctx, const struct evlog_entry *e)
{
	*(uint64_t *)ctx = e->seq;
	return false;
}

static void test_without_journal_first_advances(void **state _unused_)
{
	uint64_t seen = 0;

	open_log(0);
	append(100);
	assert_true(l.first == 1);
	assert_true(read_some(1, UINT64_MAX) == 101);
	append(15000);
	assert_true(l.first > 1);
	assert_true(l.first == l.tail_first);
	assert_true(l.tail_bytes <= l.tail_max + LOG_BLOCK_MAX);
	assert_int_equal(evlog_read(&l, 1, on_first, &seen), 0);
	assert_true(seen == l.first);
	assert_true(read_some(l.first, UINT64_MAX) == l.last + 1);
	evlog_shrink(&l); /* there is nowhere else to read from */
	assert_true(read_some(l.first, UINT64_MAX) == l.last + 1);
}

static bool on_any(void *ctx, const struct evlog_entry *e)
{
	*(uint64_t *)ctx = e->seq;
	return true;
}

static void test_corrupted_line_is_detected(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	uint64_t seen = 0;
	const char *line;

	open_log(JOURNAL_MAX);
	append(100);
	evlog_shrink(&l);
	file_read(scratch_path(JOURNAL), 1 << 20, &b);
	line = memmem(b.data, b.len, "\"seq\":000050", 12);
	assert_non_null(line);
	b.data[line - b.data + 8] = '1';
	scratch_write(JOURNAL, b.data, b.len);
	assert_int_equal(evlog_read(&l, 1, on_any, &seen), -EBADMSG);
	assert_true(seen == 49);
	assert_int_equal(evlog_read(&l, 60, on_any, &seen), -EBADMSG);
}

/* --- a journal that can take no more ------------------------------------------------------------------- */

static void test_full_journal(void **state _unused_)
{
	struct stat st;

	open_log(20000);
	append(30);
	assert_int_equal(l.error, 0);
	append(200);
	assert_int_equal(l.error, -EFBIG);
	assert_int_equal(evlog_flush(&l), -EFBIG);
	assert_true(l.hole > 30 &&
		    evlog_readable(&l) == l.hole - 1); /* readers get what is written */
	stat(scratch_path(JOURNAL), &st);
	assert_true(st.st_size <= 20000 + 500);
	append(1);
	assert_int_equal(l.error, -EFBIG);
}

/* What was written before stays readable, and what came after is still in memory. */
static void test_full_journal_loses_nothing(void **state _unused_)
{
	open_log(20000);
	append(30);
	evlog_shrink(&l);
	append(170);
	assert_int_equal(l.error, -EFBIG);
	assert_true(l.tail_first == 31);
	assert_true(read_some(1, UINT64_MAX) == 201);
	append(1000);
	evlog_shrink(&l);
	assert_true(read_some(1, UINT64_MAX) == 1201);
	assert_true(read_some(25, 10) == 35);
}

/* From now on the journal finds no room. */
static void fill_disk(void)
{
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	assert_true(full >= 0);
	dup2(full, l.fd);
	close(full);
}

static void test_write_error(void **state _unused_)
{
	open_log(JOURNAL_MAX);
	append(10);
	evlog_flush(&l);
	fill_disk();
	append(5);
	assert_int_equal(evlog_flush(&l), -ENOSPC);
	assert_int_equal(l.error, -ENOSPC);
	append(1);
	assert_true(read_some(1, UINT64_MAX) == 17);
}

/* --- what has to stand before the next event ------------------------------------------------------------ */

static off_t journal_bytes(void)
{
	struct stat st;

	return stat(scratch_path(JOURNAL), &st) < 0 ? -1 : st.st_size;
}

static void test_ahead_is_written_though_it_is_full(void **state _unused_)
{
	off_t before;

	open_log(20000);
	assert_false(evlog_ahead(&l));
	append(30);
	append(200);
	assert_int_equal(l.error, -EFBIG);
	evlog_note_ahead(&l, "incarnation", SLICE("{}"));
	assert_false(evlog_ahead(&l)); /* what comes next is not written either */
	evlog_rollback(&l);
	before = journal_bytes();
	evlog_note_ahead(&l, "incarnation", SLICE("{}"));
	assert_true(evlog_ahead(&l));
	append(200); /* it has no room, and is taken back */
	evlog_flush(&l);
	assert_true(journal_bytes() > before);
	evlog_rollback(&l);
	assert_true(evlog_ahead(&l)); /* and is not written a second time for the next */
}

static void test_ahead_is_taken_back(void **state _unused_)
{
	open_log(JOURNAL_MAX);
	append(10);
	evlog_flush(&l);
	fill_disk();
	evlog_note_ahead(&l, "incarnation", SLICE("{}"));
	assert_true(evlog_ahead(&l));
	append(2);
	assert_int_equal(evlog_flush(&l), -ENOSPC);
	evlog_rollback(&l);
	assert_false(evlog_ahead(&l));
	assert_true(l.last == 10);
}

static void test_open_is_exclusive(void **state _unused_)
{
	open_log(JOURNAL_MAX);
	evlog_close(&l);
	assert_int_equal(evlog_open(&l, loop, scratch_path(JOURNAL), JOURNAL_MAX), -EEXIST);
	evlog_close(&l);
	assert_int_equal(evlog_open(&l, loop, scratch_path("no/dir"), JOURNAL_MAX), -ENOENT);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_read_at_every_seq),
		T(test_one_at_a_time),
		T(test_empty),
		T(test_shrink),
		T(test_written_once_per_turn),
		T(test_behind),
		T(test_behind_without_journal),
		T(test_without_journal_first_advances),
		T(test_corrupted_line_is_detected),
		T(test_full_journal),
		T(test_full_journal_loses_nothing),
		T(test_write_error),
		T(test_ahead_is_written_though_it_is_full),
		T(test_ahead_is_taken_back),
		T(test_open_is_exclusive),
	};

	for (size_t i = 0; i < sizeof(letters); i++)
		letters[i] = (char)('a' + i % 26);
	return RUN(tests, scratch_setup, scratch_done);
}
