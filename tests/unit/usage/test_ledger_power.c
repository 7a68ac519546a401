/*
 * The machine stops at each call that makes something durable, and what was answered for by then is there after the next
 * start. A file is then as it was at its last fdatasync, or has some of what came after; usage.ahead is as the last
 * write to it left it. The calls are the C library's, by functions of the same name here.
 */
#include "ledger_rig.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/os/file.h"
#include "json/jscan.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define FILE_MAX 4000
#define RECORDS 40
#define JOURNAL "journal"
#define FILES_MAX 256

/* Shared with the child that dies. */
static struct life {
	uint64_t told;	  /* records that it had an answer for */
	off_t told_bytes; /* of the journal */
	unsigned calls, kill_at, syncs, ahead, looks;
	int fail; /* errno of all writes to usage.ahead */
	struct {
		ino_t ino;
		off_t durable;
	} file[FILES_MAX];
	unsigned n;
} * life;

static void counted(void)
{
	if (++life->calls == life->kill_at)
		raise(SIGKILL);
}

static off_t *durable_of(ino_t ino)
{
	for (unsigned i = 0; i < life->n; i++)
		if (life->file[i].ino == ino)
			return &life->file[i].durable;
	assert_true(life->n < FILES_MAX);
	life->file[life->n].ino = ino;
	life->file[life->n].durable = 0;
	return &life->file[life->n++].durable;
}

/* Durable when it returns, so what is there before it begins. */
int fdatasync(int fd);
int fdatasync(int fd)
{
	struct stat sb;

	fstatat(fd, "", &sb, AT_EMPTY_PATH);
	counted();
	*durable_of(sb.st_ino) = sb.st_size;
	life->syncs++;
	counted();
	return 0;
}

int fsync(int fd _unused_)
{
	counted();
	return 0;
}

ssize_t pwritev2(int fd, const struct iovec *v, int n, off_t at, int flags)
{
	ssize_t r;

	counted();
	if (life->fail) {
		errno = life->fail;
		return -1;
	}
	r = syscall(SYS_pwritev2, fd, v, n, (long)at, 0L, flags & ~RWF_DSYNC);
	life->ahead++;
	counted();
	return r;
}

int fstat(int fd, struct stat *ret)
{
	life->looks++;
	return fstatat(fd, "", ret, AT_EMPTY_PATH);
}

static int setup(void **state _unused_)
{
	memset(life, 0, sizeof(*life));
	file_remove_tree(scratch_dir());
	mkdir(scratch_dir(), 0700);
	loop = loop_new();
	return loop ? 0 : -1;
}

static void open_small(const char *incarnation)
{
	open_at(scratch_path(LEDGER), incarnation);
	ledger_limit(l, &(struct ledger_limits){ .file_max = FILE_MAX });
}

/* With its number in it, so that none is taken for another. */
static uint64_t append_numbered(uint64_t n)
{
	char record[200];

	snprintf(record, sizeof(record), "{\"type\":\"turn\",\"is\":%llu,\"pad\":\"%080d\"}",
		 (unsigned long long)n, 0);
	return ledger_append(l, slice_of(record));
}

static void settle_wait(struct waiter *w)
{
	wait_for(w);
	loop_dispatch(loop);
	while (!w->calls)
		turn(20);
	assert_int_equal(w->error, 0);
}

/* --- a session beside it ---------------------------------------------------------------------------------- */

static int journal;

static void journal_line(uint64_t n, char *line, size_t size)
{
	snprintf(line, size, "event %04llu of a turn, and what was said in it\n",
		 (unsigned long long)n);
}

static off_t journal_turn(uint64_t n, bool fresh)
{
	char line[100];
	off_t size;

	journal_line(n, line, sizeof(line));
	assert_int_equal(file_write_all(journal, line, strlen(line)), 0);
	size = lseek(journal, 0, SEEK_END);
	assert_int_equal(ledger_sync_also(l, &(struct sync_also){ journal, scratch_path(JOURNAL),
								  size, fresh }),
			 0);
	return size;
}

