/* Snapshots that read ahead on all cores: the same result as on one, every content in the pack, bounds on files that grow, are large
 * or cannot be opened; and after random changes a snapshot that looks only at what changed records what a whole one records. */
#include "snap_rig.h"

#include "base/os/file.h"
#include "unpack/snapshot/packfile.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define NAME_BYTES 64

/* --- trees ------------------------------------------------------------------------------------------------ */

static uint32_t seed = 1;

static uint32_t any(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

/* Text repeats itself, noise does not. */
static void put_bytes(const char *name, size_t n, bool noise)
{
	_cleanup_(freep) char *text = xalloc(n + 1);

	for (size_t i = 0; i < n; i++)
		text[i] = noise ? (char)(1 + any(255)) : "all work and no play\n"[i % 21];
	rig_put(name, text);
}

static void put_many(unsigned n)
{
	static const size_t sizes[] = { 0, 1, 100, 4000, 70000, 300 * KIB };
	char name[NAME_BYTES];

	for (unsigned i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "d%u/f%u", i % 7, i);
		put_bytes(name, sizes[i % ARRAY_SIZE(sizes)], i % 4 == 0);
		if (i % 10)
			continue;
		snprintf(name, sizeof(name), "d%u/l%u", i % 7, i);
		rig_link(name, "f0");
	}
	put_bytes("d3/large", AHEAD_FILE_MAX + 5, false);
	put_bytes("d3/noise", AHEAD_FILE_MAX + 5, true);
}

/* --- what was recorded -------------------------------------------------------------------------------------- */

static int open_base(const char *dir, const char *name)
{
	char path[NAME_BYTES];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return open(scratch_path(path), O_RDONLY);
}

/* What is in the tree, as contents in the pack are. */
static void read_tree(const char *path, const struct index_entry *e, struct buf *ret)
{
	buf_reset(ret);
	ret->max = SNAPSHOT_FILE_MAX;
	assert_int_equal(buf_reserve(ret, PATH_BYTES_MAX), 0);
	if (e->type == INDEX_FILE)
		assert_int_equal(file_read(rig_path(path), SNAPSHOT_FILE_MAX, ret), 0);
	else
		ret->len = (size_t)readlink(rig_path(path), ret->data, PATH_BYTES_MAX);
}

/* Every content comes out of the pack as it is in the tree. Returns how many entries there are. */
static unsigned check_contents(const char *dir)
{
	_cleanup_(closep) int index = open_base(dir, "index"), pack = open_base(dir, "pack");
	_cleanup_(buf_done) struct buf here = { 0 }, there = { 0 };
	struct index_reader r;
	struct index_entry e;
	struct packfile p;
	const char *path;
	unsigned n = 0;

	assert_int_equal(index_open(&r, index, INDEX_STATE), 0);
	packfile_init(&p, pack, r.head.pack, UINT64_MAX);
	for (; index_next(&r, &path, &e) == 1; n++) {
		assert_int_equal(packfile_read(&p, &e, &here), 0);
		read_tree(path, &e, &there);
		assert_true(slice_eq(buf_slice(&here), buf_slice(&there)));
	}
	packfile_done(&p);
	index_close(&r);
	return n;
}

/* The same paths with the same contents and modes; numbers of inodes and places in the pack may differ. */
static void check_same_state(const char *a, const char *b)
{
	_cleanup_(closep) int fa = open_base(a, "index"), fb = open_base(b, "index");
	struct index_reader ra, rb;
	struct index_entry ea, eb;
	const char *pa, *pb;
	int more;

	assert_int_equal(index_open(&ra, fa, INDEX_STATE), 0);
	assert_int_equal(index_open(&rb, fb, INDEX_STATE), 0);
	while ((more = index_next(&ra, &pa, &ea)) == 1) {
		assert_int_equal(index_next(&rb, &pb, &eb), 1);
		if (strcmp(pa, pb) != 0 || ea.type != eb.type || ea.mode != eb.mode ||
		    ea.size != eb.size || !sha256_equal(&ea.digest, &eb.digest))
			fail_msg("%s is not as the whole walk has %s", pa, pb);
	}
	assert_int_equal(index_next(&rb, &pb, &eb), more);
	index_close(&ra);
	index_close(&rb);
}

static void check_same_file(const char *a, const char *b)
{
	_cleanup_(buf_done) struct buf x = { 0 }, y = { 0 };

	assert_int_equal(file_read(scratch_path(a), 64 * MIB, &x), 0);
	assert_int_equal(file_read(scratch_path(b), 64 * MIB, &y), 0);
	assert_true(slice_eq(buf_slice(&x), buf_slice(&y)));
}

