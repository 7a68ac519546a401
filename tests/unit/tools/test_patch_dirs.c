/* Directories that a patch has emptied go, but only where they were when it was planned. */
#include "unit.h"

#include "loop/loop.h"
#include "tools/builtin/core/toolbox_internal.h"
#include "tools/builtin/patch/patch_internal.h"

#include <sys/stat.h>
#include <unistd.h>

#define REMOVAL "--- a/a/b/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"

struct rig {
	struct loop *loop;
	struct toolbox_call call;
	struct patch_plan plan;
};

static bool stands(const char *name)
{
	return access(scratch_path(name), F_OK) == 0;
}

static void make_dir(const char *name)
{
	assert_int_equal(mkdir(scratch_path(name), 0700), 0);
}

/* a/b/f is there, and a patch that removes it is planned. */
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
	make_dir("a");
	make_dir("a/b");
	scratch_write("a/b/f", "x\n", 2);
	r->plan.call = &r->call.tool;
	assert_int_equal(patch_read(SLICE(REMOVAL), -1, &r->plan.set, &e), 0);
	assert_true(patch_plan_make(&r->plan, NULL));
	*state = r;
	return 0;
}

static int rig_done(void **state)
{
	struct rig *r = *state;

	patch_plan_done(&r->plan);
	toolbox_free(r->call.tool.box);
	loop_free(r->loop);
	free(r);
	return scratch_done(state);
}

static void test_emptied(void **state)
{
	struct rig *r = *state;
	struct err e;

	scratch_write("a/other", "", 0);
	assert_int_equal(patch_plan_commit(&r->plan, &e), 0);
	assert_false(stands("a/b"));
	assert_true(stands("a/other"));
}

static void test_exchanged(void **state)
{
	struct rig *r = *state;
	struct err e;

	make_dir("elsewhere");
	make_dir("elsewhere/b");
	assert_int_equal(rename(scratch_path("a"), scratch_path("moved")), 0);
	assert_int_equal(symlink("elsewhere", scratch_path("a")), 0);
	assert_int_equal(patch_plan_commit(&r->plan, &e), 0);
	assert_false(stands("moved/b/f"));
	assert_true(stands("elsewhere/b"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_emptied, rig_setup, rig_done),
		cmocka_unit_test_setup_teardown(test_exchanged, rig_setup, rig_done),
	};

	return RUN(tests, NULL, NULL);
}
