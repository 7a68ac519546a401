/* File helpers: what they read, replace, make and remove, and what they refuse to follow. */
#include "unit.h"

#include "base/os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

static bool exists(const char *name)
{
	return access(scratch_path(name), F_OK) == 0;
}

static void test_read(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	char big[10000];

	memset(big, 'x', sizeof(big));
	scratch_write("big", big, sizeof(big));
	scratch_write("empty", "", 0);
	assert_int_equal(file_read(scratch_path("big"), sizeof(big), &b), 0);
	assert_int_equal(buf_len(&b), sizeof(big));
	buf_reset(&b);
	assert_int_equal(file_read(scratch_path("big"), sizeof(big) - 1, &b), -E2BIG);
	buf_reset(&b);
	buf_puts(&b, "kept");
	assert_int_equal(file_read(scratch_path("empty"), 0, &b), 0);
	assert_buf(&b, "kept");
	assert_int_equal(file_read(scratch_path("missing"), 10, &b), -ENOENT);
	assert_int_equal(file_read(scratch_dir(), 10, &b), -EISDIR);
}

/* The bound counts what this call added, not what stood in the buffer before. */
static void test_read_appends(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	scratch_write("five", "12345", 5);
	buf_puts(&b, "abcdefghij");
	assert_int_equal(file_read(scratch_path("five"), 5, &b), 0);
	assert_buf(&b, "abcdefghij12345");
}

static void test_write_all(void **state _unused_)
{
	static char data[300000];
	size_t got = 0;
	char part[4096];
	int fds[2], status;
	ssize_t n;
	pid_t pid;

	memset(data, 'p', sizeof(data));
	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		close(fds[0]);
		_exit(file_write_all(fds[1], data, sizeof(data)) == 0 ? 0 : 1);
	}
	close(fds[1]);
	while ((n = read(fds[0], part, sizeof(part))) > 0)
		got += (size_t)n;
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(got, sizeof(data));
	assert_int_equal(file_write_all(-1, "x", 1), -EBADF);
	assert_int_equal(file_write_all(-1, "x", 0), 0);
}