/* --- reading ahead ------------------------------------------------------------------------------------------ */

/* In a process of its own, after a change to it: 0, or what it says. */
static int apart(void (*change)(void), const char *dir)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		change();
		_exit(rig_snapshot_in(dir, 0) == 0 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void one_processor(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)sched_getcpu(), &set);
	assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
}

static void test_all_cores_as_one(void **state _unused_)
{
	put_many(300 / stride(4));
	rig_settle();
	rig_snapshot_ok(0);
	assert_int_equal(check_contents("base"), rig.report.files);
	assert_int_equal(rig.report.read, rig.report.files);
	assert_int_equal(apart(one_processor, "one"), 0);
	check_same_file("base/pack", "one/pack");
	check_same_state("base", "one");
	rig_snapshot_ok(1);
	assert_int_equal(rig.report.read, 0);
	assert_int_equal(rig.report.changed, 0);
}

static void few_descriptors(void)
{
	struct rlimit few = { 256, 256 }; /* the helper's */

	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
}

/* What is read ahead must not take what the walk needs, however deep it is. */
static void test_few_descriptors(void **state _unused_)
{
	char path[2 * PATH_DEPTH_MAX + 8], *end = path;

	if (stride(2) == 2)
		return; /* valgrind keeps some for itself */
	for (int i = 0; i < PATH_DEPTH_MAX; i++) {
		strcpy(end, "f");
		rig_put(path, "in the middle\n");
		strcpy(end, "d/");
		end += 2;
	}
	for (int i = 0; i < 2 * AHEAD_ITEMS; i++) {
		snprintf(end, 5, "f%d", i);
		rig_put(path, "at the end\n");
	}
	assert_int_equal(apart(few_descriptors, "base"), 0);
	assert_int_equal(check_contents("base"), PATH_DEPTH_MAX + 2 * AHEAD_ITEMS);
}

#ifndef __SANITIZE_ADDRESS__
static void little_memory(void)
{
	struct rlimit little = { 0 };
	_cleanup_(buf_done) struct buf b = { 0 };

	assert_int_equal(file_read("/proc/self/statm", 4096, &b), 0);
	buf_putc(&b, '\0');
	little.rlim_cur = strtoull(b.data, NULL, 10) * (rlim_t)getpagesize() + 96 * MIB;
	little.rlim_max = little.rlim_cur;
	assert_int_equal(setrlimit(RLIMIT_AS, &little), 0);
}

/* Files of 300 MiB in all, which take no room on the disk, and one that says it has a terabyte. */
static void test_little_memory(void **state _unused_)
{
	char name[NAME_BYTES];

	if (stride(2) == 2)
		return; /* valgrind's own memory counts */
	for (int i = 0; i < 150; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		rig_put(name, "");
		assert_int_equal(truncate(rig_path(name), (off_t)AHEAD_FILE_MAX), 0);
	}
	rig_put("g", "");
	assert_int_equal(truncate(rig_path("g"), (off_t)SNAPSHOT_FILE_MAX), 0);
	rig_put("h", "");
	assert_int_equal(truncate(rig_path("h"), (off_t)1 << 40), 0);
	assert_int_equal(apart(little_memory, "base"), 0);
	rig_snapshot_ok(1);
	assert_int_equal(rig.report.files, 151);
}
#endif

static atomic_bool enough;

static void *grow(void *path)
{
	int fd = open(path, O_WRONLY | O_APPEND);
	struct stat sb;

	while (!enough && fd >= 0 && fstat(fd, &sb) == 0)
		if (write(fd, "more and more\n", 14) < 0 ||
		    (sb.st_size > 200000 && ftruncate(fd, 0) < 0))
			break;
	closep(&fd);
	return NULL;
}

/* The file is told as what it was at some time, or as changing; the others are not held up. */
static void test_grows_while_read(void **state _unused_)
{
	static char path[PATH_BYTES_MAX];
	pthread_t thread;

	put_many(60);
	rig_put("d1/a", "more and more\n");
	snprintf(path, sizeof(path), "%s", rig_path("d1/a"));
	enough = false;
	assert_int_equal(pthread_create(&thread, NULL, grow, path), 0);
	for (uint32_t i = 0; i < 20; i++) {
		rig_snapshot_ok(i);
		assert_in_range(rig.report.files, 60 + 6 + 2, 60 + 6 + 2 + 1);
	}
	enough = true;
	pthread_join(thread, NULL);
	rig_snapshot_ok(20);
	check_contents("base");
}

