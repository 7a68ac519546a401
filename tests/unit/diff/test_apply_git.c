/* Patches of random texts and trees, whole, moved, in conflict and damaged: what git takes we take, with the same result. */
#include "git_tree.h"

#include "base/os/file.h"
#include "base/limits.h"
#include "diff/apply/apply.h"

#define CASES (600 / stride_san(4))
#define TREES (40 / stride_san(4))

static void patch_set_donep(struct patch_set *s)
{
	patch_set_done(s);
}

/* --- one file ------------------------------------------------------------------------------------------ */

static size_t line_start(struct slice s, size_t line)
{
	size_t i = 0;

	while (line && i < s.n)
		line -= s.p[i++] == '\n';
	return i;
}

/* Lines put in, taken out or changed at random places: the patch has to be moved, or does not fit. */
static void disturb(uint64_t *seed, const struct buf *from, unsigned edits, struct buf *out)
{
	struct slice s = buf_slice(from);
	size_t at = 0;

	for (unsigned i = 0; i < edits; i++) {
		size_t next = line_start(slice_after(s, at), random_below(seed, 40)) + at;

		buf_add(out, s.p + at, next - at);
		at = next;
		if (random_below(seed, 3))
			buf_printf(out, "put in %u\n", random_below(seed, 5));
		else
			at += line_start(slice_after(s, at), random_below(seed, 3));
	}
	buf_add(out, s.p + at, s.n - at);
}

/* A few bytes of the patch are others. */
static void damage(uint64_t *seed, struct buf *patch)
{
	static const char bytes[] = " +-@\n0123456789ax,\\/";

	for (unsigned i = 0; i < 1 + random_below(seed, 3) && patch->len; i++)
		patch->data[random_below(seed, (uint32_t)patch->len)] =
			bytes[random_below(seed, sizeof(bytes) - 1)];
}

static int ours(struct slice patch, struct slice old, struct buf *out)
{
	_cleanup_(patch_set_donep) struct patch_set set = { 0 };
	_cleanup_(slice_freep) struct slice text = exact_copy(patch), before = exact_copy(old);
	_cleanup_(freep) struct patch_place *places = NULL;
	struct err e = { 0 };
	int r = patch_read(text, -1, &set, &e);

	if (r < 0)
		return r;
	if (set.n != 1 || !set.files[0].from || strcmp(set.files[0].from, "f") != 0)
		return -EINVAL;
	if (set.files[0].maybe_new)
		set.files[0].maybe_new = false;
	places = calloc(set.files[0].nhunks + 1, sizeof(*places));
	return patch_apply(&set.files[0], before, out, places, &e);
}

struct counts {
	unsigned taken, refused, moved, counted;
};

/* What is read in any way is what git takes, or what it takes when it counts the lines of hunks itself. A damaged one may be refused. */
static void check_any(unsigned n, const struct buf *patch, const struct buf *target,
		      const struct buf *want, bool taken, struct counts *counts)
{
	_cleanup_(buf_done) struct buf got = { 0 }, counted = { 0 };
	bool took = ours(buf_slice(patch), buf_slice(target), &got) == 0;

	if (took == taken && (!took || slice_eq(buf_slice(&got), buf_slice(want))))
		return;
	if (n % 4 != 3)
		fail_msg("case %u: %s", n, took == taken ? "another result" : "another verdict");
	if (!took)
		return;
	scratch_write("tree/f", target->data, target->len);
	if (git_run("tree", "git apply --recount ../patch") != 0)
		return; /* it wants the place that the header names */
	assert_int_equal(file_read(scratch_path("tree/f"), 1 << 24, &counted), 0);
	if (!slice_eq(buf_slice(&got), buf_slice(&counted)))
		fail_msg("case %u: not what git makes of it with --recount", n);
	counts->counted++;
}

