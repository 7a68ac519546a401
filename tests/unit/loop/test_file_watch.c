/* What file_watch tells of a file: that it appears, is replaced, comes with its directory, and no more than that. */
#include "unit.h"

#include "base/clock.h"
#include "base/os/file.h"
#include "loop/file_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#define QUIET_MS 100 /* nothing is told any more */
#define BURST 8000   /* more than the kernel keeps events for */

static struct loop *l;
static struct file_watch *watch;
static char dir[] = "/tmp/acpd-watch-XXXXXX", path[64];
static unsigned told;

static void on_told(void *ctx _unused_)
{
	told++;
}

static int setup(void **state _unused_)
{
	memcpy(strrchr(dir, '-'), "-XXXXXX", 8);
	l = loop_new();
	told = 0;
	return l && mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state _unused_)
{
	watch = file_watch_free(watch);
	l = loop_free(l);
	file_remove_tree(dir);
	return 0;
}

static const char *at(const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void watch_file(const char *name)
{
	watch = file_watch_new(l, at(name), on_told, NULL);
	assert_non_null(watch);
}

/* How often it was told since the last time, once that is over. */
static unsigned times(void)
{
	struct pollfd p = { loop_fd(l), POLLIN, 0 };
	unsigned n;

	while (poll(&p, 1, QUIET_MS) > 0)
		loop_dispatch(l);
	n = told;
	told = 0;
	return n;
}

static void put(const char *name)
{
	int fd = open(at(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, "x", 1), 1);
	close(fd);
}

static void put_by_rename(const char *name)
{
	char from[sizeof(path)];

	put("new");
	memcpy(from, path, sizeof(path));
	assert_int_equal(rename(from, at(name)), 0);
}

static void test_a_file_appears_and_changes(void **state _unused_)
{
	watch_file("id");
	assert_int_equal(times(), 0);
	put("id");
	assert_int_equal(times(), 1);
	put("id");
	assert_int_equal(times(), 1);
	assert_int_equal(chmod(at("id"), 0644), 0);
	assert_int_equal(times(), 1);
}

static void test_others_are_not_told_of(void **state _unused_)
{
	watch_file("id");
	put("id2");
	put("i");
	assert_int_equal(mkdir(at("d"), 0700), 0);
	put("d/id");
	assert_int_equal(times(), 0);
}

/* The watch is on the directory: it does not stay with the file that was replaced. */
static void test_a_file_is_replaced(void **state _unused_)
{
	put("id");
	watch_file("id");
	for (int i = 0; i < 3; i++) {
		put_by_rename("id");
		assert_int_equal(times(), 1);
	}
}

static void test_a_file_is_removed_and_comes_again(void **state _unused_)
{
	put("id");
	watch_file("id");
	assert_int_equal(unlink(at("id")), 0);
	times(); /* other rights: no name leads to it */
	put("id");
	assert_int_equal(times(), 1);
}

static void test_its_directories_are_made_later(void **state _unused_)
{
	watch_file("a/b/id");
	assert_int_equal(mkdir(at("a"), 0700), 0);
	assert_int_equal(mkdir(at("a/c"), 0700), 0);
	assert_int_equal(times(), 0);
	assert_int_equal(mkdir(at("a/b"), 0700), 0);
	put("a/b/id");
	assert_true(times() > 0);
	put("a/b/id");
	assert_int_equal(times(), 1);
}

static void test_its_directory_goes_and_comes(void **state _unused_)
{
	assert_int_equal(mkdir(at("a"), 0700), 0);
	watch_file("a/id");
	assert_int_equal(rmdir(at("a")), 0);
	times();
	assert_int_equal(mkdir(at("a"), 0700), 0);
	times();
	put("a/id");
	assert_int_equal(times(), 1);
}

/* Another directory is put in its place, with the file in it already. */
static void test_its_directory_is_replaced(void **state _unused_)
{
	char from[sizeof(path)], to[sizeof(path)];

	assert_int_equal(mkdir(at("a"), 0700), 0);
	assert_int_equal(mkdir(at("b"), 0700), 0);
	watch_file("a/id");
	memcpy(from, at("a"), sizeof(path));
	memcpy(to, at("old"), sizeof(path));
	assert_int_equal(rename(from, to), 0);
	times();
	put("b/id");
	memcpy(from, at("b"), sizeof(path));
	assert_int_equal(rename(from, at("a")), 0);
	times();
	put("a/id");
	assert_int_equal(times(), 1);
}

/* What came together is told once, and the last of it is not lost. */
static void test_a_burst(void **state _unused_)
{
	unsigned n;

	watch_file("id");
	for (int i = 0; i < BURST; i++)
		put_by_rename("id");
	n = times();
	assert_in_range(n, 1, 2);
	put("id");
	assert_int_equal(times(), 1);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_a_file_appears_and_changes),
		T(test_others_are_not_told_of),
		T(test_a_file_is_replaced),
		T(test_a_file_is_removed_and_comes_again),
		T(test_its_directories_are_made_later),
		T(test_its_directory_goes_and_comes),
		T(test_its_directory_is_replaced),
		T(test_a_burst),
	};

	return RUN(tests, NULL, NULL);
}
