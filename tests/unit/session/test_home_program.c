/* A program of ours in a home where its owner may have put anything else. */
#include "unit.h"

#include "base/os/file.h"
#include "session/core/home_program.h"

#include <fcntl.h>
#include <sys/stat.h>

#define NAME "dir/below/program.mjs"
#define TEXT "the text of today\n"

static int home = -1;

static int setup(void **state)
{
	int r = scratch_setup(state);

	home = open(scratch_dir(), O_PATH | O_DIRECTORY | O_CLOEXEC);
	return r < 0 || home < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	closep(&home);
	home = -1;
	return scratch_done(state);
}

static void assert_file(int dir, const char *name, const char *text)
{
	_cleanup_(closep) int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_(buf_done) struct buf b = { 0 };
	struct stat st;

	assert_true(fd >= 0);
	assert_return_code(fstat(fd, &st), errno);
	assert_true(S_ISREG(st.st_mode));
	assert_return_code(file_read_fd(fd, 1000, &b), errno);
	assert_buf(&b, text);
}

static void keep(void)
{
	assert_int_equal(home_program_keep(home, NAME, TEXT), 0);
	assert_file(home, NAME, TEXT);
}

static ino_t inode(void)
{
	struct stat st;

	assert_return_code(fstatat(home, NAME, &st, AT_SYMLINK_NOFOLLOW), errno);
	return st.st_ino;
}

static void what_is_the_same_is_left_alone(void **state _unused_)
{
	ino_t first;

	keep();
	first = inode();
	keep();
	assert_true(inode() == first);
}

static void another_text_is_replaced(void **state _unused_)
{
	keep();
	scratch_write(NAME, "another text in it", sizeof(TEXT) - 1);
	keep();
	scratch_write(NAME, "shorter", 7);
	keep();
}

static void a_link_is_taken_away_and_not_followed(void **state _unused_)
{
	keep();
	scratch_write("victim", "kept", 4);
	assert_return_code(unlinkat(home, NAME, 0), errno);
	assert_return_code(symlinkat("../../victim", home, NAME), errno);
	keep();
	assert_file(home, "victim", "kept");
	/* one to the very text is a link all the same */
	scratch_write("victim", TEXT, sizeof(TEXT) - 1);
	assert_return_code(unlinkat(home, NAME, 0), errno);
	assert_return_code(symlinkat("../../victim", home, NAME), errno);
	keep();
}

static void a_directory_on_the_way_that_is_a_link_becomes_one(void **state _unused_)
{
	assert_return_code(mkdirat(home, "elsewhere", 0700), errno);
	assert_return_code(mkdirat(home, "elsewhere/below", 0700), errno);
	assert_return_code(symlinkat("elsewhere", home, "dir"), errno);
	keep();
	assert_int_equal(faccessat(home, "elsewhere/below/program.mjs", F_OK, 0), -1);
	assert_file(home, NAME, TEXT);
}

static void a_file_on_the_way_goes(void **state _unused_)
{
	scratch_write("dir", "x", 1);
	keep();
}

static void a_pipe_is_not_waited_for(void **state _unused_)
{
	keep();
	assert_return_code(unlinkat(home, NAME, 0), errno);
	assert_return_code(mkfifoat(home, NAME, 0600), errno);
	keep();
}

/* Nothing that could be taken away is in a directory, and the next start says so as well. */
static void a_directory_in_its_place_is_told(void **state _unused_)
{
	keep();
	assert_return_code(unlinkat(home, NAME, 0), errno);
	assert_return_code(mkdirat(home, NAME, 0700), errno);
	assert_int_equal(home_program_keep(home, NAME, TEXT), -EISDIR);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(what_is_the_same_is_left_alone),
		T(another_text_is_replaced),
		T(a_link_is_taken_away_and_not_followed),
		T(a_directory_on_the_way_that_is_a_link_becomes_one),
		T(a_file_on_the_way_goes),
		T(a_pipe_is_not_waited_for),
		T(a_directory_in_its_place_is_told),
	};

	return RUN(tests, NULL, NULL);
}
