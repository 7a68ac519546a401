/* Patches byte for byte as git writes them, and what is refused. */
#include "unit.h"

#include "base/limits.h"
#include "diff/git_patch.h"

#define A PATCH_FILE
#define X PATCH_EXECUTABLE
#define L PATCH_SYMLINK
#define ID_EMPTY "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
#define ID_NONE "0000000000000000000000000000000000000000"
#define ID_HELLO "ce013625030ba8dba906f756967f9e9ca394464a"
#define ID_NINE "07193989308c972f8a2d0f1b3a15c29ea4ac565b"
#define ID_HELLO_CUT "b6fc4c620b67d95f953a5c1c1230aaab5db5a1b0"

struct row {
	const char *path;
	unsigned from_mode;
	const char *from;
	unsigned to_mode;
	const char *to;
	const char *patch;
};

static const struct row rows[] = {
	{ "f", 0, "", 0, "", "" },
	{ "f", A, "hello\n", A, "hello\n", "" },
	{ "f", 0, "", A, "hello\n",
	  "diff --git a/f b/f\nnew file mode 100644\nindex " ID_NONE ".." ID_HELLO
	  "\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+hello\n" },
	{ "f", X, "hello\n", 0, "",
	  "diff --git a/f b/f\ndeleted file mode 100755\nindex " ID_HELLO ".." ID_NONE
	  "\n--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-hello\n" },
	{ "f", 0, "", A, "",
	  "diff --git a/f b/f\nnew file mode 100644\nindex " ID_NONE ".." ID_EMPTY "\n" },
	{ "f", A, "", 0, "",
	  "diff --git a/f b/f\ndeleted file mode 100644\nindex " ID_EMPTY ".." ID_NONE "\n" },
	{ "f", A, "hello\n", X, "hello\n",
	  "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n" },
	{ "f", X, "hello\n", A, "hello",
	  "diff --git a/f b/f\nold mode 100755\nnew mode 100644\nindex " ID_HELLO ".." ID_HELLO_CUT
	  "\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-hello\n+hello\n\\ No newline at end of file\n" },
	{ "s p", A, "hello", A, "hello\n",
	  "diff --git a/s p b/s p\nindex " ID_HELLO_CUT ".." ID_HELLO
	  " 100644\n--- a/s p\t\n+++ b/s p\t\n@@ -1 +1 @@\n-hello\n\\ No newline at end of file\n"
	  "+hello\n" },
	{ "\xc3\xa9 \"\\\t\n\x01", A, "", A, "hello\n",
	  "diff --git \"a/\\303\\251 \\\"\\\\\\t\\n\\001\" \"b/\\303\\251 \\\"\\\\\\t\\n\\001\"\n"
	  "index " ID_EMPTY ".." ID_HELLO " 100644\n"
	  "--- \"a/\\303\\251 \\\"\\\\\\t\\n\\001\"\t\n+++ \"b/\\303\\251 \\\"\\\\\\t\\n\\001\"\t\n"
	  "@@ -0,0 +1 @@\n+hello\n" },
	{ "f", L, "hello", A, "hello",
	  "diff --git a/f b/f\ndeleted file mode 120000\nindex " ID_HELLO_CUT ".." ID_NONE
	  "\n--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-hello\n\\ No newline at end of file\n"
	  "diff --git a/f b/f\nnew file mode 100644\nindex " ID_NONE ".." ID_HELLO_CUT
	  "\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+hello\n\\ No newline at end of file\n" },
	/* hunks: context cut at both ends, one hunk up to six unchanged lines apart, two at seven */
	{ "f", A, "1\n2\n3\n4\n5\n6\n7\n8\n9\n", A, "1\n2\n3\n4\nx\n6\n7\n8\n9\n",
	  "diff --git a/f b/f\nindex " ID_NINE ".."
	  "5d22a70813e934f551a3e47f41cdcd40416ab94e 100644\n--- a/f\n+++ b/f\n"
	  "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n" },
	{ "f", A, "1\n2\n3\n4\n5\n6\n7\n8\n9\n", A, "x\n2\n3\n4\n5\n6\n7\ny\n9\n",
	  "diff --git a/f b/f\nindex " ID_NINE "..b7b167536e644245fdfa7842cc0e56f8d390198f 100644\n"
	  "--- a/f\n+++ b/f\n"
	  "@@ -1,9 +1,9 @@\n-1\n+x\n 2\n 3\n 4\n 5\n 6\n 7\n-8\n+y\n 9\n" },
	{ "f", A, "1\n2\n3\n4\n5\n6\n7\n8\n9\n", A, "x\n2\n3\n4\n5\n6\n7\n8\n",
	  "diff --git a/f b/f\nindex " ID_NINE "..5146bf6f3dc5d25b18a30d5ef14f0e127e1b8587 100644\n"
	  "--- a/f\n+++ b/f\n"
	  "@@ -1,4 +1,4 @@\n-1\n+x\n 2\n 3\n 4\n@@ -6,4 +6,3 @@\n 6\n 7\n 8\n-9\n" },
	{ "f", A, "hello\n", A, "\xff",
	  "diff --git a/f b/f\nindex " ID_HELLO
	  "..ce542efaa5124a0437f0c4db329d7ec4b7ba70a7 100644\n"
	  "GIT binary patch\nliteral 1\nIcmewl0096200000\n\nliteral 6\nNcmc~u&B@8<0ssh00v`YX\n\n" },
};

