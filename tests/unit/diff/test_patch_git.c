/* Patches of random trees against git itself: it takes each one, forward and backward, and the trees are then the right ones. */
#include "git_tree.h"

#include "base/os/file.h"
#include "base/limits.h"
#include "base/format/utf8.h"

#include <sys/stat.h>

#define PAIRS (320 / stride_san(4))

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

/* git 2.47 (Debian 13) gives back what a patch deleted as a plain file of mode 0644, links too, when it takes the patch back. */
static bool git_forgets_modes(void)
{
	static const char deletion[] =
		"diff --git a/f b/f\ndeleted file mode 100755\n--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";
	bool forgets;

	scratch_write("patch", deletion, strlen(deletion));
	mkdir(scratch_path("probe"), 0700);
	run_or_fail("probe", "git apply -R ../patch", 0);
	forgets = access(scratch_path("probe/f"), X_OK) < 0;
	assert_int_equal(file_remove_tree(scratch_path("probe")), 0);
	return forgets;
}

/* It is a plain file that holds where the link went: anything else stays as it is, for the comparison to find. */
static void make_link(const char *path, const struct tree_file *f)
{
	_cleanup_(freep) char *target = xstrndup(f->side.data, f->side.n);
	_cleanup_(buf_done) struct buf bytes = { 0 };
	struct stat sb;

	if (lstat(path, &sb) < 0 || !S_ISREG(sb.st_mode) || file_read(path, 1 << 20, &bytes) < 0 ||
	    !slice_eq(buf_slice(&bytes), buf_slice(&f->bytes)))
		return;
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink(target, path), 0);
}

static void remember_modes(const struct tree *from)
{
	for (size_t i = 0; i < from->n; i++) {
		const struct tree_file *f = &from->files[i];
		_cleanup_(freep) char *path = file_join(scratch_path("tree"), f->path);

		if (f->side.mode == PATCH_SYMLINK)
			make_link(path, f);
		else if (f->side.mode)
			assert_int_equal(chmod(path, f->side.mode & 0777), 0);
	}
}

static void check_pair(unsigned seed, bool forgets, struct patch_stat *stat)
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
		if (forgets)
			remember_modes(&from);
	}
	snprintf(what, sizeof(what), "seed %u, reverted", seed);
	tree_check(&from, "tree", what);
	assert_int_equal(file_remove_tree(scratch_path("tree")), 0);
}

static void test_random_trees(void **state _unused_)
{
	struct patch_stat stat = { 0 };
	bool forgets = git_forgets_modes();

	for (unsigned seed = 1; seed <= PAIRS; seed++)
		check_pair(seed, forgets, &stat);
	print_message("seeds 1 to %d: %u files, %u binary, +%u -%u\n", PAIRS, (unsigned)stat.files,
		      (unsigned)stat.binary, (unsigned)stat.insertions, (unsigned)stat.deletions);
	assert_true(stat.files > 5 * PAIRS && stat.binary > PAIRS);
}

/* --- as short as git's ----------------------------------------------------------------------------------- */

#define TEXTS (60 / stride_san(4))

static uint64_t count_lines(struct slice text)
{
	uint64_t n = 0;

	for (size_t i = 0; i < text.n; i++)
		n += text.p[i] == '\n';
	return n;
}

/* Lines of the whole patch in ours and git's, added up. */
static void compare_lengths(unsigned seed, uint64_t *ours, uint64_t *theirs)
{
	_cleanup_(buf_done) struct buf from = { 0 }, to = { 0 }, patch = { 0 }, out = { 0 };
	struct patch_stat stat = { 0 };

	text_pair_make(seed, &from, &to);
	scratch_write("from", from.data, from.len);
	scratch_write("to", to.data, to.len);
	assert_true(git_run(".", "git diff --no-index from to") <= 1);
	assert_int_equal(file_read(scratch_path("out"), 1 << 20, &out), 0);
	assert_int_equal(
		patch_append(&patch, "to", &(struct diff_side){ from.data, from.len, PATCH_FILE },
			     &(struct diff_side){ to.data, to.len, PATCH_FILE }, &options, &stat),
		0);
	*ours += count_lines(buf_slice(&patch));
	*theirs += count_lines(buf_slice(&out));
}

static void test_lengths(void **state _unused_)
{
	uint64_t ours = 0, theirs = 0;

	for (unsigned seed = 1; seed <= TEXTS; seed++)
		compare_lengths(seed, &ours, &theirs);
	print_message("seeds 1 to %d: %u lines, git %u\n", TEXTS, (unsigned)ours, (unsigned)theirs);
	assert_true(theirs > 50 * TEXTS && 10 * ours <= 12 * theirs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_trees),
		cmocka_unit_test(test_lengths),
	};

	return RUN(tests, scratch_setup, scratch_done);
}