static void test_replace(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct stat st;

	assert_int_equal(file_replace(scratch_path("r"), "one", 3, 0600), 0);
	assert_int_equal(file_replace(scratch_path("r"), "second", 6, 0640), 0);
	file_read(scratch_path("r"), 100, &b);
	assert_buf(&b, "second");
	assert_int_equal(stat(scratch_path("r"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640 & ~umask(umask(0)));
	assert_false(exists("r.tmp"));
	assert_int_equal(file_replace(scratch_path("no/such/dir"), "x", 1, 0600), -ENOENT);
}

/* Whoever may write the directory must not make us write elsewhere. */
static void test_replace_follows_no_link(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	scratch_write("victim", "untouched", 9);
	assert_int_equal(symlink(scratch_path("victim"), scratch_path("l.tmp")), 0);
	assert_int_equal(file_replace(scratch_path("l"), "evil", 4, 0600), -ELOOP);
	assert_int_equal(symlink(scratch_path("victim"), scratch_path("direct")), 0);
	assert_int_equal(file_replace(scratch_path("direct"), "new", 3, 0600), 0);
	file_read(scratch_path("victim"), 100, &b);
	assert_buf(&b, "untouched");
}

static void test_mkdirs(void **state _unused_)
{
	struct stat st;

	assert_int_equal(file_mkdirs(scratch_path("a/b/c"), 0700), 0);
	assert_int_equal(stat(scratch_path("a/b/c"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	chmod(scratch_path("a/b"), 0711);
	assert_int_equal(file_mkdirs(scratch_path("a/b/c/"), 0700), 0);
	assert_int_equal(file_mkdirs(scratch_path("a//b/d"), 0700), 0);
	stat(scratch_path("a/b"), &st);
	assert_int_equal(st.st_mode & 0777, 0711);
	scratch_write("plain", "", 0);
	assert_int_equal(file_mkdirs(scratch_path("plain/x"), 0700), -ENOTDIR);
}

static void test_mkdirs_of_nothing(void **state _unused_)
{
	_cleanup_(freep) char *empty = calloc(1, 1);

	assert_int_equal(file_mkdirs(empty, 0700), -ENOENT);
}

static void test_remove_tree(void **state _unused_)
{
	file_mkdirs(scratch_path("t/u/v/w"), 0700);
	file_mkdirs(scratch_path("outside"), 0700);
	scratch_write("t/u/file", "x", 1);
	scratch_write("outside/file", "x", 1);
	assert_int_equal(symlink(scratch_path("outside"), scratch_path("t/u/link")), 0);
	assert_int_equal(symlink("nowhere", scratch_path("t/dangling")), 0);
	assert_int_equal(file_remove_tree(scratch_path("t")), 0);
	assert_false(exists("t"));
	assert_true(exists("outside/file"));
	assert_int_equal(file_remove_tree(scratch_path("t")), 0);
}

static void test_remove_tree_through_link(void **state _unused_)
{
	file_mkdirs(scratch_path("real"), 0700);
	scratch_write("real/file", "x", 1);
	assert_int_equal(symlink(scratch_path("real"), scratch_path("alias")), 0);
	assert_true(file_remove_tree(scratch_path("alias")) < 0);
	assert_true(exists("real/file"));
}

static void test_join(void **state _unused_)
{
	_cleanup_(freep) char *p = file_join("/a/b", "c");

	assert_string_equal(p, "/a/b/c");
}

/* What is synced is the directory that the path names a member of, there or not. */
static void test_sync_name(void **state _unused_)
{
	assert_int_equal(file_sync_name(scratch_path("none")), 0);
	assert_int_equal(file_sync_name("/none"), 0);
	assert_int_equal(file_sync_name("none"), 0);
	assert_int_equal(file_sync_name(scratch_path("missing/none")), -ENOENT);
	scratch_write("plain", "x", 1);
	assert_int_equal(file_sync_name(scratch_path("plain/none")), -ENOTDIR);
}

static void test_random_hex(void **state _unused_)
{
	char a[129], b[129];

	random_hex(a, 64);
	random_hex(b, 64);
	assert_int_equal(strlen(a), 128);
	assert_int_equal(strspn(a, "0123456789abcdef"), 128);
	assert_string_not_equal(a, b);
	random_hex(a, 0);
	assert_string_equal(a, "");
}

/* Closed by hand before its scope ends, a descriptor is closed once: its number may be somebody else's by then. */
static void test_closep(void **state _unused_)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), number = fd, other;

	assert_true(fd >= 0);
	closep(&fd);
	assert_int_equal(fd, -1);
	other = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(other, number);
	closep(&fd);
	assert_true(fcntl(other, F_GETFD) >= 0);
	close(other);
}

/* Who gets the descriptor reads the contents and cannot change them, not even through /proc. */
static void test_sealed(void **state _unused_)
{
	char text[8] = "", path[40];
	int fd = file_sealed("unit", SLICE("policy")), again;

	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(read(fd, text, sizeof(text)), 6);
	assert_string_equal(text, "policy");
	assert_int_equal(pwrite(fd, "X", 1, 0), -1);
	assert_int_equal(ftruncate(fd, 0), -1);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(pwrite(again, "X", 1, 0), -1);
	assert_int_equal(pwrite(again, "X", 1, 6), -1);
	close(again);
	close(fd);
}

static void the_beginning_of_a_file_of_a_process_is_read(void **state _unused_)
{
	char text[8], want[16];

	assert_int_equal(file_of_process(getpid(), "stat", text, sizeof(text)), sizeof(text) - 1);
	snprintf(want, sizeof(want), "%d", getpid());
	assert_memory_equal(text, want, MIN(strlen(want), strlen(text)));
	assert_int_equal(file_of_process(getpid(), "no such file", text, sizeof(text)), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_read_appends),
		cmocka_unit_test(test_write_all),
		cmocka_unit_test(test_replace),
		cmocka_unit_test(test_replace_follows_no_link),
		cmocka_unit_test(test_mkdirs),
		cmocka_unit_test(test_mkdirs_of_nothing),
		cmocka_unit_test(test_remove_tree),
		cmocka_unit_test(test_remove_tree_through_link),
		cmocka_unit_test(test_join),
		cmocka_unit_test(test_sync_name),
		cmocka_unit_test(test_random_hex),
		cmocka_unit_test(test_closep),
		cmocka_unit_test(test_sealed),
		cmocka_unit_test(the_beginning_of_a_file_of_a_process_is_read),
	};

	return RUN(tests, scratch_setup, scratch_done);
}
