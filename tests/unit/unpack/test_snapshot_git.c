/*
 * Random trees over several turns: every patch, of a turn or since any earlier one, is taken by git apply in a copy of what there was, and gives
 * exactly what there is.
 */
#include "git_tree.h"
#include "snap_rig.h"

#include "base/os/file.h"

#define ROUNDS (12 / stride_san(4))
#define TURNS 4 /* the last one is not recorded */

static void run_or_fail(const char *dir, const char *command, const char *what)
{
	_cleanup_(buf_done) struct buf out = { 0 };

	if (git_run(dir, command) == 0)
		return;
	file_read(scratch_path("out"), 1 << 20, &out);
	fail_msg("%s: %s: %.*s", what, command, (int)out.len, out.data);
}

/* The patch makes to out of from. */
static void check_patch(const struct tree *from, const struct tree *to, const char *what)
{
	tree_write(from, "copy");
	run_or_fail("copy",
		    "test ! -s ../patch || { git apply --check ../patch && git apply ../patch; }",
		    what);
	tree_check(to, "copy", what);
	assert_int_equal(file_remove_tree(scratch_path("copy")), 0);
}

static void put_tree(const struct tree *t)
{
	assert_int_equal(file_remove_tree(scratch_path("ws")), 0);
	tree_write(t, "ws");
}

static void check_since(const struct tree *trees, unsigned now, uint32_t turn, unsigned seed)
{
	for (unsigned since = 0; since <= turn; since++) {
		char what[80];

		snprintf(what, sizeof(what), "seed %u, from %u to %u", seed, since, now);
		rig_diff_ok(since);
		assert_omitted("");
		check_patch(&trees[since], &trees[now], what);
		if (since == now)
			assert_int_equal(rig.report.patch_bytes, 0);
	}
}

static void run_round(unsigned seed)
{
	struct tree trees[TURNS + 2];
	char what[80];

	for (unsigned i = 0; i < TURNS + 2; i += 2)
		tree_pair_make(seed * 100 + i, &trees[i], &trees[i + 1]);
	put_tree(&trees[0]);
	rig_snapshot_ok(0);
	for (unsigned i = 1; i < TURNS; i++) {
		put_tree(&trees[i]);
		snprintf(what, sizeof(what), "seed %u, turn %u", seed, i);
		rig_snapshot_ok(i);
		check_patch(&trees[i - 1], &trees[i], what);
		check_since(trees, i, i, seed);
	}
	put_tree(&trees[TURNS]);
	check_since(trees, TURNS, TURNS - 1, seed);
	for (unsigned i = 0; i < TURNS + 2; i++)
		tree_done(&trees[i]);
}

static void test_turns(void **state _unused_)
{
	for (unsigned seed = 1; seed <= ROUNDS; seed++)
		run_round(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_turns, rig_setup, rig_done),
	};

	return RUN(tests, NULL, NULL);
}
