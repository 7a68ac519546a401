/*
 * usage.ahead alone: what a stop of the machine takes from the ends of files comes back, whatever is left of them and of
 * it; and nothing else is touched.
 */
#include "unit.h"

#include "base/limits.h"
#include "base/os/file.h"
#include "usage/ledger/usage_ahead.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define AHEAD "usage.ahead"
#define BASE 100 /* bytes that are durable in the file itself */
#define PIECE 97
#define FRAMES 5

/* Of the two ways to write durably: which were gone, and what is refused. */
static struct {
	int refuse, fail; /* errno of the flag, and of all writes */
	unsigned flagged, synced;
} disk;

ssize_t pwritev2(int fd, const struct iovec *v, int n, off_t at, int flags)
{
	if (flags & RWF_DSYNC)
		disk.flagged++;
	if (disk.fail || (disk.refuse && (flags & RWF_DSYNC))) {
		errno = disk.fail ? disk.fail : disk.refuse;
		return -1;
	}
	return syscall(SYS_pwritev2, fd, v, n, (long)at, 0L, flags);
}

int fdatasync(int fd);
int fdatasync(int fd)
{
	disk.synced++;
	return (int)syscall(SYS_fdatasync, fd);
}

static struct usage_ahead ahead;
static char text[BASE + FRAMES * PIECE + 1]; /* no two places alike */

static int setup(void **state _unused_)
{
	memset(&disk, 0, sizeof(disk));
	file_remove_tree(scratch_dir());
	mkdir(scratch_dir(), 0700);
	usage_ahead_init(&ahead, scratch_path(AHEAD));
	usage_ahead_alloc(&ahead);
	for (size_t i = 0; i < sizeof(text) - 1; i++)
		text[i] = i % 10 ? (char)('a' + i / 10 % 26) : (char)('A' + i / 260);
	return 0;
}

static int teardown(void **state _unused_)
{
	usage_ahead_done(&ahead, false);
	return 0;
}

static int open_named(void *ctx _unused_, const char *name)
{
	int fd = open(scratch_path(name), O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static void restore(size_t restored, size_t unknown)
{
	struct usage_ahead_replay found;

	assert_int_equal(usage_ahead_restore(scratch_path(AHEAD), open_named, NULL, &found), 0);
	assert_int_equal(found.restored, restored);
	assert_int_equal(found.unknown, unknown);
}

static void put(const char *name, off_t from, off_t to)
{
	_cleanup_(closep) int fd = open(scratch_path(name), O_RDONLY | O_CLOEXEC);

	assert_int_equal(
		usage_ahead_put(&ahead, &(struct usage_ahead_piece){ name, fd, from, to }, 1), 0);
}

static void put_frames(const char *name, unsigned n)
{
	scratch_write(name, text, sizeof(text) - 1);
	for (unsigned i = 0; i < n; i++)
		put(name, BASE + i * PIECE, BASE + (i + 1) * PIECE);
}

static void check_file(const char *name, const void *p, size_t n)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	assert_int_equal(file_read(scratch_path(name), 1 << 20, &b), 0);
	assert_int_equal(b.len, n);
	assert_memory_equal(b.data, p, n);
}

static void read_ahead(struct buf *b)
{
	buf_reset(b);
	b->max = 2 * USAGE_AHEAD_BYTES;
	assert_int_equal(file_read(scratch_path(AHEAD), USAGE_AHEAD_BYTES + 1, b), 0);
}

/* --- the file --------------------------------------------------------------------------------------------- */

static void test_made_and_taken_up(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct stat sb, again;
	uint64_t salt;

	assert_int_equal(usage_ahead_prepare(&ahead), 0);
	salt = ahead.salt;
	assert_int_equal(stat(scratch_path(AHEAD), &sb), 0);
	assert_true(sb.st_size == (off_t)USAGE_AHEAD_BYTES && (sb.st_mode & 0777) == 0600);
	assert_true((uint64_t)sb.st_blocks * 512 >= USAGE_AHEAD_BYTES); /* no hole in it */
	read_ahead(&b);
	for (size_t i = 0; i < b.len; i++)
		assert_true(!b.data[i]);
	usage_ahead_done(&ahead, true);
	usage_ahead_init(&ahead, scratch_path(AHEAD));
	usage_ahead_alloc(&ahead);
	assert_int_equal(usage_ahead_prepare(&ahead), 0);
	assert_int_equal(stat(scratch_path(AHEAD), &again), 0);
	assert_true(again.st_ino == sb.st_ino && ahead.salt != salt);
	assert_int_equal(access(scratch_path(AHEAD ".tmp"), F_OK), -1);
}

/* One of another size, or with holes, is made anew. */
static void test_not_as_it_should_be(void **state _unused_)
{
	struct stat sb;

	scratch_write(AHEAD, "short", 5);
	assert_int_equal(usage_ahead_prepare(&ahead), 0);
	closep(&ahead.fd);
	unlink(scratch_path(AHEAD));
	scratch_write(AHEAD, "", 0);
	assert_int_equal(truncate(scratch_path(AHEAD), (off_t)USAGE_AHEAD_BYTES), 0);
	assert_int_equal(usage_ahead_prepare(&ahead), 0);
	assert_int_equal(stat(scratch_path(AHEAD), &sb), 0);
	assert_true((uint64_t)sb.st_blocks * 512 >= USAGE_AHEAD_BYTES);
}

/* What cannot be made leaves nothing behind. */
static void test_cannot_be_made(void **state _unused_)
{
	struct rlimit old, small;

	getrlimit(RLIMIT_FSIZE, &old);
	small = (struct rlimit){ USAGE_AHEAD_BYTES / 2, old.rlim_max };
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &small);
	assert_true(usage_ahead_prepare(&ahead) < 0);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_false(usage_ahead_ready(&ahead));
	assert_int_equal(access(scratch_path(AHEAD), F_OK), -1);
	assert_int_equal(access(scratch_path(AHEAD ".tmp"), F_OK), -1);
	mkdir(scratch_path(AHEAD), 0700);
	assert_true(usage_ahead_prepare(&ahead) < 0);
	assert_false(usage_ahead_ready(&ahead));
	restore(0, 0); /* nor is it looked for there */
	rmdir(scratch_path(AHEAD));
	assert_int_equal(symlink("elsewhere", scratch_path(AHEAD)), 0);
	restore(0, 0);
}

