/* Patches of random trees against git itself: it takes each one, forward and backward, and the trees are then the right ones. */
#include "git_tree.h"

#include "base/file.h"
#include "base/limits.h"
#include "base/utf8.h"

#define PAIRS 320

static const struct patch_options options = { .context = DIFF_CONTEXT_LINES };

static void make_patch(const struct tree *from, const struct tree *to, struct buf *out,
		       struct patch_stat *stat)
{
	for (size_t i = 0; i < from->n; i++) {
		const struct tree_file *a = &from->files[i], *b = &to->files[i];

		assert_int_equal(patch_append(out, a->path, &a->side, &b->side, &options, stat), 0);
	}
	assert_true(!out->len || (utf8_valid(buf_slice(out)) && !memchr(out->data, 0, out->len)));
	scratch_write("patch", out->data, out->len);
}

static void run_or_fail(const char *dir, const char *command, unsigned seed)
{
	_cleanup_(buf_done) struct buf out = { 0 };

	if (git_run(dir, command) == 0)
		return;
	file_read(scratch_path("out"), 1 << 20, &out);
	fail_msg("seed %u: %s: %.*s", seed, command, (int)out.len, out.data);
}

static void check_pair(unsigned seed, struct patch_stat *stat)
{
	_cleanup_(tree_done) struct tree from, to;
	_cleanup_(buf_done) struct buf patch = { 0 };
	char what[64];

	tree_pair_make(seed, &from, &to);
	tree_write(&from, "tree");
	make_patch(&from, &to, &patch, stat);
	if (patch.len) {
		run_or_fail("tree", "git apply --check ../patch && git apply ../patch", seed);
		snprintf(what, sizeof(what), "seed %u, applied", seed);
		tree_check(&to, "tree", what);
		run_or_fail("tree", "git apply -R ../patch", seed);
	}
	snprintf(what, sizeof(what), "seed %u, reverted", seed);
	tree_check(&from, "tree", what);
	assert_int_equal(file_remove_tree(scratch_path("tree")), 0);
}

static void test_random_trees(void **state _unused_)
{
	struct patch_stat stat = { 0 };

	for (unsigned seed = 1; seed <= PAIRS; seed++)
		check_pair(seed, &stat);
	print_message("seeds 1 to %d: %u files, %u binary, +%u -%u\n", PAIRS, (unsigned)stat.files,
		      (unsigned)stat.binary, (unsigned)stat.insertions, (unsigned)stat.deletions);
	assert_true(stat.files > 5 * PAIRS && stat.binary > PAIRS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_trees),
	};

	return RUN(tests, scratch_setup, scratch_done);
}