static void check_case(unsigned n, struct counts *counts)
{
	_cleanup_(buf_done) struct buf from = { 0 }, to = { 0 }, target = { 0 }, patch = { 0 },
				       want = { 0 };
	uint64_t seed = 7919 * n + 1;
	struct patch_options options = { random_below(&seed, 8) ? 3 : random_below(&seed, 5) };
	struct patch_stat stat = { 0 };
	unsigned kind = n % 4;
	bool taken;

	text_pair_make(seed, &from, &to);
	assert_int_equal(
		patch_append(&patch, "f", &(struct diff_side){ from.data, from.len, PATCH_FILE },
			     &(struct diff_side){ to.data, to.len, PATCH_FILE }, &options, &stat),
		0);
	disturb(&seed, &from, kind == 1 ? 2 : kind == 2 ? 12 : 0, &target);
	if (kind == 3)
		damage(&seed, &patch);
	scratch_write("tree/f", target.data, target.len);
	scratch_write("patch", patch.data, patch.len);
	taken = git_run("tree", "git apply --check ../patch && git apply ../patch") == 0;
	if (taken && file_read(scratch_path("tree/f"), 1 << 24, &want) < 0)
		return; /* a damaged header renamed or removed it: a matter of whole trees */
	check_any(n, &patch, &target, &want, taken, counts);
	counts->taken += taken;
	counts->refused += !taken;
	counts->moved += taken && kind && kind < 3;
}

static void texts_as_git(void **state _unused_)
{
	struct counts counts = { 0 };

	assert_int_equal(git_run(".", "mkdir -p tree"), 0);
	for (unsigned n = 0; n < CASES; n++)
		check_case(n, &counts);
	print_message("%d cases: %u taken (%u of them moved), %u refused, %u as with --recount\n",
		      CASES, counts.taken, counts.moved, counts.refused, counts.counted);
	assert_true(counts.taken > CASES / 3 && counts.refused > CASES / 10 &&
		    counts.moved > CASES / 20);
}

/* --- trees --------------------------------------------------------------------------------------------- */

static const struct tree_file *file_at(const struct tree *t, const char *path)
{
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->files[i].path, path) == 0)
			return &t->files[i];
	fail_msg("no file %s", path);
	return NULL;
}

static void check_file(const struct patch_file *f, const struct tree *from, const struct tree *to,
		       unsigned seed)
{
	_cleanup_(buf_done) struct buf out = { 0 };
	_cleanup_(freep) struct patch_place *places = calloc(f->nhunks + 1, sizeof(*places));
	const struct tree_file *a = f->from ? file_at(from, f->from) : NULL;
	const struct tree_file *b = f->to ? file_at(to, f->to) : NULL;
	struct slice old = a ? (struct slice){ a->side.data, a->side.n } : SLICE_NONE;
	struct slice new = b ? (struct slice){ b->side.data, b->side.n } : SLICE_NONE;
	struct err e;

	if (patch_apply(f, old, &out, places, &e) < 0)
		fail_msg("seed %u: %s: %s", seed, f->to ? f->to : f->from, e.msg);
	if (!slice_eq(buf_slice(&out), new))
		fail_msg("seed %u: %s: another result", seed, f->to ? f->to : f->from);
	if (b && f->new_mode)
		assert_int_equal(f->new_mode, b->side.mode);
}

static void trees_of_git(void **state _unused_)
{
	size_t renames = 0, binaries = 0, files = 0;

	for (unsigned seed = 1; seed <= TREES; seed++) {
		_cleanup_(tree_done) struct tree from, to;
		_cleanup_(buf_done) struct buf patch = { 0 };
		_cleanup_(patch_set_donep) struct patch_set set = { 0 };
		struct err e;

		tree_pair_make(seed, &from, &to);
		tree_write(&from, "repo");
		assert_int_equal(
			git_run("repo",
				"git init -q . && git add -A . && git -c user.name=a -c user.email=a@b commit -qm 1 "
				"&& mv .git ../saved && rm -rf ../repo && mkdir ../repo"),
			0);
		tree_write(&to, "repo");
		assert_int_equal(
			git_run(".",
				"mv saved repo/.git && cd repo && git add -A . && git diff --cached --binary -M30% -C "
				"> ../diff"),
			0);
		assert_int_equal(file_read(scratch_path("diff"), 1 << 26, &patch), 0);
		assert_int_equal(file_remove_tree(scratch_path("repo")), 0);
		if (patch_read(buf_slice(&patch), 1, &set, &e) < 0 && patch.len)
			fail_msg("seed %u: %s", seed, e.msg);
		for (size_t i = 0; i < set.n; i++) {
			const struct patch_file *f = &set.files[i];

			check_file(f, &from, &to, seed);
			files++;
			renames += f->from && f->to && strcmp(f->from, f->to) != 0;
			binaries += f->binary;
		}
	}
	print_message("%d trees: %zu files, %zu renamed or copied, %zu binary\n", TREES, files,
		      renames, binaries);
	assert_true(files > 3 * TREES && renames > TREES / 8 && binaries > TREES / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_as_git),
		cmocka_unit_test(trees_of_git),
	};

	return RUN(tests, scratch_setup_memory, scratch_done);
}
