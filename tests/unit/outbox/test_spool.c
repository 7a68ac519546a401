/* The spool of a receiver: what it keeps over restarts and damage, and what it gives up. */
#include "spool_rig.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

static void test_keeps_what_waits(void **state _unused_)
{
	assert_int_equal(rig_add("a", "{\"x\":1}"), 1);
	assert_int_equal(rig_add("b", "{\"x\":2}"), 2);
	assert_int_equal(rig_add("a", "{\"x\":3}"), 3);
	assert_false(spool_is_written(spool, seen[3]));
	assert_int_equal(spool_flush(spool), 0);
	assert_true(spool_is_written(spool, seen[3]));
	spool_done(spool, seen[2]);
	rig_reopen();
	assert_string_equal(rig_numbers(), "1 3");
	rig_says(3, "{\"x\":3}");
	assert_int_equal(rig_add("c", "{}"), 4);
	assert_string_equal(rig_gap(), "");
}

static void test_describes_itself(void **state _unused_)
{
	char id[64];

	snprintf(id, sizeof(id), "%s", spool_id(spool));
	spool_describe(spool, "sandbox-1", "turn.ended");
	rig_add("a", "{}");
	rig_reopen();
	assert_string_equal(spool_id(spool), id);
	assert_string_equal(spool_sandbox(spool), "sandbox-1");
	assert_string_equal(spool_events(spool), "turn.ended");
	assert_string_equal(rig_numbers(), "1");
}

/* --- bounds ----------------------------------------------------------------------------------------------- */

static void test_oldest_go_by_number(void **state _unused_)
{
	bounds.events = 3;
	spool_bound(spool, &bounds);
	for (int i = 0; i < 5; i++)
		rig_add("a", "{}");
	assert_string_equal(rig_numbers(), "3 4 5");
	assert_string_equal(rig_gap(), "1-2");
	rig_reopen();
	assert_string_equal(rig_numbers(), "3 4 5");
	assert_string_equal(rig_gap(), "1-2");
	spool_gap_told(spool, 1);
	assert_string_equal(rig_gap(), "2-2");
	spool_gap_told(spool, 2);
	rig_reopen();
	assert_string_equal(rig_gap(), "");
}

static void test_oldest_go_by_bytes(void **state _unused_)
{
	char data[600];
	struct spool_counts c;
	uint64_t from, to;

	snprintf(data, sizeof(data), "{\"pad\":\"%0500d\"}", 0);
	bounds.bytes = 16 * 1024;
	spool_bound(spool, &bounds);
	for (int i = 0; i < 100; i++) {
		rig_add("a", data);
		spool_flush(spool);
		spool_count(spool, &c);
		assert_true(c.bytes <= bounds.bytes);
	}
	assert_true(spool_gap(spool, &from, &to));
	assert_int_equal(from, 1);
	assert_int_equal(to + rig_waiting(), 100);
	assert_true(rig_waiting() > 15);
	assert_int_equal(c.dropped, to);
	rig_reopen();
	assert_int_equal(to + rig_waiting(), 100);
	assert_non_null(seen[to + 1]);
	rig_says(100, data);
}

/* Nothing is on disk but what waits. */
static void test_what_is_done_is_removed(void **state _unused_)
{
	char data[600], *names[64];
	struct spool_counts c;
	size_t n;

	snprintf(data, sizeof(data), "{\"pad\":\"%0500d\"}", 0);
	for (uint64_t i = 1; i <= 500; i++) {
		rig_add("a", data);
		spool_flush(spool);
		if (i != 200)
			spool_done(spool, seen[i]);
	}
	spool_done(spool, seen[200]);
	spool_flush(spool);
	spool_count(spool, &c);
	assert_true(c.bytes < 2 * WEBHOOK_TIDY_BYTES);
	n = rig_files(names);
	assert_true(n <= 2);
	while (n)
		free(names[--n]);
}

static void test_old_ones_expire(void **state _unused_)
{
	rig_add("a", "{}");
	rig_add("a", "{}");
	spool_expire(spool, 1000 + bounds.age_ms - 1);
	assert_string_equal(rig_numbers(), "1 2");
	spool_expire(spool, 1000 + bounds.age_ms);
	assert_string_equal(rig_numbers(), "");
	assert_string_equal(rig_gap(), "1-2");
}

/* What there is no room for waits in memory, then is lost, and says so. */
static void test_no_room(void **state _unused_)
{
	static char data[16 * 1024];
	struct rlimit old, small = { 100, 0 };
	struct spool_counts c;
	uint64_t from, to, lost;

	memset(data, '1', sizeof(data) - 1);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small.rlim_max = old.rlim_max;
	setrlimit(RLIMIT_FSIZE, &small);
	for (int i = 0; i < 100; i++) {
		rig_add("a", data);
		spool_flush(spool);
	}
	setrlimit(RLIMIT_FSIZE, &old);
	spool_count(spool, &c);
	assert_int_equal(c.error, -EFBIG);
	assert_false(spool_is_written(spool, seen[1]));
	assert_true(spool_gap(spool, &from, &to) && to == 100);
	lost = c.dropped;
	assert_true(lost >= 30 && lost < 50);
	assert_int_equal(spool_flush(spool), 0);
	assert_true(spool_is_written(spool, seen[1]));
	assert_int_equal(rig_add("a", "{}"), 101);
	rig_reopen();
	assert_int_equal(rig_waiting(), 101 - lost);
	rig_says(1, data);
	rig_says(101, "{}");
	assert_int_equal(rig_add("a", "{}"), 102);
}

