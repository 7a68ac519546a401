/*
 * A ledger of several files: one chain, read over their borders; and a daemon that is killed before each call of a rotation, or for which each
 * fails. The calls are the C library's, by functions of the same name here.
 */
#include "ledger_rig.h"

#include "base/os/file.h"
#include "base/log.h"
#include "json/jscan.h"
#include "usage/ledger/ledger_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define FILE_MAX 2000
#define RECORDS 40

/* --- the calls ----------------------------------------------------------------------------------------------- */

static struct {
	unsigned kill_at, fail_at, calls; /* the n-th call; 0: none */
	int error;
	bool plain; /* a file system without flags of rename */
} calls;

static bool counted(void)
{
	unsigned n = __atomic_add_fetch(&calls.calls, 1, __ATOMIC_SEQ_CST);

	if (n == calls.kill_at)
		raise(SIGKILL);
	if (!calls.fail_at || n != calls.fail_at)
		return false;
	errno = calls.error;
	return true;
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	if (flags && calls.plain) {
		errno = EINVAL;
		return -1;
	}
	return counted() ? -1 : (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
}

int rename(const char *from, const char *to)
{
	return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int unlink(const char *path)
{
	return counted() ? -1 : (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

ssize_t write(int fd, const void *p, size_t n)
{
	bool line = n > 4 && memcmp(p, "{\"v\"", 4) == 0;

	return line && counted() ? -1 : syscall(SYS_write, fd, p, n);
}

/* No power is lost here. */
int fdatasync(int fd);
int fdatasync(int fd _unused_)
{
	return counted() ? -1 : 0;
}

int fsync(int fd _unused_)
{
	return counted() ? -1 : 0;
}

/* --- what must hold -------------------------------------------------------------------------------------------- */

static void open_small(const char *incarnation)
{
	open_at(scratch_path(LEDGER), incarnation);
	ledger_limit(l, &(struct ledger_limits){ .file_max = FILE_MAX });
}

static int setup(void **state _unused_)
{
	memset(&calls, 0, sizeof(calls));
	file_remove_tree(scratch_dir());
	mkdir(scratch_dir(), 0700);
	loop = loop_new();
	return loop ? 0 : -1;
}

/* With its number in it, so that none is taken for another. */
static uint64_t append_numbered(uint64_t n)
{
	char record[200];

	snprintf(record, sizeof(record), "{\"type\":\"turn\",\"is\":%llu,\"pad\":\"%080d\"}",
		 (unsigned long long)n, 0);
	return ledger_append(l, slice_of(record));
}

static unsigned closed_files(void)
{
	struct ledger_set s;
	size_t n;

	ledger_set_init(&s, scratch_path(LEDGER));
	assert_int_equal(ledger_set_list(&s), 0);
	n = s.n;
	ledger_set_done(&s);
	return (unsigned)n;
}

/* A deferred task makes no descriptor readable. */
static void settle(const struct waiter *w)
{
	loop_dispatch(loop);
	while (!w->calls)
		turn(20);
}

struct reading {
	uint64_t last, stop, lines;
};

static bool on_line(void *ctx, uint64_t n, struct slice line)
{
	struct reading *r = ctx;
	char is[40];

	snprintf(is, sizeof(is), "%llu", (unsigned long long)n);
	assert_true(n == r->last + 1);
	assert_true(slice_is(jobj_get(line, "is").raw, is));
	r->last = n;
	r->lines++;
	return n != r->stop;
}

static void check_whole(uint64_t records)
{
	struct ledger_report rep;
	struct err e = { 0 };

	assert_int_equal(ledger_verify(scratch_dir(), NULL, &rep, &e), 0);
	if (rep.first_bad || rep.records != records || rep.anchored)
		fail_msg("file %zu, line %llu of %llu: %s", rep.file,
			 (unsigned long long)rep.first_bad, (unsigned long long)rep.records,
			 rep.reason);
}

static void check_reading(uint64_t since, uint64_t last)
{
	struct reading r = { .last = since };

	assert_int_equal(ledger_read(l, since, on_line, &r), 0);
	assert_true(r.last == MAX(since, last));
}

static void test_one_chain_over_all_files(void **state _unused_)
{
	struct waiter w = { 0 };
	struct stat sb;

	open_small("aa");
	for (uint64_t n = 1; n <= RECORDS; n++) {
		assert_true(append_numbered(n) == n);
		w.calls = 0;
		wait_for(&w);
		settle(&w);
	}
	assert_true(closed_files() >= 3);
	assert_int_equal(stat(scratch_path(LEDGER), &sb), 0);
	assert_true(sb.st_size <= FILE_MAX && (sb.st_mode & 0777) == 0600);
	check_whole(RECORDS);
	for (uint64_t since = 0; since <= RECORDS + 1; since++)
		check_reading(since, RECORDS);
	for (uint64_t stop = 1; stop <= RECORDS; stop++) {
		struct reading r = { .stop = stop };

		assert_int_equal(ledger_read(l, 0, on_line, &r), 0);
		assert_true(r.lines == stop);
	}
}

/* The same incarnation goes on with its chain, another with a new one, also where the file that is written to is empty or gone. */
static void test_lives(void **state _unused_)
{
	static const char *const lives[] = { "aa", "aa", "bb", "bb" };
	uint64_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(lives); i++) {
		open_small(lives[i]);
		assert_true(ledger_last(l) == n);
		for (unsigned k = 0; k < 15; k++, n++) {
			assert_true(append_numbered(n + 1) == n + 1);
			loop_dispatch(loop);
		}
		while (i == 1 && closed_files() < 4) { /* up to the beginning of a file */
			assert_true(append_numbered(n + 1) == n + 1);
			n++;
			turn(1);
		}
		l = ledger_free(l);
		check_whole(n);
	}
	assert_int_equal(syscall(SYS_unlinkat, AT_FDCWD, scratch_path(LEDGER), 0), 0);
	open_small("cc");
	assert_true(ledger_last(l) < n && ledger_last(l) > 30);
	n = ledger_last(l);
	assert_true(append_numbered(n + 1) == n + 1);
	check_whole(n + 1);
	check_reading(0, n + 1);
}

/* --- a death and a failure at each call -------------------------------------------------------------------------- */

static uint64_t *told; /* shared: records that the child had an answer for */

static void child_life(unsigned at, bool plain)
{
	calls.plain = plain;
	open_small("aa");
	calls.calls = 0;
	calls.kill_at = at;
	for (uint64_t n = 1; n <= RECORDS; n++) {
		struct waiter w = { 0 };

		*told = append_numbered(n);
		wait_for(&w);
		settle(&w);
	}
	_exit(0);
}

/* False: it came to its end. */
static bool killed_at(unsigned at, bool plain)
{
	int status;
	pid_t pid;

	*told = 0;
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		child_life(at, plain);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

/* Records of files that nobody has opened since; 0: there is none. */
static uint64_t lying_there(void)
{
	struct ledger_report rep = { 0 };

	ledger_verify(scratch_dir(), NULL, &rep, NULL);
	if (rep.records)
		check_whole(rep.records);
	return rep.records;
}

static void kill_at_each(bool plain)
{
	unsigned deaths = 0;

	for (unsigned at = 1;; at++, deaths++) {
		uint64_t last;

		setup(NULL);
		if (!killed_at(at, plain))
			break;
		last = lying_there();
		/* the thread may be killed when a record is written, and its answer is not yet noted */
		assert_true(last == *told || last == *told + 1);
		calls.kill_at = 0;
		open_small("bb");
		assert_true(ledger_last(l) == last);
		check_reading(0, last);
		assert_true(append_numbered(last + 1) == last + 1);
		check_whole(last + 1);
		check_reading(0, last + 1);
		rig_teardown(NULL);
	}
	assert_true(*told == RECORDS && deaths > RECORDS);
	rig_teardown(NULL);
}

static void test_killed_before_each_call(void **state _unused_)
{
	rig_teardown(NULL);
	kill_at_each(false);
	kill_at_each(true);
}

/* What fails once costs one record at most, and never one that was answered for. */
static void test_each_call_fails(void **state _unused_)
{
	static const int errors[] = { ENOSPC, EIO };

	rig_teardown(NULL);
	for (unsigned at = 1, most = 1; at <= most; at++)
		for (size_t e = 0; e < ARRAY_SIZE(errors); e++) {
			uint64_t n = 0, kept;

			setup(NULL);
			open_small("aa");
			calls.calls = 0;
			calls.error = errors[e];
			calls.fail_at = at;
			for (unsigned i = 0; i < RECORDS; i++) {
				n += append_numbered(n + 1) == n + 1;
				loop_dispatch(loop);
			}
			most = MAX(most, calls.calls);
			assert_true(n >= RECORDS - 1 || ledger_error(l) < 0);
			check_whole(n);
			kept = n;
			check_reading(0, kept);
			calls.fail_at = 0;
			l = ledger_free(l);
			open_small("bb");
			assert_true(ledger_last(l) == kept);
			assert_true(append_numbered(kept + 1) == kept + 1);
			check_whole(kept + 1);
			rig_teardown(NULL);
		}
}

/* A sync that fails in the file that was closed is the waiters' of the next one, too. */
static void test_closed_file_is_synced_first(void **state _unused_)
{
	struct waiter w = { 0 };

	open_small("aa");
	for (uint64_t n = 1; !closed_files(); n++)
		append_numbered(n);
	calls.calls = 0;
	calls.error = EIO;
	calls.fail_at = 1;
	wait_for(&w);
	run_until(&w.calls, 1);
	assert_int_equal(w.error, -EIO);
	assert_true(append_numbered(1000) == 0);
}

/* Where the next file cannot be begun the ledger goes on in the one it has. */
static void test_no_next_file(void **state _unused_)
{
	open_small("aa");
	mkdir(scratch_path(LEDGER ".tmp"), 0700);
	for (uint64_t n = 1; n <= RECORDS; n++)
		assert_true(append_numbered(n) == n);
	assert_int_equal(closed_files(), 0);
	rmdir(scratch_path(LEDGER ".tmp"));
	for (uint64_t n = RECORDS + 1; n <= 2 * RECORDS; n++) {
		assert_true(append_numbered(n) == n);
		turn(1);
	}
	assert_true(closed_files() > 0);
	check_whole(2 * RECORDS);
	check_reading(0, 2 * RECORDS);
}

static void count_problem(void *ctx, const char *text)
{
	if (!strstr(text, "usage-"))
		fail_msg("%s", text);
	++*(int *)ctx;
}

/* A changed line in a closed file is found in the background, and by verify, which names the file and the line in it. */
static void test_damage_is_named_by_its_file(void **state _unused_)
{
	_cleanup_(freep) char *path = NULL;
	_cleanup_(buf_done) struct buf b = { 0 };
	struct ledger_report rep;
	struct ledger_set s;
	int problems = 0;

	open_small("aa");
	for (uint64_t n = 1; n <= RECORDS; n++) {
		append_numbered(n);
		turn(1);
	}
	l = ledger_free(l);
	ledger_set_init(&s, scratch_path(LEDGER));
	assert_int_equal(ledger_set_list(&s), 0);
	path = ledger_set_path(&s, s.closed[1].first);
	ledger_set_done(&s);
	assert_int_equal(file_read(path, 100000, &b), 0);
	memcpy(memmem(b.data, b.len, "turn", 4), "TURN", 4);
	assert_int_equal(file_replace(path, b.data, b.len, 0600), 0);
	assert_int_equal(ledger_verify(scratch_dir(), NULL, &rep, NULL), 0);
	assert_int_equal(rep.first_bad, 2);
	assert_int_equal(rep.file, 2);
	open_small("bb");
	ledger_on_problem(l, count_problem, &problems);
	run_until(&problems, 1);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_one_chain_over_all_files),    T(test_lives),
		T(test_killed_before_each_call),     T(test_each_call_fails),
		T(test_closed_file_is_synced_first), T(test_no_next_file),
		T(test_damage_is_named_by_its_file),
	};

	log_set_level(LOG_ERROR);
	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, 0, 0);
	return RUN(tests, scratch_setup_disk, scratch_done);
}
