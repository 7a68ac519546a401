/* The bookkeeping of watchDirectory: which names of a new directory are remembered as reported. */
#include "unit.h"

#include "loop/loop.h"
#include "tools/builtin/core/toolbox_internal.h"
#include "tools/builtin/search/watched_dirs.h"

#include <sys/stat.h>

struct rig {
	struct loop *loop;
	struct toolbox_call call;
	struct watched_dirs dirs;
	unsigned told, most;
};

/* A watched tree that is empty, and then has d/0 to d/9. */
static int rig_setup(void **state)
{
	struct rig *r = new0(struct rig);
	struct toolbox_config c;
	char text[512];
	struct err e;

	if (scratch_setup(state) < 0)
		return -1;
	snprintf(text, sizeof(text), "{\"roots\":[\"%s\"],\"sandboxId\":\"box-1\"}", scratch_dir());
	assert_int_equal(toolbox_config_parse(slice_of(text), &c, &e), 0);
	r->loop = loop_new();
	r->call.tool.box = toolbox_new(r->loop, &c, &e);
	assert_non_null(r->call.tool.box);
	r->dirs = (struct watched_dirs){ .call = &r->call.tool, .fd = -1, .recursive = true };
	assert_int_equal(tool_path_find(&r->call.tool, ".", TOOL_PATH_STAT, &r->dirs.start, &e), 0);
	assert_int_equal(watched_dirs_open(&r->dirs, &e), 0);
	assert_int_equal(mkdir(scratch_path("d"), 0700), 0);
	for (int i = 0; i < 10; i++) {
		snprintf(text, sizeof(text), "d/%d", i);
		scratch_write(text, "", 0);
	}
	*state = r;
	return 0;
}

static int rig_done(void **state)
{
	struct rig *r = *state;

	watched_dirs_done(&r->dirs);
	toolbox_free(r->call.tool.box);
	loop_free(r->loop);
	free(r);
	return scratch_done(state);
}

static bool on_found(void *ctx, const char *path _unused_)
{
	struct rig *r = ctx;

	if (r->told == r->most)
		return false;
	r->told++;
	return true;
}

static void test_found_once(void **state)
{
	struct rig *r = *state;

	r->most = 100;
	watched_dirs_add(&r->dirs, "d", on_found, r);
	assert_int_equal(r->told, 10);
	assert_true(watched_dirs_was_found(&r->dirs, "d/7"));
	assert_false(watched_dirs_was_found(&r->dirs, "d/7"));
	assert_false(watched_dirs_was_found(&r->dirs, "d/10"));
	assert_int_equal(r->dirs.nfound, 9);
}

/* What a full result does not report is not kept either. */
static void test_full(void **state)
{
	struct rig *r = *state;

	r->most = 5;
	watched_dirs_add(&r->dirs, "d", on_found, r);
	assert_int_equal(r->dirs.nfound, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_found_once, rig_setup, rig_done),
		cmocka_unit_test_setup_teardown(test_full, rig_setup, rig_done),
	};

	return RUN(tests, NULL, NULL);
}