/* --- what comes back -------------------------------------------------------------------------------------- */

/* Whatever is left of the file beyond its durable part, with zeros behind it or without. */
static void test_every_end_of_the_file(void **state _unused_)
{
	_cleanup_(buf_done) struct buf frames = { 0 };
	size_t whole = sizeof(text) - 1;

	assert_int_equal(usage_ahead_prepare(&ahead), 0);
	put_frames("f", FRAMES);
	read_ahead(&frames);
	for (size_t kept = BASE; kept <= whole; kept += stride(7))
		for (size_t zeros = 0; zeros <= 5000; zeros += 2500) {
			_cleanup_(buf_done) struct buf b = { 0 };

			buf_add(&b, text, kept);
			for (size_t i = 0; i < zeros; i++)
				buf_putc(&b, '\0');
			scratch_write("f", b.data, b.len);
			scratch_write(AHEAD, frames.data, frames.len);
			restore(kept < whole, 0);
			if (kept < whole)
				check_file("f", text, whole);
			restore(0, 0); /* all of it is in its place */
		}
}

/* Of a frame that was not written whole nothing is taken, of those before it all. */
static void test_every_torn_frame(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	size_t at, end;

	assert_int_equal(usage_ahead_prepare(&ahead), 0);
	put_frames("f", FRAMES);
	read_ahead(&b);
	at = (FRAMES - 1) * USAGE_AHEAD_BLOCK;
	end = at + sizeof(struct usage_ahead_head) + sizeof(struct usage_ahead_entry) + 1 +
	      USAGE_AHEAD_CONTEXT + PIECE;
	for (size_t n = at; n < end; n += stride(3))
		for (int how = 0; how < 2; how++) {
			_cleanup_(buf_done) struct buf torn = { .max = 2 * USAGE_AHEAD_BYTES };

			buf_add(&torn, b.data, b.len);
			if (how) /* one byte is another */
				torn.data[n] ^= 0x40;
			else
				memset(torn.data + n, 0, end - n);
			if (memcmp(torn.data, b.data, b.len) == 0)
				continue;
			scratch_write(AHEAD, torn.data, torn.len);
			scratch_write("f", text, BASE);
			restore(1, 0);
			check_file("f", text, BASE + (FRAMES - 1) * PIECE);
		}
}

