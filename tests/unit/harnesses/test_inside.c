/* Whether a path lies in a session's directories, as the kernel would resolve it. */
#include "unit.h"

#include "harnesses/inside.h"

#include <sys/stat.h>
#include <unistd.h>

static const struct {
	const char *name, *target; /* target NULL: a directory; "": a file */
} tree[] = {
	{ "ws", NULL },
	{ "ws/sub", NULL },
	{ "ws/file", "" },
	{ "more", NULL },
	{ "outside", NULL },
	{ "outside/deep", NULL },
	{ "ws-beside", NULL },
	{ "ws/out", "../outside" },
	{ "ws/in", "sub" },
	{ "ws/dangling", "../outside/new" },
	{ "ws/dangling-in", "sub/new" },
	{ "ws/chain", "in/../out" },
	{ "ws/round", "round" },
	{ "ws/far", "/etc/passwd" },
	{ "ws/proc", "/proc/self/root" },
	{ "ws/back", "out/../ws/sub" },
	{ "ws/via-more", "../more" },
	{ "link-to-ws", "ws" },
	{ "ws/self", "../link-to-ws" },
};

static int setup(void **state)
{
	int r = scratch_setup(state);

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(tree); i++) {
		const char *path = scratch_path(tree[i].name);

		if (!tree[i].target)
			r = mkdir(path, 0700);
		else if (!*tree[i].target)
			scratch_write(tree[i].name, "", 0);
		else
			r = symlink(tree[i].target, path);
	}
	return r;
}

static const struct {
	const char *path;
	bool inside;
} rows[] = {
	{ "ws/file", true },
	{ "ws/new", true },
	{ "ws/new/dir/file", true },
	{ "ws//sub/./x", true },
	{ "ws", true },
	{ "ws/in/x", true },
	{ "ws/dangling-in", true },
	{ "ws/back/x", true },
	{ "ws/self/x", true },
	{ "link-to-ws/x", true },
	{ "more/x", true },
	{ "ws/via-more/x", true },
	{ "ws/out/x", false },
	{ "ws/out", false },
	{ "ws/out/deep/x", false },
	{ "ws/dangling", false },
	{ "ws/chain/x", false },
	{ "ws/round", false },
	{ "ws/round/x", false },
	{ "ws/far", false },
	{ "ws/proc/x", false },
	{ "ws/sub/../x", false },
	{ "ws/new/../../outside/x", false },
	{ "ws-beside/x", false },
	{ "outside/x", false },
	{ "", false },
};

static void test_rows(void **state _unused_)
{
	_cleanup_(buf_done) struct buf dirs = { 0 };
	char cwd[4096];

	snprintf(cwd, sizeof(cwd), "%s", scratch_path("ws"));
	buf_printf(&dirs, "[\"/nowhere\",\"%s\"]", scratch_path("more"));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (harness_inside(scratch_path(rows[i].path), cwd, buf_slice(&dirs)) !=
		    rows[i].inside)
			fail_row(i, rows[i].path);
	assert_false(harness_inside(scratch_path("more/x"), cwd, SLICE_NONE));
}

static void test_the_directory_itself_is_a_link(void **state _unused_)
{
	char cwd[4096];

	snprintf(cwd, sizeof(cwd), "%s", scratch_path("link-to-ws"));
	assert_true(harness_inside(scratch_path("ws/file"), cwd, SLICE_NONE));
	assert_true(harness_inside("file", cwd, SLICE_NONE));
	assert_false(harness_inside("out/file", cwd, SLICE_NONE));
	assert_false(harness_inside(scratch_path("outside/x"), cwd, SLICE_NONE));
}

static void test_odd_paths(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	for (int i = 0; i < 5000; i++)
		buf_puts(&b, "/a");
	buf_putc(&b, '\0');
	assert_false(harness_inside(b.data, "/", SLICE_NONE));
	buf_reset(&b);
	buf_putc(&b, '/');
	for (int i = 0; i < 300; i++)
		buf_putc(&b, 'a');
	buf_putc(&b, '\0');
	assert_false(harness_inside(b.data, "/", SLICE_NONE));
	assert_true(harness_inside("/", "/", SLICE_NONE));
	assert_false(harness_inside("/proc/self/mem", "/", SLICE_NONE));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_the_directory_itself_is_a_link),
		cmocka_unit_test(test_odd_paths),
	};

	return RUN(tests, setup, scratch_done);
}
