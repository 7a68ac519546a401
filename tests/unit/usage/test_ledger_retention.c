/* How far a ledger has been read, which of its files may go, and what is left when they have gone. */
#include "ledger_rig.h"

#include "base/os/file.h"
#include "base/log.h"
#include "usage/ledger/ledger_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#define FILE_MAX 2000
#define RECORDS 40

/* No power is lost here, and the disk is not waited for. */
int fdatasync(int fd);
int fdatasync(int fd _unused_)
{
	return 0;
}

static const struct ledger_limits all_stay = { .file_max = FILE_MAX };
static const struct ledger_limits few_bytes = { .file_max = FILE_MAX, .keep_bytes = 1 };

static int setup(void **state _unused_)
{
	file_remove_tree(scratch_dir());
	mkdir(scratch_dir(), 0700);
	loop = loop_new();
	return loop ? 0 : -1;
}

static void open_with(const char *incarnation, const struct ledger_limits *limits)
{
	open_at(scratch_path(LEDGER), incarnation);
	ledger_limit(l, limits);
}

/* Durably: only then the next file may be begun. */
static void append_many(unsigned n)
{
	char record[200];
	struct waiter w;

	snprintf(record, sizeof(record), "{\"type\":\"turn\",\"pad\":\"%080d\"}", 0);
	for (unsigned i = 0; i < n; i++) {
		assert_true(ledger_append(l, slice_of(record)) > 0);
		w = (struct waiter){ 0 };
		wait_for(&w);
		loop_dispatch(loop);
		while (!w.calls)
			turn(20);
	}
}

static struct ledger_counts counts(void)
{
	struct ledger_counts n;

	ledger_count(l, &n);
	return n;
}

static void read_up_to(uint64_t n)
{
	ledger_handed(l, 0, n);
	ledger_asked(l, n);
}

static void run_until_first(uint64_t first)
{
	uint64_t end = clock_mono_ms() + 60000;

	while (ledger_first(l) < first && clock_mono_ms() < end)
		turn(20);
	assert_true(ledger_first(l) == first);
}

/* Closed files are numbered by this. */
static uint64_t first_of(size_t i)
{
	struct ledger_set s;
	uint64_t first;

	ledger_set_init(&s, scratch_path(LEDGER));
	assert_int_equal(ledger_set_list(&s), 0);
	assert_true(i < s.n);
	first = s.closed[i].first;
	ledger_set_done(&s);
	return first;
}

static void check_anchored(uint64_t first, uint64_t last)
{
	struct ledger_report rep;
	struct err e = { 0 };

	assert_int_equal(ledger_verify(scratch_dir(), NULL, &rep, &e), 0);
	if (rep.first_bad || rep.first != first || rep.last != last || !rep.anchored)
		fail_msg("line %llu, %llu to %llu: %s", (unsigned long long)rep.first_bad,
			 (unsigned long long)rep.first, (unsigned long long)rep.last, rep.reason);
}

/* Handed out without a gap, and then asked for what follows. */
static void test_what_counts_as_read(void **state _unused_)
{
	open_with("aa", &all_stay);
	append_many(RECORDS);
	ledger_asked(l, 20);
	assert_true(counts().read == 0); /* nobody was given them */
	ledger_handed(l, 10, 20);
	ledger_asked(l, 20);
	assert_true(counts().read == 0); /* the first ten were given to nobody */
	ledger_handed(l, 0, 10);
	assert_true(counts().read == 0); /* they may not have arrived */
	ledger_asked(l, 11);
	assert_true(counts().read == 0);
	ledger_asked(l, 10);
	assert_true(counts().read == 10);
	ledger_handed(l, 5, 30);
	ledger_asked(l, 3);
	assert_true(counts().read == 10);
	ledger_asked(l, 30);
	assert_true(counts().read == 30);
}

static void test_mark_survives(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	open_with("aa", &all_stay);
	append_many(RECORDS);
	read_up_to(7);
	ledger_handed(l, 7, 9);
	/* written at once: a killed daemon does nothing more */
	assert_int_equal(file_read(scratch_path("usage.state"), 1000, &b), 0);
	assert_true(buf_len(&b) == LEDGER_STATE_SIZE && memmem(b.data, b.len, "\"read\":7,", 9));
	l = ledger_free(l);
	open_with("bb", &all_stay);
	assert_true(counts().read == 7);
	ledger_asked(l, 9);
	assert_true(counts().read == 9);
	/* of another ledger: what comes has been read by nobody */
	l = ledger_free(l);
	unlink(scratch_path(LEDGER));
	for (size_t n = 0; n < 3; n++) {
		struct ledger_set s;

		ledger_set_init(&s, scratch_path(LEDGER));
		ledger_set_list(&s);
		for (size_t i = 0; i < s.n; i++) {
			_cleanup_(freep) char *path = ledger_set_path(&s, s.closed[i].first);

			unlink(path);
		}
		ledger_set_done(&s);
	}
	open_with("cc", &all_stay);
	append_many(RECORDS);
	assert_true(counts().read == 0);
}