/* What stands there is more than the frames know, or something else. */
static void test_what_is_left_alone(void **state _unused_)
{
	static const struct {
		size_t kept, damaged; /* damaged: the byte there */
		size_t unknown;
	} rows[] = {
		{ BASE + PIECE + 20, SIZE_MAX, 0 },
		{ BASE + PIECE - 20, BASE - 1, 1 },  /* other bytes before the piece */
		{ BASE + PIECE - 20, BASE + 5, 1 },  /* and in it */
		{ BASE - 1, SIZE_MAX, 1 },	     /* a part of what was durable is gone */
		{ BASE + PIECE - 20, BASE - 65, 0 }, /* further before it nothing is known */
	};

	assert_int_equal(usage_ahead_prepare(&ahead), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char is[sizeof(text)];

		put_frames("f", 1);
		memcpy(is, text, sizeof(is));
		if (rows[i].damaged != SIZE_MAX)
			is[rows[i].damaged] = '#';
		scratch_write("f", is, rows[i].kept);
		restore(i == ARRAY_SIZE(rows) - 1, rows[i].unknown);
		if (i < ARRAY_SIZE(rows) - 1)
			check_file("f", is, rows[i].kept);
		usage_ahead_rewind(&ahead);
	}
}

static void test_several_files(void **state _unused_)
{
	_cleanup_(closep) int a = -1, b = -1;

	assert_int_equal(usage_ahead_prepare(&ahead), 0);
	scratch_write("a", text, sizeof(text) - 1);
	scratch_write("b", text, sizeof(text) - 1);
	scratch_write("gone", text, sizeof(text) - 1);
	a = open(scratch_path("a"), O_RDONLY | O_CLOEXEC);
	b = open(scratch_path("b"), O_RDONLY | O_CLOEXEC);
	assert_int_equal(usage_ahead_put(&ahead,
					 (struct usage_ahead_piece[]){ { "a", a, BASE, BASE + 10 },
								       { "gone", a, 1, 2 },
								       { "b", b, 50, 90 } },
					 3),
			 0);
	put("a", BASE + 10, BASE + 30);
	unlink(scratch_path("gone"));
	scratch_write("a", text, BASE);
	scratch_write("b", text, 60);
	restore(2, 0);
	check_file("a", text, BASE + 30);
	check_file("b", text, 90);
	assert_int_equal(access(scratch_path("gone"), F_OK), -1);
}

/* A daemon that was killed while it made the file has left a part of one. */
static void test_unfinished(void **state _unused_)
{
	scratch_write(AHEAD ".tmp", text, 50);
	restore(0, 0);
	assert_int_equal(access(scratch_path(AHEAD ".tmp"), F_OK), -1);
}

/* Without a free descriptor the file cannot be opened now. That is not as if it did not exist. */
static void test_not_opened(void **state _unused_)
{
	struct usage_ahead_replay found;
	struct rlimit old, none = { 0 };
	int r;

	assert_int_equal(usage_ahead_prepare(&ahead), 0);
	put_frames("f", FRAMES);
	scratch_write("f", text, BASE);
	getrlimit(RLIMIT_NOFILE, &old);
	none.rlim_max = old.rlim_max;
	setrlimit(RLIMIT_NOFILE, &none);
	r = usage_ahead_restore(scratch_path(AHEAD), open_named, NULL, &found);
	setrlimit(RLIMIT_NOFILE, &old);
	assert_int_equal(r, -EMFILE);
	restore(1, 0);
	check_file("f", text, sizeof(text) - 1);
}

/* Where the file cannot be written now, all is kept for another start. */
static void test_no_room_to_put_back(void **state _unused_)
{
	struct usage_ahead_replay found;
	struct rlimit old, small = { BASE + 20, 0 };

	assert_int_equal(usage_ahead_prepare(&ahead), 0);
	put_frames("f", FRAMES);
	scratch_write("f", text, BASE);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small.rlim_max = old.rlim_max;
	setrlimit(RLIMIT_FSIZE, &small);
	assert_true(usage_ahead_restore(scratch_path(AHEAD), open_named, NULL, &found) < 0);
	setrlimit(RLIMIT_FSIZE, &old);
	restore(1, 0);
	check_file("f", text, sizeof(text) - 1);
}

/* --- frames ----------------------------------------------------------------------------------------------- */

/* Full, and begun again from the front: what is left of the round before it is not taken. */
static void test_begun_again(void **state _unused_)
{
	size_t frames = 0;

	assert_int_equal(usage_ahead_prepare(&ahead), 0);
	scratch_write("f", text, sizeof(text) - 1);
	scratch_write("old", text, sizeof(text) - 1);
	for (; usage_ahead_fits(&ahead, PIECE); frames++)
		put("old", BASE, BASE + PIECE);
	assert_int_equal(frames, USAGE_AHEAD_BYTES / USAGE_AHEAD_BLOCK);
	scratch_write("old", text, BASE);
	usage_ahead_rewind(&ahead);
	restore(0, 0);
	put("f", BASE, BASE + PIECE);
	scratch_write("f", text, BASE);
	restore(1, 0);
	check_file("f", text, BASE + PIECE);
	check_file("old", text, BASE);
}

