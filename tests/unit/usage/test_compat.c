/* The usage file for Agenta's runner: whole, of this turn only, private, and no way out of the session user's rights. */
#include "unit.h"

#include "base/os/file.h"
#include "usage/compat.h"
#include "usage/cost.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/fsuid.h>
#include <sys/stat.h>

#define NAME "view/deep/.agenta-usage.json"
#define OTHER 65534 /* nobody */

static const struct usage_compat_owner self;

static int setup(void **state _unused_)
{
	file_remove_tree(scratch_path("view"));
	file_remove_tree(scratch_path("private"));
	return 0;
}

static void check_file(const char *name, const char *want)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	assert_int_equal(file_read(scratch_path(name), 4096, &b), 0);
	assert_buf(&b, want);
}

static bool exists(const char *name)
{
	struct stat sb;

	return lstat(scratch_path(name), &sb) == 0;
}

static void test_what_is_written(void **state _unused_)
{
	static const struct {
		struct usage_compat u;
		const char *want; /* NULL: no file */
	} rows[] = {
		{ { .has_input = true,
		    .input = 1200,
		    .has_output = true,
		    .output = 340,
		    .has_total = true,
		    .total = 1540,
		    .has_cost = true,
		    .cost = 12300000000 },
		  "{\"input\":1200,\"output\":340,\"total\":1540,\"cost\":0.0123}" },
		{ { .has_input = true, .input = 2, .has_output = true, .output = 3 },
		  "{\"input\":2,\"output\":3,\"total\":5}" },
		{ { .has_total = true, .total = 7 }, "{\"total\":7}" },
		{ { .has_output = true, .output = 3, .has_total = true, .total = 9 },
		  "{\"output\":3,\"total\":9}" },
		{ { .has_input = true, .input = 1, .has_output = true, .output = 0 },
		  "{\"input\":1,\"output\":0,\"total\":1}" },
		{ { .has_input = true, .input = 5, .has_total = true, .total = 5, .has_cost = true },
		  "{\"input\":5,\"total\":5,\"cost\":0}" },
		{ { .has_input = true, .input = 5 }, NULL },
		{ { .has_output = true, .output = 5, .has_cost = true, .cost = 1 }, NULL },
		{ { .has_input = true, .has_output = true }, NULL },
		{ { .has_total = true, .has_input = true, .input = 3 }, NULL },
		{ { .has_input = true, .input = UINT64_MAX, .has_output = true, .output = 1 },
		  NULL },
		{ { .has_cost = true, .cost = 1 }, NULL },
		{ { .input = 0 }, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		/* an earlier turn's file never outlives a later turn's end */
		file_mkdirs(scratch_path("view/deep"), 0700);
		scratch_write(NAME, "old", 3);
		assert_int_equal(usage_compat_write(scratch_path(NAME), &rows[i].u), 0);
		if (rows[i].want)
			check_file(NAME, rows[i].want);
		else if (exists(NAME))
			fail_row(i, "a file is there");
		assert_false(exists("view/deep/.acpd-usage.tmp"));
	}
}

static void test_cost_text(void **state _unused_)
{
	static const struct {
		int64_t cost;
		const char *want;
	} rows[] = {
		{ 0, "0" },
		{ 1, "0.000000000001" },
		{ 1000000000000, "1" },
		{ 12300000000, "0.0123" },
		{ 10000000000000, "10" },
		{ 100500000000000, "100.5" },
		{ INT64_MAX, "9223372.036854775807" },
		{ -1500000000000, "-1.5" },
		{ INT64_MIN, "-9223372.036854775808" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[COST_TEXT_SIZE];

		assert_text(slice_of(cost_text(rows[i].cost, text)), rows[i].want);
	}
}

static const struct usage_compat some = { .has_total = true, .total = 7 };

static void test_modes(void **state _unused_)
{
	struct usage_compat u = some;
	struct stat sb;
	mode_t old = umask(077);

	assert_int_equal(usage_compat_write(scratch_path(NAME), &u), 0);
	stat(scratch_path(NAME), &sb);
	assert_int_equal(sb.st_mode & 07777, 0600);
	stat(scratch_path("view/deep"), &sb);
	assert_int_equal(sb.st_mode & 07777, 0700);
	setup(NULL);
	umask(0);
	u.owner.mode = 0644;
	assert_int_equal(usage_compat_write(scratch_path(NAME), &u), 0);
	stat(scratch_path(NAME), &sb);
	assert_int_equal(sb.st_mode & 07777, 0644);
	stat(scratch_path("view/deep"), &sb);
	assert_int_equal(sb.st_mode & 07777, 0755);
	umask(old);
}

static void test_remove(void **state _unused_)
{
	assert_int_equal(usage_compat_remove(scratch_path(NAME), &self), 0);
	assert_false(exists("view")); /* removing makes nothing */
	assert_int_equal(usage_compat_write(scratch_path(NAME), &some), 0);
	assert_true(exists(NAME));
	assert_int_equal(usage_compat_remove(scratch_path(NAME), &self), 0);
	assert_false(exists(NAME));
	assert_int_equal(usage_compat_remove(scratch_path(NAME), &self), 0);
	scratch_write("view/file", "x", 1);
	assert_int_equal(usage_compat_remove(scratch_path("view/file/below"), &self), 0);
}

static void test_bad_paths(void **state _unused_)
{
	static const char *const paths[] = {
		"", "relative", "relative/x", "/", "/tmp/", "/tmp/.", "/tmp/..", "./x",
	};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		if (usage_compat_write(paths[i], &some) != -EINVAL ||
		    usage_compat_remove(paths[i], &self) != -EINVAL)
			fail_row(i, paths[i]);
	}
	scratch_write("file", "x", 1);
	assert_int_equal(usage_compat_write(scratch_path("file/x/y"), &some), -ENOTDIR);
	assert_int_equal(usage_compat_write(scratch_path("file/x"), &some), -ENOTDIR);
	check_file("file", "x");
}

/* What stands at the last name is replaced, not followed; neither is what stands at the temporary one. */
static void test_links_are_not_followed(void **state _unused_)
{
	struct stat sb;

	file_mkdirs(scratch_path("view/deep"), 0700);
	scratch_write("victim", "mine", 4);
	assert_int_equal(symlink(scratch_path("victim"), scratch_path(NAME)), 0);
	assert_int_equal(symlink(scratch_path("victim"), scratch_path("view/deep/.acpd-usage.tmp")),
			 0);
	assert_int_equal(usage_compat_write(scratch_path(NAME), &some), 0);
	check_file("victim", "mine");
	lstat(scratch_path(NAME), &sb);
	assert_true(S_ISREG(sb.st_mode));
	check_file(NAME, "{\"total\":7}");
	unlink(scratch_path(NAME));
	assert_int_equal(symlink(scratch_path("victim"), scratch_path(NAME)), 0);
	assert_int_equal(usage_compat_remove(scratch_path(NAME), &self), 0);
	check_file("victim", "mine");
	assert_false(exists(NAME));
	mkdir(scratch_path(NAME), 0700);
	assert_true(usage_compat_write(scratch_path(NAME), &some) < 0);
	assert_false(exists("view/deep/.acpd-usage.tmp"));
}

/* As root for another user: that user's file, in that user's directories, and nowhere that user may not write. */
static void test_another_user(void **state _unused_)
{
	struct usage_compat u = some;
	struct stat sb;

	if (geteuid() != 0)
		skip();
	u.owner = (struct usage_compat_owner){ true, OTHER, OTHER, 0 };
	chmod(scratch_dir(), 0755);
	mkdir(scratch_path("private"), 0755);
	scratch_write("private/file", "mine", 4);
	assert_int_equal(usage_compat_write(scratch_path("private/file"), &u), -EACCES);
	assert_int_equal(usage_compat_write(scratch_path("private/new/file"), &u), -EACCES);
	assert_int_equal(usage_compat_remove(scratch_path("private/file"), &u.owner), -EACCES);
	mkdir(scratch_path("view"), 0700);
	assert_int_equal(chown(scratch_path("view"), OTHER, OTHER), 0);
	assert_int_equal(usage_compat_write(scratch_path(NAME), &u), 0);
	stat(scratch_path(NAME), &sb);
	assert_true(sb.st_uid == OTHER && sb.st_gid == OTHER && (sb.st_mode & 07777) == 0600);
	stat(scratch_path("view/deep"), &sb);
	assert_true(sb.st_uid == OTHER && sb.st_gid == OTHER);
	/* a link out of its directory gives the user nothing */
	assert_int_equal(symlink(scratch_path("private"), scratch_path("view/out")), 0);
	assert_int_equal(usage_compat_write(scratch_path("view/out/file"), &u), -EACCES);
	assert_int_equal(usage_compat_remove(scratch_path("view/out/file"), &u.owner), -EACCES);
	check_file("private/file", "mine");
	/* and we are ourselves again */
	assert_int_equal(setfsuid((uid_t)-1), 0);
	assert_int_equal(setfsgid((gid_t)-1), 0);
}

/* What root's supplementary groups can write is out of reach too. */
static void test_groups_of_root(void **state _unused_)
{
	gid_t had[64], group = 61777, now = 0;
	struct usage_compat u = some;
	int n = getgroups(ARRAY_SIZE(had), had);

	if (geteuid() != 0)
		skip();
	u.owner = (struct usage_compat_owner){ true, OTHER, OTHER, 0 };
	chmod(scratch_dir(), 0755);
	mkdir(scratch_path("private"), 0700);
	scratch_write("private/file", "mine", 4);
	assert_int_equal(chown(scratch_path("private"), 0, group), 0);
	assert_int_equal(chmod(scratch_path("private"), 0775), 0);
	assert_int_equal(setgroups(1, &group), 0);
	assert_int_equal(usage_compat_write(scratch_path("private/file"), &u), -EACCES);
	assert_int_equal(usage_compat_remove(scratch_path("private/file"), &u.owner), -EACCES);
	check_file("private/file", "mine");
	assert_int_equal(getgroups(1, &now), 1);
	assert_int_equal(now, group);
	assert_int_equal(setgroups((size_t)n, had), 0);
}

#define T(fn) cmocka_unit_test_setup(fn, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_what_is_written), T(test_cost_text),	 T(test_modes),
		T(test_remove),		 T(test_bad_paths),	 T(test_links_are_not_followed),
		T(test_another_user),	 T(test_groups_of_root),
	};

	return RUN(tests, scratch_setup, scratch_done);
}