static void open_journal(void)
{
	journal = open(scratch_path(JOURNAL), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	assert_true(journal >= 0);
}

static void live(uint64_t from, uint64_t to)
{
	for (uint64_t n = from; n <= to; n++) {
		struct waiter w = { 0 };
		off_t bytes = journal_turn(n, n == from);

		assert_true(append_numbered(n) == n);
		settle_wait(&w);
		life->told = n;
		life->told_bytes = bytes;
	}
}

static void child_life(void)
{
	open_small("aa");
	open_journal();
	live(1, RECORDS);
	_exit(0);
}

/* False: it came to its end. */
static bool killed_at(unsigned at)
{
	int status;
	pid_t pid;

	life->kill_at = at;
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		child_life();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	life->kill_at = 0;
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

/* --- the stop --------------------------------------------------------------------------------------------- */

/* Keeps percent of what was not durable; with zeros: the rest is blocks that never got their bytes. */
static void lose(const char *name, unsigned percent, bool zeros)
{
	struct stat sb;
	off_t keep;

	assert_int_equal(stat(scratch_path(name), &sb), 0);
	keep = *durable_of(sb.st_ino);
	assert_true(keep <= sb.st_size);
	keep += (sb.st_size - keep) * percent / 100;
	assert_int_equal(truncate(scratch_path(name), keep), 0);
	if (zeros)
		assert_int_equal(truncate(scratch_path(name), sb.st_size), 0);
}

static void stop_machine(unsigned percent, bool zeros)
{
	DIR *d = opendir(scratch_dir());
	struct dirent *e;

	while ((e = readdir(d)))
		if (strstr(e->d_name, ".jsonl") || strcmp(e->d_name, JOURNAL) == 0)
			lose(e->d_name, percent, zeros);
	closedir(d);
}

static bool on_line(void *ctx, uint64_t n, struct slice line)
{
	uint64_t *last = ctx;
	char is[40];

	snprintf(is, sizeof(is), "%llu", (unsigned long long)n);
	assert_true(n == *last + 1);
	assert_true(slice_is(jobj_get(line, "is").raw, is));
	*last = n;
	return true;
}

static void check_journal(void)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	char line[100];
	size_t at = 0;

	if (life->told_bytes)
		assert_int_equal(file_read(scratch_path(JOURNAL), 1 << 20, &b), 0);
	assert_true((off_t)b.len >= life->told_bytes);
	for (uint64_t n = 1; n <= life->told; n++, at += strlen(line)) {
		journal_line(n, line, sizeof(line));
		assert_memory_equal(b.data + at, line, strlen(line));
	}
}

static void check_ledger(void)
{
	struct ledger_report rep;
	struct err e = { 0 };
	uint64_t last = 0;

	open_small("bb");
	assert_int_equal(ledger_read(l, 0, on_line, &last), 0);
	assert_true(last == ledger_last(l) && last >= life->told);
	assert_true(append_numbered(last + 1) == last + 1);
	assert_int_equal(ledger_verify(scratch_dir(), NULL, &rep, &e), 0);
	if (rep.first_bad || rep.records != last + 1)
		fail_msg("file %zu, line %llu: %s", rep.file, (unsigned long long)rep.first_bad,
			 rep.reason);
}

static void stop_at_each(unsigned percent, bool zeros)
{
	unsigned at = 1;

	for (;; at += stride(7)) {
		bool killed;

		setup(NULL);
		killed = killed_at(at);
		if (!killed && life->told < RECORDS)
			fail_msg("it ended by itself after record %llu",
				 (unsigned long long)life->told);
		stop_machine(percent, zeros);
		check_ledger();
		check_journal();
		rig_teardown(NULL);
		if (!killed)
			break;
	}
	assert_true(at > RECORDS);
	assert_true(life->ahead > RECORDS / 2); /* this is about usage.ahead */
}

static void test_stopped_at_each_call(void **state _unused_)
{
	rig_teardown(NULL);
	stop_at_each(0, false);
}

static void test_some_of_it_was_written(void **state _unused_)
{
	rig_teardown(NULL);
	stop_at_each(61, false);
	stop_at_each(83, true);
}

/* --- lives ------------------------------------------------------------------------------------------------ */

/* A daemon that was killed alone has lost nothing; the next one may stop with the machine all the same. */
static void test_killed_and_stopped(void **state _unused_)
{
	pid_t pid;
	int status;

	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		child_life(); /* not freed: as if it were killed */
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		open_small("bb");
		open_journal();
		live(RECORDS + 1, RECORDS + 10);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	stop_machine(0, false);
	assert_true(life->told == RECORDS + 10);
	check_ledger();
	check_journal();
}

/* After an orderly end nothing is left to be put back, nor is anything missing without usage.ahead. */
static void test_orderly_end(void **state _unused_)
{
	open_small("aa");
	open_journal();
	live(1, RECORDS);
	closep(&journal);
	assert_true(life->ahead > 0);
	l = ledger_free(l);
	stop_machine(0, false);
	unlink(scratch_path("usage.ahead"));
	check_ledger();
	check_journal();
}

/* A disk that refuses such writes costs nothing but time. */
static void test_ahead_fails(void **state _unused_)
{
	open_small("aa");
	open_journal();
	live(1, 10);
	assert_true(life->ahead > 0);
	life->fail = EIO;
	live(11, 20);
	closep(&journal);
	stop_machine(0, false);
	l = ledger_free(l);
	check_ledger();
	check_journal();
}

/* What is durable in usage.ahead alone does not stay there, and no file is held open for it. */
static void test_settles(void **state _unused_)
{
	unsigned open_files = count_dir("/proc/self/fd"), syncs;
	uint64_t end = clock_mono_ms() + 60000;

	open_small("aa");
	open_journal();
	live(1, 10);
	syncs = life->syncs;
	while (life->syncs == syncs && clock_mono_ms() < end)
		turn(100);
	turn(100);
	assert_true(life->syncs >= syncs + 2); /* ledger and journal */
	closep(&journal);
	stop_machine(0, false);
	unlink(scratch_path("usage.ahead"));
	l = ledger_free(l);
	assert_int_equal(count_dir("/proc/self/fd"), open_files);
	check_ledger();
	check_journal();
}

/* A look at a file gives usage.ahead another time with each write (usage_ahead.h). */
static void test_turns_look_at_no_file(void **state _unused_)
{
	unsigned looks;

	open_small("aa");
	open_journal();
	live(1, 5);
	looks = life->looks;
	live(6, 10);
	assert_true(life->ahead > 3);
	assert_int_equal(life->looks, looks);
	closep(&journal);
	l = ledger_free(l);
}

static void append_also(size_t i, struct slice bytes, off_t size, bool fresh)
{
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "other-%zu", i);
	fd = open(scratch_path(name), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(file_write_all(fd, bytes.p, bytes.n), 0);
	assert_int_equal(
		ledger_sync_also(l, &(struct sync_also){ fd, scratch_path(name), size, fresh }), 0);
	close(fd);
}

/* More files than are followed, and turns that are too large for a frame. */
static void test_many_and_large(void **state _unused_)
{
	_cleanup_(buf_done) struct buf large = { 0 };
	off_t size[USAGE_AHEAD_FILES_MAX + 8] = { 0 };

	open_small("aa");
	open_journal();
	live(1, 5);
	while (buf_len(&large) < 2 * USAGE_AHEAD_FRAME_MAX)
		buf_putc(&large, 'x');
	for (size_t round = 0; round < 4; round++) {
		struct waiter w = { 0 };

		for (size_t i = 0; i < ARRAY_SIZE(size); i++) {
			size_t n = round == 2 && i == 3 ? large.len : 100;

			size[i] += (off_t)n;
			append_also(i, (struct slice){ large.data, n }, size[i], round == 0);
		}
		settle_wait(&w);
	}
	for (size_t i = 0; i < ARRAY_SIZE(size); i++) {
		off_t want = 400 + (i == 3 ? (off_t)large.len - 100 : 0);
		struct stat sb;
		char name[32];

		snprintf(name, sizeof(name), "other-%zu", i);
		lose(name, 0, false);
		assert_int_equal(stat(scratch_path(name), &sb), 0);
		assert_true(sb.st_size == want); /* too many: all went the long way */
	}
	closep(&journal);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_stopped_at_each_call), T(test_some_of_it_was_written),
		T(test_killed_and_stopped),   T(test_orderly_end),
		T(test_ahead_fails),	      T(test_settles),
		T(test_many_and_large),	      T(test_turns_look_at_no_file),
	};

	log_set_level(LOG_ERROR);
	life = mmap(NULL, sizeof(*life), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, 0, 0);
	if (life == MAP_FAILED)
		return 1;
	return RUN(tests, scratch_setup_disk, scratch_done);
}
