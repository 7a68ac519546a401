/* Patches as models write them: what they mean, what is refused and where, and that they never mean anything else than git's. */
#include "git_tree.h"

#include "base/limits.h"
#include "diff/apply/apply.h"

static void patch_set_donep(struct patch_set *s)
{
	patch_set_done(s);
}

#define UPDATE "*** Begin Patch\n*** Update File: f\n"
#define END "*** End Patch\n"
#define LABELS "--- a/f\n+++ b/f\n"

static void refused(void **state _unused_)
{
	static const struct {
		const char *reason, *text;
	} rows[] = {
		{ "PATCH_EMPTY", "" },
		{ "PATCH_EMPTY", "```diff\n```\n" },
		{ "PATCH_EMPTY", "*** Begin Patch\n*** End Patch\n" },
		{ "PATCH_CORRUPT", UPDATE "@@\n-a\n+b\n" }, /* cut off */
		{ "PATCH_CORRUPT", UPDATE "@@\n-a\n+b\nc\n" END },
		{ "PATCH_CORRUPT", UPDATE END },
		{ "PATCH_CORRUPT", UPDATE "@@\n a\n" END },
		{ "PATCH_CORRUPT", "*** Begin Patch\n*** Update File: \n@@\n-a\n+b\n" END },
		{ "PATCH_CORRUPT", "*** Begin Patch\n*** Add File: f\nno plus\n" END },
		{ "PATCH_CORRUPT", "*** Begin Patch\n@@\n-a\n+b\n" END },
		{ "PATCH_CORRUPT", "*** Update File: f\n@@\n-a\n+b\n" END },
		{ "PATCH_CORRUPT",
		  "*** Begin Patch\n*** Add File: g\n+a\n" END "*** Add File: f\n" },
		{ "PATCH_CORRUPT", "*** Begin Patch\n*** Update File: f\n*** Move to: f\n" END },
		{ "PATCH_CORRUPT", LABELS "@@ @@\n-a\n+b\nc\n" },
		{ "PATCH_CORRUPT", LABELS "@@ @@\n-a\n\\ x\n+b\n" },
		{ "PATCH_CORRUPT", LABELS "-a\n+b\n@@ @@\n-a\n+b\n" },
		{ "PATCH_CORRUPT", LABELS "@@ -1 +1 @@\n-a\n+b\n--- a/g\n+++ b/g\n" },
		{ "PATCH_CORRUPT", "@@ @@\n-a\n+b\n" },
		{ "PATCH_CORRUPT", LABELS "@@ @@\n-a\n+b\n```\n```\n@@ ... @@\n-c\n+d\n" },
		{ "PATCH_MIXED", UPDATE "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n" END },
		{ "PATCH_MIXED", UPDATE "@@\n-a\n+b\n" END LABELS "@@ -1 +1 @@\n-a\n+b\n" },
		{ "PATCH_MIXED", UPDATE "@@\n-a\n+b\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n" END },
		{ "PATCH_MIXED", LABELS "@@ -1 +1 @@\n-a\n+b\n*** Update File: g\n@@\n-a\n+b\n" },
		{ "PATCH_PATH", "*** Begin Patch\n*** Add File: ../f\n+a\n" END },
		{ "PATCH_PATH", "*** Begin Patch\n*** Add File: /f\n+a\n" END },
		{ "PATCH_PATH", "*** Begin Patch\n*** Delete File: d/.git/f\n" END },
		{ "PATCH_PATH", UPDATE "*** Move to: ../f\n" END },
		{ "PATCH_PATH", "--- /x/f\n+++ /x/f\n@@ -1 +1 @@\n-a\n+b\n" },
		{ "PATCH_PATH", "--- ../f\n+++ ../f\n@@ -1 +1 @@\n-a\n+b\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(slice_freep) struct slice text = exact_copy(slice_of(rows[i].text));
		_cleanup_(patch_set_donep) struct patch_set set;
		struct err e = { 0 };

		if (patch_read(text, -1, &set, &e) != -EINVAL ||
		    strcmp(e.reason, rows[i].reason) != 0)
			fail_msg("%s: \"%s\" %s", rows[i].text, e.reason, e.msg);
	}
}

static void names(void **state _unused_)
{
#define HUNK "@@ -1 +1 @@\n-a\n+b\n"
	static const struct {
		const char *text, *from, *to, *other; /* other: of from, or of to of a new file */
	} rows[] = {
		{ "--- a/x/f\n+++ b/x/f\n" HUNK, "x/f", "x/f", NULL },
		{ "--- f\n+++ f\n" HUNK, "f", "f", NULL },
		{ "--- x/f\n+++ x/f\n" HUNK, "x/f", "x/f", "f" },
		{ "--- a/f\n+++ a/f\n" HUNK, "a/f", "a/f", "f" },
		{ "--- ./x/f\n+++ ./x/f\n" HUNK, "x/f", "x/f", NULL },
		{ "--- x/f 2020-01-01 10:00:00.000000000 +0100\n+++ x/f\t2020-01-01 10:00:00\n" HUNK,
		  "x/f", "x/f", "f" },
		{ "--- old 2020-01-01 10:00\n+++ new file 2020-01-01 10:00\n" HUNK, "new file",
		  "new file", NULL },
		{ "diff --git x/f x/f\nindex 1..2 100644\n--- x/f\n+++ x/f\n" HUNK, "x/f", "x/f",
		  "f" },
		{ "diff --git a/f b/f\n--- a/f\n+++ b/f\n" HUNK, "f", "f", NULL },
		{ "--- /dev/null\n+++ x/f\n@@ -0,0 +1,9 @@\n+b\n", NULL, "x/f", "f" },
		{ "--- /dev/null\n+++ b/f\n@@ -0,0 +1,9 @@\n+b\n", NULL, "f", NULL },
		{ "--- x/f\n+++ /dev/null\n@@ @@\n-b\n", "x/f", NULL, "f" },
		{ "diff --git a/f b/f\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+b\n", NULL, "f",
		  NULL },
		{ "diff --git a/f b/f\n--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n", "f", NULL,
		  NULL },
		{ "*** Begin Patch\n*** Update File: a/f\n@@\n-a\n+b\n" END, "a/f", "a/f", NULL },
		{ "*** Begin Patch\n*** Update File: ./f \n*** Move to:  x y/g\n" END, "f", "x y/g",
		  NULL },
		{ "*** Begin Patch\n*** Delete File: f\n" END, "f", NULL, NULL },
		{ "<<'EOF'\n*** Begin Patch\n\n*** Add File: f\n\n" END "EOF\n", NULL, "f", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(slice_freep) struct slice text = exact_copy(slice_of(rows[i].text));
		_cleanup_(patch_set_donep) struct patch_set set;
		const struct patch_file *f;
		struct err e = { 0 };

		if (patch_read(text, -1, &set, &e) < 0)
			fail_msg("%s: %s", rows[i].text, e.msg);
		assert_int_equal(set.n, 1);
		f = &set.files[0];
		if (!slice_eq(slice_of(f->from), slice_of(rows[i].from)) ||
		    !slice_eq(slice_of(f->to), slice_of(rows[i].to)) ||
		    !slice_eq(slice_of(f->from ? f->other_from : f->other_to),
			      slice_of(rows[i].other)))
			fail_row(i, rows[i].text);
	}
}

struct place_row {
	const char *text, *old, *want; /* want: the reason of a refusal, if it begins with PATCH */
	const char *said;	       /* in the message */
};

static const struct place_row places[] = {
	/* counts that are off, or no numbers: where the lines are */
	{ LABELS "@@ -2,9 +2,7 @@\n b\n-c\n+x\n", "a\nb\nc\n", "a\nb\nx\n", NULL },
	{ LABELS "@@ -2,1 +2,1 @@\n b\n-c\n+x\n", "a\nb\nc\n", "a\nb\nx\n", NULL },
	{ LABELS "@@ -2,2 +2,2 @@\n b\n-c\n+x\n d\n+y\n", "a\nb\nc\nd\n", "a\nb\nx\nd\ny\n", NULL },
	{ LABELS "@@ -7,9 +7,7 @@\n b\n-c\n+x\n", "a\nb\nc\nd\n", "a\nb\nx\nd\n", NULL },
	{ LABELS "@@ @@\n-b\n+x\n", "a\nb\nc\n", "a\nx\nc\n", NULL },
	{ LABELS "@@ ... @@\n-b\n+x\n@@\n c\n+y\n", "a\nb\nc\n", "a\nx\nc\ny\n", NULL },
	{ "```diff\n" LABELS "@@ @@\n-b\n+x\n```\nThat is it.\n", "a\nb\nc\n", "a\nx\nc\n", NULL },
	{ LABELS "@@ @@\n a\n\n-b\n+x\n\n", "a\n\nb\nc\n", "a\n\nx\nc\n", NULL },
	{ LABELS "@@ -1,9 +1,9 @@\n-b\n+x\n-- \n2.39\n", "a\nb\n", "a\nx\n", NULL },
	/* two places: the numbers decide, or nobody */
	{ LABELS "@@ -3,9 +3,9 @@\n-b\n+x\n", "b\na\nb\n", "b\na\nx\n", NULL },
	{ LABELS "@@ -2,9 +2,9 @@\n-b\n+x\n", "b\na\nb\n", "PATCH_AMBIGUOUS",
	  "hunk 1 of f (line 3 of the patch) fits in more than one place: lines 1, 3." },
	{ LABELS "@@ @@\n-b\n+x\n", "b\na\nb\n", "PATCH_AMBIGUOUS", "lines 1, 3." },
	{ LABELS "@@ @@\n-z\n+x\n", "b\na\nb\n", "PATCH_MISMATCH", "hunk 1 of f" },
	{ LABELS "@@ @@\n+x\n", "b\na\nb\n", "PATCH_AMBIGUOUS", "only adds" },
	{ LABELS "@@ -2,0 +3,5 @@\n+x\n", "b\na\nb\n", "PATCH_AMBIGUOUS", "only adds" },
	/* candidates are lines of the file as it is */
	{ LABELS "@@ @@\n-a\n+1\n+2\n+3\n@@ @@\n-b\n+x\n", "a\nb\nb\n", "PATCH_AMBIGUOUS",
	  "hunk 2 of f (line 8 of the patch) fits in more than one place: lines 2, 3." },
	/* stars */
	{ UPDATE "@@\n a\n-b\n+x\n" END, "a\nb\nc\n", "a\nx\nc\n", NULL },
	{ UPDATE " a\n-b\n+x\n" END, "a\nb\nc\n", "a\nx\nc\n", NULL },
	{ UPDATE "@@ -1,9 +1,9 @@\n a\n-b\n+x\n" END, "a\nb\nc\n", "a\nx\nc\n", NULL },
	{ UPDATE "@@ f\n-b\n+x\n" END, "e\nb\nf\n\nb\ng\nb\n", "e\nb\nf\n\nx\ng\nb\n", NULL },
	{ UPDATE "@@ f\n-b\n+x\n" END, "e\nb\n  f(int a)\nb\ng\nb\n", "e\nb\n  f(int a)\nx\ng\nb\n",
	  NULL },
	{ UPDATE "@@ int f @@\n-b\n+x\n" END, "e\nb\n  int f(int a)\nb\n",
	  "e\nb\n  int f(int a)\nx\n", NULL },
	{ UPDATE "@@ f\n f\n-b\n+x\n" END, "b\nf\nb\n", "b\nf\nx\n", NULL },
	{ UPDATE "@@ class B\n@@ f\n-b\n+x\n" END, "class A\nf\nb\nclass B\ne\nb\nf\nb\n",
	  "class A\nf\nb\nclass B\ne\nb\nf\nx\n", NULL },
	{ UPDATE "@@ f\n-b\n+x\n" END, "class A\nf\nb\nclass B\nf\nb\n", "PATCH_AMBIGUOUS",
	  "lines 3, 6." },
	{ UPDATE "@@ nobody\n-b\n+x\n" END, "a\nb\n", "PATCH_MISMATCH",
	  "no line of the file is what its @@ line names" },
	{ UPDATE "@@\n+x\n" END, "a\nb\n", "a\nb\nx\n", NULL },
	{ UPDATE "@@ a\n+x\n" END, "a\nb\n", "PATCH_AMBIGUOUS", "only adds" },
	{ UPDATE "@@\n-b\n+x\n*** End of File\n" END, "b\na\nb\n", "b\na\nx\n", NULL },
	{ UPDATE "@@\n-a\n+x\n*** End of File\n" END, "b\na\nb\n", "PATCH_MISMATCH", NULL },
	/* in their order, with context that two share */
	{ UPDATE "@@\n-a\n+1\n b\n@@\n b\n-c\n+3\n" END, "a\nb\nc\nb\n", "1\nb\n3\nb\n", NULL },
	{ UPDATE "@@\n-a\n+1\n b\n@@\n b\n-c\n+3\n" END, "a\nb\nc\nb\nc\n", "PATCH_AMBIGUOUS",
	  "lines 2, 4." },
	{ UPDATE "@@\n-a\n+1\n@@\n-b\n+2\n" END, "b\na\nb\n", "b\n1\n2\n", NULL },
	{ UPDATE "@@\n-c\n+3\n@@\n-a\n+1\n" END, "a\nb\nc\n", "1\nb\n3\n", NULL },
	/* line ends stay */
	{ UPDATE "@@\n-b\n+x\n" END, "a\nb", "a\nx", NULL },
	{ UPDATE "@@\n b\n+x\n" END, "a\nb", "a\nb\nx", NULL },
	{ UPDATE "@@\n a\n-b\n+x\n+y\n" END, "a\r\nb\r\n", "a\r\nx\r\ny\r\n", NULL },
	{ LABELS "@@ @@\n-b\n\\ No newline at end of file\n+x\n", "a\nb", "a\nx\n", NULL },
	{ LABELS "@@ @@\n-b\n+x\n", "a\nb", "a\nx", NULL },
	{ "*** Begin Patch\n*** Add File: f\n+a\n+\n+b\n" END, "", "a\n\nb\n", NULL },
};

static void check_place(const struct place_row *row)
{
	_cleanup_(slice_freep) struct slice text = exact_copy(slice_of(row->text));
	_cleanup_(slice_freep) struct slice old = exact_copy(slice_of(row->old));
	_cleanup_(patch_set_donep) struct patch_set set;
	_cleanup_(buf_done) struct buf out = { 0 };
	struct patch_place at[8];
	struct err e = { 0 };
	bool refusal = strncmp(row->want, "PATCH", 5) == 0;

	if (patch_read(text, -1, &set, &e) < 0)
		fail_msg("%s: %s", row->text, e.msg);
	assert_true(set.n == 1 && set.files[0].nhunks <= ARRAY_SIZE(at));
	if ((patch_apply(&set.files[0], old, &out, at, &e) < 0) != refusal ||
	    !slice_is(refusal ? slice_of(e.reason) : buf_slice(&out), row->want) ||
	    (refusal && row->said && !strstr(e.msg, row->said)))
		fail_msg("%s-> %.*s %s: %s", row->text, (int)buf_len(&out),
			 out.data ? out.data : "", e.reason, e.msg);
}

static void in_their_places(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		check_place(&places[i]);
}

/* --- git's own, written as models do -------------------------------------------------------------------- */

enum { COUNTS, NUMBERS, STARS, WAYS };

static void header_put(uint64_t *seed, int way, struct slice text, struct buf *out)
{
	unsigned old_at = 0, new_at = 0;
	_cleanup_(freep) char *line = xstrndup(text.p, text.n);
	const char *plus = strchr(line, '+');

	if (way != COUNTS) {
		buf_puts(out, way == STARS ? "@@\n" : "@@ ... @@\n");
		return;
	}
	assert_true(sscanf(line, "@@ -%u", &old_at) == 1 && sscanf(plus, "+%u", &new_at) == 1);
	buf_printf(out, "@@ -%u,%u +%u,%u @@\n", old_at, random_below(seed, 30), new_at,
		   random_below(seed, 30));
}

/* False: it says something that cannot be written in that way. */
static bool rewrite(uint64_t *seed, int way, struct slice patch, struct buf *out)
{
	bool body = false;

	buf_puts(out, way == STARS ? UPDATE : "--- f\n+++ f\n");
	for (const char *p = patch.p, *end = p + patch.n, *nl; p < end; p = nl + 1) {
		nl = memchr(p, '\n', (size_t)(end - p));
		body |= *p == '@';
		if (*p == '@')
			header_put(seed, way, (struct slice){ p, (size_t)(nl - p) }, out);
		else if (*p == '\\' && way == STARS)
			return false;
		else if (body)
			buf_add(out, p, (size_t)(nl + 1 - p));
	}
	buf_puts(out, way == STARS ? END : "");
	return true;
}

static void check_way(unsigned n, int way, struct slice patch, const struct buf *from,
		      const struct buf *to, unsigned *taken)
{
	_cleanup_(buf_done) struct buf text = { 0 }, out = { 0 };
	_cleanup_(patch_set_donep) struct patch_set set = { 0 };
	_cleanup_(freep) struct patch_place *at = NULL;
	uint64_t seed = n;
	struct err e = { 0 };
	int r;

	if (!rewrite(&seed, way, patch, &text))
		return;
	if (patch_read(buf_slice(&text), -1, &set, &e) < 0)
		fail_msg("case %u, %d: %s\n%.*s", n, way, e.msg, (int)text.len, text.data);
	at = calloc(set.files[0].nhunks + 1, sizeof(*at));
	r = patch_apply(&set.files[0], buf_slice(from), &out, at, &e);
	if (r < 0 && strcmp(e.reason, "PATCH_AMBIGUOUS") != 0)
		fail_msg("case %u, %d: %s\n%.*s", n, way, e.msg, (int)text.len, text.data);
	if (r == 0 && !slice_eq(buf_slice(&out), buf_slice(to)))
		fail_msg("case %u, %d: another result", n, way);
	taken[way] += r == 0;
}

static void never_anything_else(void **state _unused_)
{
	unsigned taken[WAYS] = { 0 };

	for (unsigned n = 1; n <= 300; n++) {
		_cleanup_(buf_done) struct buf from = { 0 }, to = { 0 }, patch = { 0 };
		struct patch_options options = { 3 };
		struct patch_stat stat = { 0 };

		text_pair_make(7919 * n, &from, &to);
		assert_int_equal(
			patch_append(&patch, "f",
				     &(struct diff_side){ from.data, from.len, PATCH_FILE },
				     &(struct diff_side){ to.data, to.len, PATCH_FILE }, &options,
				     &stat),
			0);
		for (int way = 0; way < WAYS && patch.len && !stat.binary; way++)
			check_way(n, way, buf_slice(&patch), &from, &to, taken);
	}
	print_message("of 300: %u with other counts, %u without numbers, %u with stars\n",
		      taken[COUNTS], taken[NUMBERS], taken[STARS]);
	assert_true(taken[COUNTS] > 200 && taken[NUMBERS] > 30 && taken[STARS] > 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused),
		cmocka_unit_test(names),
		cmocka_unit_test(in_their_places),
		cmocka_unit_test(never_anything_else),
	};

	return RUN(tests, NULL, NULL);
}