static void test_read_files_go_and_others_stay(void **state _unused_)
{
	uint64_t second, third;

	open_with("aa", &all_stay);
	append_many(RECORDS);
	second = first_of(1);
	third = first_of(2);
	read_up_to(third - 2); /* one of its records is missing */
	ledger_limit(l, &few_bytes);
	run_until_first(second);
	for (unsigned i = 0; i < 20; i++)
		turn(1);
	assert_true(ledger_first(l) == second && counts().removed_files == 1);
	assert_true(counts().removed_records == second - 1);
	check_anchored(second, RECORDS);
	ledger_handed(l, third - 2, third - 1);
	ledger_asked(l, third - 1);
	run_until_first(third);
	check_anchored(third, RECORDS);
	l = ledger_free(l);
	open_with("bb", &all_stay);
	assert_true(ledger_first(l) == third && ledger_last(l) == RECORDS);
	append_many(1);
	check_anchored(third, RECORDS + 1);
}

static bool count_from(void *ctx, uint64_t n, struct slice line _unused_)
{
	uint64_t *next = ctx;

	assert_true(n == *next);
	++*next;
	return true;
}

/* By age also what was written to is closed, so that it can go; numbers and chain go on after all of it is gone. */
static void test_all_of_it_goes(void **state _unused_)
{
	struct ledger_limits old = { .file_max = FILE_MAX, .keep_secs = 1 };
	struct ledger_report rep;
	uint64_t next = RECORDS + 1;

	open_with("aa", &old);
	append_many(RECORDS);
	read_up_to(RECORDS);
	run_until_first(RECORDS + 1);
	assert_true(counts().files == 1 && counts().bytes == 0);
	assert_int_equal(ledger_verify(scratch_dir(), NULL, &rep, NULL), 0);
	assert_true(rep.first_bad == 0 && rep.records == 0);
	ledger_limit(l, &all_stay);
	append_many(1);
	check_anchored(RECORDS + 1, RECORDS + 1);
	assert_int_equal(ledger_read(l, 0, count_from, &next), 0);
	assert_true(next == RECORDS + 2);
	l = ledger_free(l);
	unlink(scratch_path(LEDGER));
	open_with("bb", &all_stay);
	assert_true(ledger_last(l) == RECORDS); /* numbers are not given again */
}

/* A daemon that was killed after it had written down what goes, and before it went. */
static void test_removal_is_finished(void **state _unused_)
{
	struct ledger_state s = { .read = RECORDS, .handed = RECORDS };
	struct ledger_report rep;
	uint64_t second;
	int fd;

	open_with("aa", &all_stay);
	append_many(RECORDS);
	second = first_of(1);
	l = ledger_free(l);
	s.removed.n = second - 1;
	memset(s.removed.digest, 'a', 64);
	fd = open(scratch_path("usage.state"), O_RDWR);
	assert_int_equal(ledger_state_store(fd, &s), 0);
	close(fd);
	assert_int_equal(ledger_verify(scratch_dir(), NULL, &rep, NULL), 0);
	assert_true(rep.first_bad == 0 && rep.records == RECORDS);
	open_with("bb", &all_stay);
	run_until_first(second);
	check_anchored(second, RECORDS);
}

/* An end that is not what was written down is found. */
static void test_wrong_anchor(void **state _unused_)
{
	struct ledger_state s;
	struct ledger_report rep;
	uint64_t second;
	int fd;

	open_with("aa", &all_stay);
	append_many(RECORDS);
	second = first_of(1);
	read_up_to(second - 1);
	ledger_limit(l, &few_bytes);
	run_until_first(second);
	l = ledger_free(l);
	fd = open(scratch_path("usage.state"), O_RDWR);
	assert_int_equal(ledger_state_load(fd, &s), 0);
	s.removed.digest[5] = s.removed.digest[5] == 'a' ? 'b' : 'a';
	assert_int_equal(ledger_state_store(fd, &s), 0);
	assert_int_equal(ledger_verify(scratch_dir(), NULL, &rep, NULL), 0);
	assert_int_equal(rep.first_bad, 1);
	s.removed.n -= 3;
	assert_int_equal(ledger_state_store(fd, &s), 0);
	assert_int_equal(ledger_verify(scratch_dir(), NULL, &rep, NULL), 0);
	assert_int_equal(rep.first_bad, 1);
	close(fd);
}

static void count_problem(void *ctx, const char *text)
{
	assert_non_null(strstr(text, "usage.state"));
	++*(int *)ctx;
}

/* What cannot be read there is told, and nothing counts as read. */
static void test_damaged_state(void **state _unused_)
{
	static const char *const texts[] = { "x", "{}", "{\"v\":2,\"read\":9,\"handed\":9}\n" };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		char line[LEDGER_STATE_SIZE];
		int problems = 0;

		memset(line, ' ', sizeof(line));
		memcpy(line, texts[i], strlen(texts[i]));
		line[sizeof(line) - 1] = '\n';
		scratch_write("usage.state", line, i ? sizeof(line) : 1);
		open_with("aa", &few_bytes);
		ledger_on_problem(l, count_problem, &problems);
		append_many(RECORDS);
		assert_int_equal(problems, 1);
		assert_true(counts().read == 0 && ledger_first(l) == 1);
		l = ledger_free(l);
	}
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_what_counts_as_read),
		T(test_mark_survives),
		T(test_read_files_go_and_others_stay),
		T(test_all_of_it_goes),
		T(test_removal_is_finished),
		T(test_wrong_anchor),
		T(test_damaged_state),
	};

	log_set_level(LOG_ERROR);
	return RUN(tests, scratch_setup, scratch_done);
}