/* --- only what changed ------------------------------------------------------------------------------------ */

#define NAMES 12

static const char *any_name(void)
{
	static char names[4][NAME_BYTES];
	static unsigned turn;
	char *name = names[turn++ % ARRAY_SIZE(names)];
	unsigned n = any(NAMES);

	snprintf(name, NAME_BYTES, "%s%u", n % 3 ? "d/f" : "e", n);
	return name;
}

static bool here(const char *name)
{
	struct stat sb;

	return lstat(rig_path(name), &sb) == 0;
}

static void clear(const char *name)
{
	if (here(name))
		rig_put(name, NULL);
}

static void write_other(void)
{
	const char *name = any_name();

	clear(name);
	put_bytes(name, any(3000), any(2));
}

/* The same length, and its times put back: only ctime tells. */
static void write_behind(void)
{
	const char *path = rig_path(any_name());
	struct timespec times[2];
	struct stat sb;
	int fd = open(path, O_WRONLY | O_NOFOLLOW);

	if (fd < 0)
		return;
	if (fstat(fd, &sb) == 0 && S_ISREG(sb.st_mode) && sb.st_size) {
		times[0] = sb.st_atim;
		times[1] = sb.st_mtim;
		assert_int_equal(pwrite(fd, "#", 1, (off_t)any((uint32_t)sb.st_size)), 1);
		assert_int_equal(futimens(fd, times), 0);
	}
	close(fd);
}

static void move(void)
{
	const char *from = any_name(), *to = any_name();

	if (here(from) && strcmp(from, to) != 0) {
		clear(to);
		assert_int_equal(rename(rig_path(from), rig_path(to)), 0);
	}
}

static void swap(void)
{
	const char *a = any_name(), *b = any_name();

	if (here(a) && here(b))
		assert_int_equal(renameat2(AT_FDCWD, rig_path(a), AT_FDCWD, rig_path(b),
					   RENAME_EXCHANGE),
				 0);
}

static void set_mode(void)
{
	const char *name = any_name();
	struct stat sb;

	if (lstat(rig_path(name), &sb) == 0 && S_ISREG(sb.st_mode))
		assert_int_equal(chmod(rig_path(name), any(2) ? 0755 : 0644), 0);
}

static void hard_link(void)
{
	const char *from = any_name(), *to = any_name();

	if (here(from) && strcmp(from, to) != 0) {
		clear(to);
		/* not of what is a directory */
		assert_true(link(rig_path(from), rig_path(to)) == 0 || errno == EPERM);
	}
}

static void soft_link(void)
{
	const char *name = any_name();

	clear(name);
	rig_link(name, any(2) ? "e0" : "d/f1");
}

static void make_directory(void)
{
	const char *name = any_name();
	char below[2 * NAME_BYTES];

	clear(name);
	snprintf(below, sizeof(below), "%s/%s", name, any(2) ? "x" : "y");
	rig_put(below, "below\n");
}

static void take_away(void)
{
	clear(any_name());
}

static void test_changes_as_a_whole_walk(void **state _unused_)
{
	static void (*const changes[])(
		void) = { write_other, write_behind, write_behind, move,      swap,
			  set_mode,    hard_link,    soft_link,	   take_away, make_directory };
	uint64_t unread = 0;

	for (int i = 0; i < 2 * NAMES; i++)
		write_other();
	rig_snapshot_ok(0);
	for (uint32_t turn = 1; turn <= 40 / stride(4); turn++) {
		for (unsigned n = any(4); n--;)
			changes[any(ARRAY_SIZE(changes))]();
		if (turn % 2)
			rig_settle(); /* some are recorded as proven, some are not */
		rig_snapshot_ok(turn);
		unread += rig.report.files - rig.report.read;
		assert_int_equal(rig_snapshot_in("whole", 0), 0);
		check_same_state("base", "whole");
		file_remove_tree(scratch_path("whole"));
	}
	assert_true(unread > 0);
	check_contents("base");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_done)
		TEST(test_all_cores_as_one), TEST(test_few_descriptors),
#ifndef __SANITIZE_ADDRESS__
		TEST(test_little_memory),
#endif
		TEST(test_grows_while_read), TEST(test_changes_as_a_whole_walk),
	};

	return RUN(tests, NULL, NULL);
}
