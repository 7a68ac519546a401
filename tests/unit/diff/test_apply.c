/* Patches by hand: what is read, what is refused and where, and where hunks go. */
#include "unit.h"

#include "diff/apply/apply.h"

static int parse(const char *text, int strip, struct patch_set *set, struct err *e)
{
	*e = (struct err){ 0 };
	return patch_read(slice_of(text), strip, set, e);
}

static void refused(void **state _unused_)
{
	static const struct {
		const char *reason, *text;
	} rows[] = {
		{ "PATCH_EMPTY", "" },
		{ "PATCH_CORRUPT", "--- a/f\n+++ b/f\n" },
		{ "PATCH_EMPTY", "diff --git a/f b/f\nnothing\n" },
		{ "PATCH_CORRUPT", "diff --git a/f b/f\nindex 1..2 100644\n" },
		{ "PATCH_CORRUPT", "@@ -1 +1 @@\n-a\n+b\n" },
		{ "PATCH_CORRUPT", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n*b\n" },
		{ "PATCH_CORRUPT", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n a\n" },
		{ "PATCH_CORRUPT", "--- f\n+++ f\n@@ -1 +1 @@\n-a\n+b\n" },
		{ "PATCH_CORRUPT", "--- /dev/null\n+++ /dev/null\n@@ -0,0 +1 @@\n+b\n" },
		{ "PATCH_CORRUPT", "--- /dev/null\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n" },
		{ "PATCH_CORRUPT", "--- a/f\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n" },
		{ "PATCH_CORRUPT", "diff --git a/f b/f\nold mode 1\nnew mode 2\n" },
		{ "PATCH_CORRUPT", "diff --git a/f b/g\nrename from f\n" },
		{ "PATCH_CORRUPT",
		  "diff --git a/f b/f\nindex 1..2 100644\n--- a/g\n+++ b/h\n@@ -1 +1 @@\n-a\n+b\n" },
		{ "PATCH_PATH", "--- a/../f\n+++ b/../f\n@@ -1 +1 @@\n-a\n+b\n" },
		{ "PATCH_PATH", "--- a/x/./f\n+++ b/x/./f\n@@ -1 +1 @@\n-a\n+b\n" },
		{ "PATCH_PATH", "--- a/.git/f\n+++ b/.git/f\n@@ -1 +1 @@\n-a\n+b\n" },
		{ "PATCH_PATH",
		  "diff --git a/f b/f\nsimilarity index 100%\nrename from f\nrename to /f\n" },
		{ "PATCH_BINARY",
		  "diff --git a/f b/f\nindex 1..2\nBinary files a/f and b/f differ\n" },
		{ "PATCH_BINARY",
		  "diff --git a/f b/f\nindex 1..2\nGIT binary patch\nliteral 1\nIcmZP\n\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct patch_set set;
		struct err e;

		if (parse(rows[i].text, 1, &set, &e) != -EINVAL ||
		    strcmp(e.reason, rows[i].reason) != 0)
			fail_msg("%s: \"%s\"", rows[i].text, e.reason);
		patch_set_done(&set);
	}
}

static void names(void **state _unused_)
{
	static const struct {
		int strip;
		const char *text, *from, *to;
	} rows[] = {
		{ 1, "--- a/x/f\n+++ b/x/f\n@@ -1 +1 @@\n-a\n+b\n", "x/f", "x/f" },
		{ 0, "--- f\n+++ f\n@@ -1 +1 @@\n-a\n+b\n", "f", "f" },
		{ 2, "--- a/x/f\n+++ b/x/f\n@@ -1 +1 @@\n-a\n+b\n", "f", "f" },
		{ 1, "--- a/f\t2020-01-01 00:00:00\n+++ b/f\t2020-01-01\n@@ -1 +1 @@\n-a\n+b\n",
		  "f", "f" },
		{ 1, "--- a/f.orig\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n", "f", "f" },
		{ 1, "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+b\n", NULL, "f" },
		{ 1, "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n", "f", NULL },
		{ 1, "diff --git a/a b b/a b\nold mode 100644\nnew mode 100755\n", "a b", "a b" },
		{ 1,
		  "diff --git \"a/\\303\\251\\t\" \"b/\\303\\251\\t\"\nold mode 100644\nnew mode 100755\n",
		  "\303\251\t", "\303\251\t" },
		{ 1, "diff --git a/e b/e\nnew file mode 100644\nindex 0..0\n", NULL, "e" },
		{ 1, "diff --git a/e b/e\ndeleted file mode 100644\nindex 0..0\n", "e", NULL },
		{ 1, "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n", "x",
		  "y" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct patch_set set;
		struct err e;

		if (parse(rows[i].text, rows[i].strip, &set, &e) < 0)
			fail_msg("%s: %s", rows[i].text, e.msg);
		assert_int_equal(set.n, 1);
		if (!slice_eq(slice_of(set.files[0].from), slice_of(rows[i].from)) ||
		    !slice_eq(slice_of(set.files[0].to), slice_of(rows[i].to)))
			fail_row(i, rows[i].text);
		patch_set_done(&set);
	}
}

static void places(void **state _unused_)
{
	static const struct {
		const char *hunks, *old, *want; /* want NULL: no place */
		size_t at;
		int64_t offset;
	} rows[] = {
		{ "@@ -2 +2 @@\n-b\n+x\n c\n", "a\nb\nc\n", "a\nx\nc\n", 2,
		  0 }, /* says one line, has two: counted */
		{ "@@ -2,2 +2,2 @@\n-b\n+x\n c\n", "a\nb\nc\n", "a\nx\nc\n", 2, 0 },
		{ "@@ -2,2 +2,2 @@\n-b\n+x\n c\n", "0\n0\na\nb\nc\n", "0\n0\na\nx\nc\n", 4, 2 },
		{ "@@ -9,2 +9,2 @@\n-b\n+x\n c\n", "b\nc\n", "x\nc\n", 1, -8 },
		{ "@@ -1,2 +1,2 @@\n-b\n+x\n c\n", "a\nb\nc\n", NULL, 0,
		  0 }, /* at the beginning only */
		{ "@@ -2,2 +2,2 @@\n b\n-c\n+x\n", "a\nb\nc\nd\n", NULL, 0,
		  0 }, /* at the end only */
		{ "@@ -2,2 +2,2 @@\n b\n-c\n+x\n", "a\na\nb\nc\n", "a\na\nb\nx\n", 3, 1 },
		{ "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n", "a", "a\n", 1, 0 },
		{ "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n", "a\n", NULL, 0, 0 },
		{ "@@ -0,0 +1 @@\n+a\n", "", "a\n", 1, 0 },
		{ "@@ -2,2 +2,3 @@\n a\n+n\n\n", "0\na\n\n", "0\na\nn\n\n", 2,
		  0 }, /* an empty line without its blank */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf text = { 0 }, out = { 0 };
		_cleanup_(slice_freep) struct slice old = exact_copy(slice_of(rows[i].old));
		struct patch_place at = { 0 };
		struct patch_set set;
		struct err e;
		int r;

		buf_printf(&text, "--- a/f\n+++ b/f\n%s", rows[i].hunks);
		r = patch_read(buf_slice(&text), 1, &set, &e);
		if (r == 0)
			r = patch_apply(&set.files[0], old, &out, &at, &e);
		if ((r == 0) != (rows[i].want != NULL) || at.at != rows[i].at ||
		    at.offset != rows[i].offset)
			fail_msg("row %zu: %d at %zu (%d)", i, r, at.at, (int)at.offset);
		if (r == 0)
			assert_buf(&out, rows[i].want);
		patch_set_done(&set);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused),
		cmocka_unit_test(names),
		cmocka_unit_test(places),
	};

	return RUN(tests, NULL, NULL);
}
