/* Snapshots while somebody interferes: trees that change under the walk, state files that are torn or damaged, jobs that are killed. */
#include "snap_rig.h"

#include "base/clock.h"
#include "base/os/file.h"
#include "unpack/snapshot/packfile.h"
#include "unpack/snapshot/take.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#define SECRET "what stands outside of the tree\n"

/* --- a file that is something else by now ------------------------------------------------------------------- */

/* What take_content makes of "x" if lstat said it is a regular file. */
static struct index_entry take_stale(struct buf *content)
{
	_cleanup_(closep) int dir = open(scratch_path("ws"), O_RDONLY | O_DIRECTORY);
	struct stat file;
	struct index_entry e;

	rig_put("file", "x\n");
	assert_int_equal(fstatat(dir, "file", &file, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(take_content(dir, "x", &file, 100, content, &e), 0);
	return e;
}

static void test_replaced_before_it_is_opened(void **state _unused_)
{
	_cleanup_(buf_done) struct buf content = { 0 };
	struct index_entry e;

	scratch_write("secret", SECRET, strlen(SECRET));
	assert_int_equal(take_stale(&content).type, INDEX_NONE);
	assert_int_equal(mkfifo(rig_path("x"), 0600), 0);
	e = take_stale(&content);
	assert_true(e.type == INDEX_OMITTED && e.reason == OMIT_FIFO);
	rig_put("x", NULL);
	rig_link("x", "../secret");
	e = take_stale(&content);
	assert_true(e.type == INDEX_LINK && slice_is(buf_slice(&content), "../secret"));
	rig_put("x", NULL);
	rig_put("x/y", "x\n");
	assert_int_equal(take_stale(&content).type, INDEX_NONE);
	rig_put("x", NULL);
	rig_put("x", "other\n");
	e = take_stale(&content);
	assert_true(e.type == INDEX_FILE && e.size == 6 &&
		    slice_is(buf_slice(&content), "other\n"));
}

/* --- somebody who never rests ------------------------------------------------------------------------------- */

static atomic_bool resting;

static void swap(const char *a, const char *b)
{
	renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
}

/* d is a directory or a link to one outside, f a file, a FIFO or a link outside, g grows and shrinks. */
static void *interfere(void *paths)
{
	char(*p)[128] = paths;

	for (unsigned i = 0; !resting; i++) {
		swap(p[0], p[1]);
		swap(p[2], p[3 + i % 2]);
		if (truncate(p[5], (off_t)(i * 7919 % 200000)) < 0)
			break;
	}
	return NULL;
}

static void check_no_secret(void)
{
	_cleanup_(closep) int fd = open(scratch_path("base/index"), O_RDONLY);
	struct sha256 secret;
	struct index_reader r;
	const char *path;
	struct index_entry e;
	unsigned n = 0;

	sha256_of(slice_of(SECRET), &secret);
	assert_int_equal(index_open(&r, fd, INDEX_STATE), 0);
	for (; index_next(&r, &path, &e) == 1; n++)
		assert_false(sha256_equal(&e.digest, &secret));
	assert_true(n >= 2);
	index_close(&r);
}

static void test_tree_changes_while_walked(void **state _unused_)
{
	static const char *const names[] = { "d", "link", "f", "flink", "fifo", "g" };
	static char paths[ARRAY_SIZE(names)][128];
	uint64_t until = clock_mono_ms() + 1500;
	pthread_t thread;
	uint32_t turn = 0;

	mkdir(scratch_path("outside"), 0755);
	scratch_write("outside/a", SECRET, strlen(SECRET));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		snprintf(paths[i], sizeof(paths[i]), "%s", rig_path(names[i]));
	rig_put("d/a", "inside\n");
	rig_link("link", "../outside");
	rig_put("f", "x\n");
	rig_link("flink", "../outside/a");
	assert_int_equal(mkfifo(rig_path("fifo"), 0600), 0);
	rig_put("g", "x\n");
	resting = false;
	assert_int_equal(pthread_create(&thread, NULL, interfere, paths), 0);
	while (clock_mono_ms() < until || turn < 20) {
		rig_snapshot_ok(turn++);
		rig_diff_ok(0);
		check_no_secret();
	}
	resting = true;
	pthread_join(thread, NULL);
	rig_snapshot_ok(turn);
	rig_diff_ok(turn);
	assert_int_equal(rig.report.patch_bytes, 0);
}

/* --- state that is not as it should be ------------------------------------------------------------------------- */

static off_t size_of(const char *name)
{
	struct stat sb;

	return stat(scratch_path(name), &sb) == 0 ? sb.st_size : -1;
}

static void test_torn_pack(void **state _unused_)
{
	int fd;
	off_t whole;

	rig_put("a", "first\n");
	rig_snapshot_ok(0);
	whole = size_of("base/pack");
	fd = open(scratch_path("base/pack"), O_WRONLY | O_APPEND);
	assert_int_equal(file_write_all(fd, SECRET, 20), 0);
	close(fd);
	rig_diff_ok(0); /* leaves it */
	assert_int_equal(size_of("base/pack"), whole + 20);
	rig_snapshot_ok(1);
	assert_int_equal(size_of("base/pack"), whole);
	rig_put("a", "second\n");
	rig_snapshot_ok(2);
	assert_true(rig_patch_has("-first\n+second\n"));
}

static void test_pack_too_short(void **state _unused_)
{
	rig_put("a", "first\n");
	rig_snapshot_ok(0);
	assert_int_equal(truncate(scratch_path("base/pack"), size_of("base/pack") - 1), 0);
	rig_put("a", "second\n");
	assert_true(rig_diff(0) < 0);
	assert_reason("STATE_DAMAGED");
	assert_int_equal(rig.v.kind, VERDICT_FAILED);
	assert_true(rig_snapshot(1) < 0);
	assert_reason("STATE_DAMAGED");
	rig_snapshot_ok(0);
	rig_put("a", "third\n");
	rig_diff_ok(0);
	assert_true(rig_patch_has("-second\n+third\n"));
}

static void flip(const char *name, off_t at)
{
	int fd = open(scratch_path(name), O_RDWR);
	char c;

	assert_int_equal(pread(fd, &c, 1, at), 1);
	c = (char)(c ^ 0x10);
	assert_int_equal(pwrite(fd, &c, 1, at), 1);
	close(fd);
}

/* No byte of any of the three files may change unseen. */
static void test_every_byte_counts(void **state _unused_)
{
	static const char *const files[] = { "base/index", "base/turn-1", "base/pack" };

	rig_put("a", "first, and long enough to be packed in more than one byte\n");
	rig_snapshot_ok(0);
	rig_put("a", "second\n");
	rig_snapshot_ok(1);
	rig_put("a", "third\n");
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		off_t n = i == 2 ? size_of(files[i]) / 2 :
				   size_of(files[i]); /* "second" is not asked for */

		for (off_t at = 0; at < n; at++) {
			flip(files[i], at);
			if (rig_diff(0) ==
			    0) /* two bits of a zstd header say nothing about the content */
				assert_true(i == 2 && rig_patch_has("-first, and long enough"));
			else
				assert_reason("STATE_DAMAGED");
			flip(files[i], at);
		}
	}
	rig_diff_ok(0);
}

/* --- jobs that die -------------------------------------------------------------------------------------------- */

/* Kills a snapshot of turn 1 after so many microseconds; false: it was done before. */
static bool kill_snapshot(unsigned us)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		int r = rig_snapshot(1);

