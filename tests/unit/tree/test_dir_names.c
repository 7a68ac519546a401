/* The names in a directory: sorted by bytes, without "." and "..", only what is wanted, and what was read before an end. */
#include "unit.h"

#include "base/util.h"
#include "tree/dir_names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

struct choice {
	const char *without;
	int left, end; /* after so many names: reading ends */
};

static int want(void *ctx, const char *name)
{
	struct choice *c = ctx;

	if (c->left-- == 0)
		return c->end;
	return !c->without || strcmp(name, c->without) != 0;
}

static void make(const char *name)
{
	assert_int_equal(mkdir(scratch_path(name), 0700), 0);
}

static int open_scratch(const char *name)
{
	int fd = open(scratch_path(name), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void test_order(void **state _unused_)
{
	static const char *const wanted[] = { "-",   ".hidden", "A",	    "a",
					      "a.b", "a0",	"\xc3\xa9", "\xff" };
	_cleanup_(dir_names_done) struct dir_names names = { 0 };
	struct choice all = { "left-out", -1, 0 };
	_cleanup_(closep) int dir = -1;

	make("d");
	for (size_t i = ARRAY_SIZE(wanted); i-- > 0;) {
		char path[64];

		snprintf(path, sizeof(path), "d/%s", wanted[i]);
		scratch_write(path, "", 0);
	}
	scratch_write("d/left-out", "", 0);
	dir = open_scratch("d");
	assert_int_equal(dir_names_read(dir, want, &all, &names), 0);
	assert_int_equal(names.n, ARRAY_SIZE(wanted));
	for (size_t i = 0; i < names.n; i++)
		assert_string_equal(dir_names_at(&names, i), wanted[i]);
}

/* As often as one likes: nobody's offset moves. And many names, far beyond the first allocation. */
static void test_again(void **state _unused_)
{
	_cleanup_(closep) int dir = -1;

	make("many");
	for (int i = 0; i < 1000; i++) {
		char path[64];

		snprintf(path, sizeof(path), "many/%03d", (i * 7) % 1000);
		scratch_write(path, "", 0);
	}
	dir = open_scratch("many");
	for (int k = 0; k < 2; k++) {
		_cleanup_(dir_names_done) struct dir_names names = { 0 };
		struct choice all = { NULL, -1, 0 };

		assert_int_equal(dir_names_read(dir, want, &all, &names), 0);
		assert_int_equal(names.n, 1000);
		for (size_t i = 0; i < names.n; i++)
			assert_int_equal(atoi(dir_names_at(&names, i)), i);
	}
}

static void test_ends(void **state _unused_)
{
	_cleanup_(dir_names_done) struct dir_names some = { 0 }, full = { .text.max = 8 };
	_cleanup_(dir_names_done) struct dir_names none = { 0 };
	struct choice five = { NULL, 5, -E2BIG }, all = { NULL, -1, 0 };
	_cleanup_(closep) int dir = -1;

	make("ends");
	for (int i = 0; i < 9; i++) {
		char path[64];

		snprintf(path, sizeof(path), "ends/%d", 9 - i);
		scratch_write(path, "", 0);
	}
	dir = open_scratch("ends");
	assert_int_equal(dir_names_read(dir, want, &five, &some), -E2BIG);
	assert_int_equal(some.n, 5);
	for (size_t i = 1; i < some.n; i++)
		assert_true(strcmp(dir_names_at(&some, i - 1), dir_names_at(&some, i)) < 0);
	assert_int_equal(dir_names_read(dir, want, &all, &full), -E2BIG);
	assert_int_equal(full.n, 4);
	assert_int_equal(dir_names_read(-1, want, &all, &none), -EBADF);
	assert_int_equal(none.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_order, scratch_setup, scratch_done),
		cmocka_unit_test_setup_teardown(test_again, scratch_setup, scratch_done),
		cmocka_unit_test_setup_teardown(test_ends, scratch_setup, scratch_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