static const struct patch_options options = { .context = DIFF_CONTEXT_LINES };

static struct diff_side side(const char *text, unsigned mode)
{
	return (struct diff_side){ text, strlen(text), mode };
}

static void test_rows(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];
		struct diff_side from = side(row->from, row->from_mode);
		struct diff_side to = side(row->to, row->to_mode);
		_cleanup_(buf_done) struct buf out = { 0 };
		struct patch_stat stat = { 0 };

		assert_int_equal(patch_append(&out, row->path, &from, &to, &options, &stat), 0);
		if (!slice_is(buf_slice(&out), row->patch))
			fail_msg("row %zu: %.*s", i, (int)out.len, out.data);
		assert_int_equal(stat.files, row->patch[0] != '\0');
	}
}

/* What stands in the bytes of a side that is not there does not matter. */
static void test_absent(void **state _unused_)
{
	_cleanup_(buf_done) struct buf out = { 0 };
	struct patch_stat stat = { 0 };
	struct diff_side none = side("text", 0), file = side("", A);

	assert_int_equal(patch_append(&out, "f", &none, &none, &options, &stat), 0);
	assert_int_equal(out.len, 0);
	assert_int_equal(patch_append(&out, "f", &none, &file, &options, &stat), 0);
	assert_buf(&out, rows[4].patch);
}

static void test_stat(void **state _unused_)
{
	_cleanup_(buf_done) struct buf out = { 0 };
	struct patch_stat stat = { 0 };
	struct diff_side sides[] = { side("a\nb\nc\n", A), side("a\nc\nd\ne\n", A), side("\xff", A),
				     side("target", L), side("", 0) };

	for (size_t i = 0; i + 1 < ARRAY_SIZE(sides); i++)
		assert_int_equal(patch_append(&out, "f", &sides[i], &sides[i + 1], &options, &stat),
				 0);
	assert_int_equal(stat.files, 4);
	assert_int_equal(stat.binary, 2);
	assert_int_equal(stat.insertions, 2 + 1);
	assert_int_equal(stat.deletions, 1 + 1);
}

static void test_context(void **state _unused_)
{
	_cleanup_(buf_done) struct buf out = { 0 };
	struct patch_stat stat = { 0 };
	struct diff_side from = side("1\n2\n3\n4\n5\n", A), to = side("1\n2\n4\n5\nx\n", A);
	static const char want[] = "@@ -3 +2,0 @@\n-3\n@@ -5,0 +5 @@\n+x\n";
	struct patch_options none = { 0 };

	assert_int_equal(patch_append(&out, "f", &from, &to, &none, &stat), 0);
	assert_non_null(memmem(out.data, out.len, want, strlen(want)));
}

/* After any error nothing has happened. */
static void check_refused(const char *path, struct diff_side from, struct diff_side to, size_t max,
			  int want)
{
	_cleanup_(buf_done) struct buf out = { .max = max };
	struct patch_stat stat = { .files = 7 };

	buf_puts(&out, "before");
	assert_int_equal(patch_append(&out, path, &from, &to, &options, &stat), want);
	assert_buf(&out, "before");
	assert_int_equal(stat.files, 7);
	assert_int_equal(stat.insertions + stat.deletions + stat.binary, 0);
	assert_false(out.failed);
	assert_int_equal(buf_putc(&out, 'x'), 0);
}

static void test_refused(void **state _unused_)
{
	struct diff_side text = side("1\n2\n", A), none = side("", 0), binary = side("\xff\n", A);
	struct diff_side huge = { "", DIFF_SIDE_MAX + 1, A };

	check_refused("", none, text, 4096, -EINVAL);
	check_refused("f", side("x", 0100600), text, 4096, -EINVAL);
	check_refused("f", text, side("x", 040000), 4096, -EINVAL);
	check_refused("f", text, huge, 4096, -EFBIG);
	check_refused("f", huge, none, 4096, -EFBIG);
	for (size_t max = 7; max < 170; max++) {
		check_refused("f", none, text, max, -E2BIG);
		check_refused("f", text, binary, max, -E2BIG);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),	cmocka_unit_test(test_absent),
		cmocka_unit_test(test_stat),	cmocka_unit_test(test_context),
		cmocka_unit_test(test_refused),
	};

	return RUN(tests, NULL, NULL);
}