/* --- damage ----------------------------------------------------------------------------------------------- */

/* The first n bytes of what was written: a daemon that was killed, or a machine that stopped. */
static void cut_at(const char *path, const struct buf *whole, size_t n)
{
	assert_int_equal(file_replace(path, whole->data, n, 0600), 0);
}

static void test_killed_at_every_byte(void **state _unused_)
{
	char *names[64];
	_cleanup_(buf_done) struct buf whole = { 0 };
	_cleanup_(freep) char *path = NULL;
	unsigned last = 0;

	rig_add("a", "{\"x\":1}");
	rig_add("b", "{\"x\":2}");
	spool_flush(spool);
	spool_done(spool, seen[1]);
	rig_add("a", "{\"x\":3}");
	rig_close();
	assert_int_equal(rig_files(names), 1);
	path = names[0];
	assert_int_equal(file_read(path, 65536, &whole), 0);
	for (size_t n = 0; n <= whole.len; n++) {
		uint64_t next;

		cut_at(path, &whole, n);
		rig_open();
		assert_string_equal(rig_gap(), "");
		next = rig_add("z", "{}");
		assert_true(next >= 1 && next <= 4);
		assert_true(next >= last); /* more of it, more is known */
		last = (unsigned)next;
		if (next > 2)
			rig_says(2, "{\"x\":2}");
		rig_reopen();
		assert_non_null(seen[next]);
		rig_close();
	}
	assert_int_equal(last, 4);
	rig_open();
}

static void rig_keep_oldest(void)
{
	char *names[64];

	for (size_t n = rig_files(names); n--;) {
		if (n)
			unlink(names[n]);
		free(names[n]);
	}
}

/* One byte of it is another: what cannot be read is in the gap, or is told again, and the rest is as it was. */
static void test_every_byte_changed(void **state _unused_)
{
	char *names[64];
	_cleanup_(buf_done) struct buf whole = { 0 };
	_cleanup_(freep) char *path = NULL;

	for (int i = 0; i < 3; i++)
		rig_add("a", "{\"x\":1}");
	rig_close();
	assert_int_equal(rig_files(names), 1);
	path = names[0];
	assert_int_equal(file_read(path, 65536, &whole), 0);
	for (size_t at = 0; at < whole.len; at += stride(7)) {
		char was = whole.data[at];
		uint64_t n;

		whole.data[at] ^= 0x15;
		cut_at(path, &whole, whole.len);
		rig_open();
		n = rig_add("z", "{}");
		assert_true(n >= 2 && n <= 5);
		assert_true(rig_waiting() >= 2);
		rig_close();
		whole.data[at] = was;
		rig_keep_oldest(); /* the head that was lost made another */
	}
	cut_at(path, &whole, whole.len);
	rig_open();
	assert_string_equal(rig_numbers(), "1 2 3");
}

static void test_a_hole_is_a_gap(void **state _unused_)
{
	char *names[64];
	_cleanup_(buf_done) struct buf whole = { 0 };
	_cleanup_(freep) char *path = NULL;
	struct spool_counts c;
	char *line;

	for (int i = 0; i < 4; i++)
		rig_add("a", "{\"x\":1}");
	rig_close();
	assert_int_equal(rig_files(names), 1);
	path = names[0];
	assert_int_equal(file_read(path, 65536, &whole), 0);
	line = memmem(whole.data, whole.len, "{\"n\":2,", 7);
	assert_non_null(line);
	line[30] = 'X';
	cut_at(path, &whole, whole.len);
	rig_open();
	assert_string_equal(rig_numbers(), "1 3 4");
	assert_string_equal(rig_gap(), "2-2");
	spool_count(spool, &c);
	assert_int_equal(c.damaged, 1);
}

static void test_foreign_files(void **state _unused_)
{
	static const char text[] = "what is this\n{\"n\":18446744073709551615}\n\n\0\n";

	rig_add("a", "{}");
	rig_close();
	scratch_write("spool/00000000000000000002.spool", text, sizeof(text));
	scratch_write("spool/notes.txt", text, sizeof(text));
	rig_open();
	assert_string_equal(rig_numbers(), "1");
	assert_int_equal(rig_add("a", "{}"), 2);
	rig_reopen();
	assert_string_equal(rig_numbers(), "1 2");
}

/* What it read when it opened is not what is there any more. */
static void test_changed_behind_its_back(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct spool_record r;
	char *names[64];
	int fd;

	rig_add("a", "{\"x\":1}");
	spool_flush(spool);
	assert_int_equal(rig_files(names), 1);
	fd = open(names[0], O_WRONLY);
	assert_int_equal(pwrite(fd, "X", 1, seen[1]->at + 10), 1);
	close(fd);
	free(names[0]);
	assert_int_equal(spool_read(spool, seen[1], &b, &r), -EBADMSG);
	spool_drop(spool, seen[1]);
	assert_string_equal(rig_gap(), "1-1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_done)
		T(test_keeps_what_waits),
		T(test_describes_itself),
		T(test_oldest_go_by_number),
		T(test_oldest_go_by_bytes),
		T(test_what_is_done_is_removed),
		T(test_old_ones_expire),
		T(test_no_room),
		T(test_killed_at_every_byte),
		T(test_every_byte_changed),
		T(test_a_hole_is_a_gap),
		T(test_foreign_files),
		T(test_changed_behind_its_back),
#undef T
	};

	return RUN(tests, NULL, NULL);
}
