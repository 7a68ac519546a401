/* Large events, which a thread writes: no reader gets one before it is in the journal, and none is lost or out of order. */
#include "unit.h"

#include "base/limits.h"
#include "session/core/log/event_table.h"
#include "session/core/log/evlog.h"
#include "session/core/log/journal_record.h"

#include <fcntl.h>
#include <sys/stat.h>

#define JOURNAL "journal"
#define LARGE (EVENT_LARGE_MIN + 4321)

static struct loop *loop;
static struct evlog l;
static unsigned settled;

static void on_settled(void *ctx _unused_)
{
	settled++;
}

static int setup(void **state _unused_)
{
	loop = loop_new();
	memset(&l, 0, sizeof(l));
	settled = 0;
	unlink(scratch_path(JOURNAL));
	assert_int_equal(evlog_open(&l, loop, scratch_path(JOURNAL), JOURNAL_MAX), 0);
	l.settled = on_settled;
	return loop ? 0 : -1;
}

static int teardown(void **state _unused_)
{
	evlog_close(&l);
	loop_run_deferred(loop);
	loop = loop_free(loop);
	return 0;
}

/* Of event seq, which has size bytes. */
static void put_frame(struct buf *b, uint64_t seq, size_t size)
{
	size_t from = b->len;

	buf_printf(b, "{\"seq\":%06llu,\"pad\":\"", (unsigned long long)seq);
	while (b->len - from < size - 2)
		buf_putc(b, (char)('a' + (b->len - from + seq) % 26));
	buf_puts(b, "\"}");
}

static void append(size_t size)
{
	static const char before[EVLOG_BEFORE_FRAME];
	_cleanup_(buf_done) struct buf b = { 0 };
	struct evlog_entry e = { .seq = l.last + 1, .kind = EVENT_LIFECYCLE };

	buf_add(&b, before, sizeof(before));
	put_frame(&b, e.seq, size);
	e.frame = (struct slice){ b.data + sizeof(before), b.len - sizeof(before) };
	evlog_append_whole(&l, &e, event_kind_name(e.kind), &b);
}

struct reading {
	uint64_t next;
	size_t bytes;
};

static bool on_event(void *ctx, const struct evlog_entry *e)
{
	_cleanup_(buf_done) struct buf want = { 0 };
	struct reading *r = ctx;

	assert_true(e->seq == r->next);
	put_frame(&want, e->seq, e->frame.n);
	assert_true(slice_eq(e->frame, buf_slice(&want)));
	r->next++;
	r->bytes += e->frame.n;
	return true;
}

static void check_all(size_t bytes)
{
	struct reading r = { .next = 1 };

	assert_int_equal(evlog_read(&l, 1, on_event, &r), 0);
	assert_true(r.next == l.last + 1);
	assert_int_equal(r.bytes, bytes);
}

static void on_record(void *ctx, const struct journal_record *rec)
{
	size_t *n = ctx;

	*n += rec->seq > 0;
}

/* As another daemon finds it. */
static void check_file(size_t events, size_t bytes)
{
	size_t n = 0;

	evlog_close(&l);
	assert_int_equal(evlog_reopen(&l, loop, scratch_path(JOURNAL), JOURNAL_MAX, on_record, &n),
			 0);
	assert_int_equal(n, events);
	assert_false(evlog_damaged(&l));
	l.settled = on_settled;
	check_all(bytes);
}

static void test_held_back_until_written(void **state _unused_)
{
	append(100);
	append(LARGE);
	assert_non_null(l.large);
	assert_true(l.last == 2 && evlog_readable(&l) == 1);
	append(200);
	evlog_flush_for_reader(&l);
	assert_true(evlog_readable(&l) == 1);
	while (l.large)
		loop_wait(loop);
	loop_run_deferred(loop);
	assert_int_equal(settled, 1);
	assert_true(evlog_readable(&l) == 3);
	check_all(300 + LARGE);
	check_file(3, 300 + LARGE);
}

static void test_flush_waits(void **state _unused_)
{
	append(LARGE);
	append(50);
	assert_int_equal(evlog_flush(&l), 0);
	assert_null(l.large);
	assert_true(evlog_readable(&l) == 2);
	loop_run_deferred(loop);
	assert_int_equal(settled, 1);
	check_file(2, 50 + LARGE);
}

static void test_one_behind_the_other(void **state _unused_)
{
	for (int i = 0; i < 4; i++) {
		append(LARGE + (size_t)i);
		append(64);
	}
	evlog_shrink(&l);
	check_all(4 * (LARGE + 64) + 6);
	check_file(8, 4 * (LARGE + 64) + 6);
}

static void test_closed_while_it_is_written(void **state _unused_)
{
	append(LARGE);
	check_file(1, LARGE);
	assert_int_equal(settled, 0);
}

/* The reader gets one, and the next is not read for it. */
static void test_read_some(void **state _unused_)
{
	struct reading r = { .next = 1 };

	append(LARGE);
	append(LARGE);
	append(LARGE);
	evlog_shrink(&l);
	assert_int_equal(evlog_read_some(&l, 1, 1000, on_event, &r), 0);
	assert_true(r.next == 2);
	assert_int_equal(evlog_read_some(&l, 2, LARGE + 1, on_event, &r), 0);
	assert_true(r.next == 4);
}

static void test_without_space(void **state _unused_)
{
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	int saved;

	append(100);
	evlog_flush(&l);
	saved = dup(l.fd);
	dup2(full, l.fd);
	close(full);
	append(LARGE);
	append(20);
	assert_int_equal(evlog_flush(&l), -ENOSPC);
	assert_int_equal(l.error, -ENOSPC);
	assert_true(l.last == 1 && evlog_readable(&l) == 1);
	loop_run_deferred(loop);
	assert_int_equal(settled, 1);
	dup2(saved, l.fd);
	close(saved);
	evlog_try_again(&l);
	assert_int_equal(l.error, 0);
	append(LARGE);
	assert_int_equal(evlog_flush(&l), 0);
	check_file(2, 100 + LARGE);
}

/* What is too long for the journal goes the usual way, and fails there. */
static void test_beyond_the_journal(void **state _unused_)
{
	l.journal_max = LARGE / 2;
	append(10);
	append(LARGE);
	assert_null(l.large);
	assert_int_equal(l.error, -EFBIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_held_back_until_written, setup, teardown),
		cmocka_unit_test_setup_teardown(test_flush_waits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_one_behind_the_other, setup, teardown),
		cmocka_unit_test_setup_teardown(test_closed_while_it_is_written, setup, teardown),
		cmocka_unit_test_setup_teardown(test_read_some, setup, teardown),
		cmocka_unit_test_setup_teardown(test_without_space, setup, teardown),
		cmocka_unit_test_setup_teardown(test_beyond_the_journal, setup, teardown),
	};

	return RUN(tests, scratch_setup, scratch_done);
}
