/* Directories and files that root creates in a home whose user may already control parts of it. */
#include "unit.h"

#include "session/core/session_paths.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define AGENT 65534

static struct session_store store;
static struct session s;

/* Only root can create files for another user. */
static int setup(void **state)
{
	if (scratch_setup(state) < 0)
		return -1;
	s = (struct session){ .store = &store, .home = xstrdup(scratch_path("home")) };
	s.user = (struct agent_user){ .switched = geteuid() == 0, .uid = AGENT, .gid = AGENT };
	return mkdir(s.home, 0700);
}

static int teardown(void **state)
{
	free(TAKE_PTR(s.home));
	return scratch_done(state);
}

static void give(const char *name)
{
	if (s.user.switched)
		assert_return_code(lchown(scratch_path(name), AGENT, AGENT), errno);
}

static void assert_for_agent(const char *name, mode_t mode)
{
	struct stat sb;

	assert_return_code(lstat(scratch_path(name), &sb), errno);
	assert_int_equal(sb.st_mode, mode);
	assert_int_equal(sb.st_uid, s.user.switched ? AGENT : geteuid());
}

static void assert_untouched(const char *name)
{
	struct stat sb;

	assert_return_code(lstat(scratch_path(name), &sb), errno);
	assert_int_equal(sb.st_uid, geteuid());
	assert_int_equal(rmdir(scratch_path(name)), 0); /* nothing was created in it */
}

static int fill(void)
{
	_cleanup_(harness_plan_done) struct harness_plan plan = { 0 };
	struct err e = { 0 };

	harness_plan_file(&plan, "top.json", "{}");
	harness_plan_file(&plan, "a/b/file.json", "{}");
	harness_plan_file(&plan, "a/dir", NULL);
	harness_plan_program(&plan, "a/program", "text");
	return paths_fill_home(&s, &plan, &e);
}

static void a_new_home_is_filled_for_its_user(void **state _unused_)
{
	assert_int_equal(fill(), 0);
	assert_true(s.harness.home_filled);
	assert_for_agent("home", S_IFDIR | 0700);
	assert_for_agent("home/tmp", S_IFDIR | 0700);
	assert_for_agent("home/top.json", S_IFREG | 0600);
	assert_for_agent("home/a", S_IFDIR | 0700);
	assert_for_agent("home/a/b", S_IFDIR | 0700);
	assert_for_agent("home/a/b/file.json", S_IFREG | 0600);
	assert_for_agent("home/a/dir", S_IFDIR | 0700);
	assert_for_agent("home/a/program", S_IFREG | 0600);
}

/* Another session of that uid can reach a directory that was handed over earlier. */
static void a_planted_link_is_not_followed(void **state _unused_)
{
	assert_return_code(mkdir(scratch_path("victim"), 0700), errno);
	assert_return_code(mkdir(scratch_path("home/a"), 0700), errno);
	give("home/a");
	assert_return_code(symlink(scratch_path("victim"), scratch_path("home/a/b")), errno);
	assert_int_equal(fill(), 0);
	assert_untouched("victim");
	assert_for_agent("home/a/b/file.json", S_IFREG | 0600);
}

static void a_directory_is_not_made_behind_a_planted_link(void **state _unused_)
{
	struct err e = { 0 };

	assert_return_code(mkdir(scratch_path("victim"), 0700), errno);
	assert_return_code(mkdir(scratch_path("home/a"), 0700), errno);
	give("home/a");
	assert_return_code(symlink(scratch_path("victim"), scratch_path("home/a/b")), errno);
	assert_int_equal(paths_make_dir(&s, "a/b/skills", &e), 0);
	assert_untouched("victim");
	assert_for_agent("home/a/b/skills", S_IFDIR | 0700);
}

/* An attempt that failed later has handed the home over already. */
static void a_home_of_its_user_is_filled_again(void **state _unused_)
{
	struct err e = { 0 };

	assert_int_equal(fill(), 0);
	s.harness.home_filled = false;
	assert_int_equal(paths_make_dir(&s, "c/d", &e), 0);
	assert_for_agent("home/c/d", S_IFDIR | 0700);
	assert_int_equal(rmdir(scratch_path("home/tmp")), 0);
	assert_int_equal(fill(), 0);
	assert_for_agent("home/tmp", S_IFDIR | 0700);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_new_home_is_filled_for_its_user),
		T(a_planted_link_is_not_followed),
		T(a_directory_is_not_made_behind_a_planted_link),
		T(a_home_of_its_user_is_filled_again),
	};

	return RUN(tests, NULL, NULL);
}
