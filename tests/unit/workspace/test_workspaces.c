/* Recovery of trees after a restart: which paths are those of a tree that is being recovered. */
#include "unit.h"

#include "workspace/workspaces.h"

#include <sys/stat.h>

static unsigned idle_calls;

static void on_idle(void *ctx _unused_)
{
	idle_calls++;
}

static void any_spelling_of_a_path_finds_its_recovery(void **state _unused_)
{
	static const struct agent_user user = { 0 };
	struct workspaces ws = { .loop = loop_new(),
				 .state_dir = (char *)scratch_dir(),
				 .idle = on_idle };
	struct err e = { 0 };

	list_init(&ws.chores);
	list_init(&ws.claims);
	setenv("ACPD_UNPACK", "/nonexistent/acpd-unpack", 1);
	assert_int_equal(workspaces_begin(&ws, &user, "/srv/tree/", NULL, &e), 0);
	workspaces_recover(&ws);
	assert_int_equal(workspaces_recovering(&ws, NULL), 1);
	assert_int_equal(workspaces_recovering(&ws, "/srv/tree/"), 1);
	assert_int_equal(workspaces_recovering(&ws, "/srv/tree"), 1);
	assert_int_equal(workspaces_recovering(&ws, "//srv//tree"), 1);
	assert_int_equal(workspaces_recovering(&ws, "/srv"), 0);
	loop_run_deferred(ws.loop); /* the helper cannot start, so the chore ends */
	assert_int_equal(idle_calls, 1);
	assert_int_equal(workspaces_recovering(&ws, "/srv/tree"), 0);
	loop_free(ws.loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(
		any_spelling_of_a_path_finds_its_recovery) };

	return RUN(tests, scratch_setup, scratch_done);
}