		_exit(r == 0 ? 0 : 1);
	}
	usleep(us);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
	return WIFSIGNALED(status);
}

/* How long one takes here. */
static unsigned snapshot_us(void)
{
	struct timespec a, b;

	rig_put("d0/f0", "timed\n");
	clock_gettime(CLOCK_MONOTONIC, &a);
	rig_snapshot_ok(0);
	clock_gettime(CLOCK_MONOTONIC, &b);
	return (unsigned)((b.tv_sec - a.tv_sec) * 1000000 + (b.tv_nsec - a.tv_nsec) / 1000);
}

static void test_killed(void **state _unused_)
{
	unsigned killed = 0, all;
	char name[32];

	for (int i = 0; i < 60; i++) {
		snprintf(name, sizeof(name), "d%d/f%d", i % 7, i);
		rig_put(name, name);
	}
	rig_snapshot_ok(0);
	all = snapshot_us();
	for (unsigned i = 0; i < 60; i++) {
		rig_put("d0/f0", i % 2 ? "other\n" : "another, longer\n");
		rig_put("d0/f1", i % 2 ? "other\n" : "another, longer\n");
		killed += kill_snapshot(all * i / 50);
		/* the state is that of the baseline or that of the turn, and goes on from there */
		rig_diff_ok(0);
		assert_int_equal(rig.report.patch.files, 2);
		if (rig_diff(1) == 0) {
			assert_int_equal(rig.report.patch.files, 0);
			rig_put("d0/f0", "d0/f0");
			rig_put("d0/f1", "d1/f1");
			rig_snapshot_ok(0);
		} else {
			assert_reason("TURN_UNKNOWN");
		}
	}
	assert_true(killed > 0); /* how many is up to the machine */
	rig_put("d0/f0", "last\n");
	rig_snapshot_ok(7);
	rig_diff_ok(7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_done)
		TEST(test_replaced_before_it_is_opened),
		TEST(test_tree_changes_while_walked),
		TEST(test_torn_pack),
		TEST(test_pack_too_short),
		TEST(test_every_byte_counts),
		TEST(test_killed),
	};

	return RUN(tests, NULL, NULL);
}
