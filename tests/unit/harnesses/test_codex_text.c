/* Texts of Codex's items: patches as diffs, commands without their shell. */
#include "unit.h"

#include "harnesses/codex/internal.h"

#include <errno.h>

static void test_diffs(void **state _unused_)
{
	static const struct {
		const char *change, *want;
	} rows[] = {
		{ "{\"path\":\"/ws/a\",\"kind\":{\"type\":\"add\"},\"diff\":\"x\\n\"}",
		  "[{\"type\":\"diff\",\"path\":\"/ws/a\",\"oldText\":null,\"newText\":\"x\\n\"}]" },
		{ "{\"path\":\"/ws/a\",\"kind\":{\"type\":\"delete\"},\"diff\":\"x\\n\"}",
		  "[{\"type\":\"diff\",\"path\":\"/ws/a\",\"oldText\":\"x\\n\",\"newText\":\"\"}]" },
		{ "{\"path\":\"/ws/a\",\"kind\":{\"type\":\"update\",\"move_path\":\"/ws/b\"},"
		  "\"diff\":\"@@ -1,2 +1,2 @@\\n k\\n-o\\n+n\\n@@ -9 +9,2 @@\\n z\\n+y\"}",
		  "[{\"type\":\"diff\",\"path\":\"/ws/b\",\"oldText\":\"k\\no\\n\",\"newText\":\"k\\nn\\n\"},"
		  "{\"type\":\"diff\",\"path\":\"/ws/b\",\"oldText\":\"z\\n\",\"newText\":\"z\\ny\"}]" },
		{ "{\"path\":\"/ws/a\",\"kind\":{\"type\":\"update\"},"
		  "\"diff\":\"--- a\\n+++ b\\n@@ -1 +1 @@\\n-o\\n\\\\ No newline at end of file\\n+n\\n\"}",
		  "[{\"type\":\"diff\",\"path\":\"/ws/a\",\"oldText\":\"o\",\"newText\":\"n\\n\"}]" },
		{ "{\"path\":\"/ws/a\",\"kind\":{\"type\":\"update\"},\"diff\":\"\"}", "[]" },
		{ "{\"path\":7,\"diff\":\"@@\"}", "[]" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf b = { 0 }, list = { 0 };
		struct jw w = JW(&b);

		buf_printf(&list, "[%s]", rows[i].change);
		jw_arr(&w, NULL);
		codex_diff_put(&w, buf_slice(&list));
		jw_end_arr(&w);
		assert_text(buf_slice(&b), rows[i].want);
	}
}

static void test_commands_are_shown_without_their_shell(void **state _unused_)
{
	static const char *const rows[][2] = {
		{ "/bin/bash -lc 'echo hi; ls'", "echo hi; ls" },
		{ "/bin/bash -lc ls", "ls" },
		{ "/bin/bash -lc \"echo 'a' \\$x\"", "echo 'a' $x" },
		{ "/bin/bash -lc 'echo '\\''x'\\'", "echo 'x'" },
		{ "/bin/bash -lc 'a' 'b'", "/bin/bash -lc 'a' 'b'" },
		{ "/bin/bash -lc 'open", "/bin/bash -lc 'open" },
		{ "git status", "git status" },
		{ "", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(freep) char *got = codex_command_text(rows[i][0]);

		assert_string_equal(got, rows[i][1]);
	}
}

static void test_text_that_is_none(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);
	struct err e;

	assert_int_equal(codex_input_put(&w, "input",
					 SLICE("[{\"type\":\"text\",\"text\":\"hi\"},"
					       "{\"type\":\"resource_link\",\"name\":\"\\ud800\","
					       "\"uri\":\"file:///n\"}]"),
					 &e),
			 -EINVAL);
	assert_string_equal(e.reason, "CONTENT_UNSUPPORTED");
	assert_string_equal(e.field, "prompt[1]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_diffs),
		cmocka_unit_test(test_text_that_is_none),
		cmocka_unit_test(test_commands_are_shown_without_their_shell),
	};

	return RUN(tests, NULL, NULL);
}