/* Nor is what an earlier life has left behind. */
static void test_of_another_life(void **state _unused_)
{
	assert_int_equal(usage_ahead_prepare(&ahead), 0);
	put_frames("old", 3);
	usage_ahead_done(&ahead, false);
	usage_ahead_init(&ahead, scratch_path(AHEAD));
	usage_ahead_alloc(&ahead);
	assert_int_equal(usage_ahead_prepare(&ahead), 0);
	put_frames("f", 1);
	scratch_write("f", text, BASE);
	scratch_write("old", text, BASE);
	restore(1, 0);
	check_file("f", text, BASE + PIECE);
	check_file("old", text, BASE);
}

static void test_what_fits(void **state _unused_)
{
	struct usage_ahead_piece p = { "f", -1, BASE, BASE + PIECE };
	char name[USAGE_AHEAD_NAME_MAX + 2];

	assert_int_equal(usage_ahead_prepare(&ahead), 0);
	assert_int_equal(usage_ahead_need(&p),
			 sizeof(struct usage_ahead_entry) + 1 + USAGE_AHEAD_CONTEXT + PIECE);
	p.from = 0; /* its name may not be durable */
	assert_int_equal(usage_ahead_need(&p), 0);
	p = (struct usage_ahead_piece){ "f", -1, 1, (off_t)USAGE_AHEAD_FRAME_MAX + 2 };
	assert_int_equal(usage_ahead_need(&p), 0);
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	p = (struct usage_ahead_piece){ name, -1, 1, 2 };
	assert_int_equal(usage_ahead_need(&p), 0);
	assert_false(usage_ahead_fits(&ahead, USAGE_AHEAD_FRAME_MAX));
	assert_true(
		usage_ahead_fits(&ahead, USAGE_AHEAD_FRAME_MAX - sizeof(struct usage_ahead_head)));
}

/* The largest frame, which is many blocks. */
static void test_largest_frame(void **state _unused_)
{
	size_t n = USAGE_AHEAD_FRAME_MAX - sizeof(struct usage_ahead_head) -
		   sizeof(struct usage_ahead_entry) - 1 - 10;
	_cleanup_(buf_done) struct buf b = { 0 };

	while (b.len < n + 10)
		buf_putc(&b, (char)('a' + b.len % 23));
	assert_int_equal(usage_ahead_prepare(&ahead), 0);
	scratch_write("f", b.data, b.len);
	put("f", 10, (off_t)b.len);
	scratch_write("f", b.data, 10);
	restore(1, 0);
	check_file("f", b.data, b.len);
}

/* --- file systems that cannot do it ----------------------------------------------------------------------- */

static void test_without_the_flag(void **state _unused_)
{
	static const int refusals[] = { EOPNOTSUPP, ENOSYS, EINVAL };

	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		teardown(NULL);
		setup(NULL);
		disk.refuse = refusals[i];
		assert_int_equal(usage_ahead_prepare(&ahead), 0);
		put_frames("f", FRAMES);
		assert_true(disk.flagged && disk.flagged <= 2); /* once more without O_DIRECT */
		assert_int_equal(disk.synced, FRAMES);
		scratch_write("f", text, BASE);
		restore(1, 0);
		check_file("f", text, sizeof(text) - 1);
	}
}

/* After a write that failed there is no other: what was put before stays. */
static void test_write_fails(void **state _unused_)
{
	_cleanup_(closep) int fd = -1;

	assert_int_equal(usage_ahead_prepare(&ahead), 0);
	put_frames("f", 2);
	fd = open(scratch_path("f"), O_RDONLY | O_CLOEXEC);
	disk.fail = EIO;
	assert_int_equal(
		usage_ahead_put(&ahead, &(struct usage_ahead_piece){ "f", fd, 300, 350 }, 1), -EIO);
	assert_false(usage_ahead_ready(&ahead));
	disk.fail = 0;
	usage_ahead_rewind(&ahead);
	scratch_write("f", text, BASE);
	restore(1, 0);
	check_file("f", text, BASE + 2 * PIECE);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_made_and_taken_up), T(test_not_as_it_should_be),
		T(test_cannot_be_made),	   T(test_every_end_of_the_file),
		T(test_every_torn_frame),  T(test_what_is_left_alone),
		T(test_several_files),	   T(test_unfinished),
		T(test_not_opened),	   T(test_no_room_to_put_back),
		T(test_begun_again),	   T(test_of_another_life),
		T(test_what_fits),	   T(test_largest_frame),
		T(test_without_the_flag),  T(test_write_fails),
	};

	return RUN(tests, scratch_setup_disk, scratch_done);
}
