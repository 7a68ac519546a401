/* test_builtin_globs.c - patterns with braces, and regular expressions whose cost is bounded. */
#include "unit.h"

#include "base/buf.h"
#include "base/limits.h"
#include "tools/builtin/search/globs.h"
#include "tools/builtin/search/regex.h"

static void test_globs(void **state _unused_)
{
	static const struct {
		const char *pattern, *path;
		bool deep, want;
	} rows[] = {
		{ "*.c", "a.c", false, true },
		{ "*.c", "src/a.c", false, false },
		{ "*.c", "src/a.c", true, true },
		{ "**/*.c", "a.c", false, true },
		{ "**/*.c", "x/y/a.c", false, true },
		{ "./src/*.c", "src/a.c", false, true },
		{ "src/{a,b}.{c,h}", "src/b.h", false, true },
		{ "src/{a,b}.{c,h}", "src/c.h", false, false },
		{ "{src,lib/{x,y}}/*", "lib/y/f", false, true },
		{ "{a,}b", "b", false, true },
		{ "\\{a\\}", "{a}", false, true },
		{ "a{\\,,b}c", "a,c", false, true },
		{ "{a}", "a", false, true },
		{ "[ab].c", "b.c", false, true },
		{ "a}", "a}", false, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct globs g = { .deep = rows[i].deep };
		struct err e;

		if (globs_add(&g, rows[i].pattern, "glob", &e) < 0 ||
		    globs_match(&g, rows[i].path) != rows[i].want)
			fail_row(i, rows[i].pattern);
		globs_done(&g);
	}
}

static void test_bad_globs(void **state _unused_)
{
	static const char *const rows[] = {
		"", "./", "/etc", "{a", "{{a}", "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct globs g = { 0 };
		struct err e = { 0 };

		if (globs_add(&g, rows[i], "glob", &e) == 0 ||
		    strcmp(e.reason, "PATTERN_INVALID") != 0)
			fail_row(i, rows[i]);
		globs_done(&g);
	}
}

/* A pattern as a hostile client writes it: text, repeated. */
static void refuse_repeated(const char *text, size_t times, const char *end)
{
	_cleanup_(buf_done) struct buf pattern = { 0 };
	struct globs g = { 0 };
	struct err e = { 0 };

	for (size_t i = 0; i < times; i++)
		buf_puts(&pattern, text);
	buf_puts(&pattern, end);
	buf_putc(&pattern, '\0');
	if (globs_add(&g, pattern.data, "glob", &e) == 0)
		fail_msg("%zu times %s", times, text);
	assert_string_equal(e.reason, "PATTERN_INVALID");
	globs_done(&g);
}

static void test_large_globs(void **state _unused_)
{
	refuse_repeated("{a}", TOOL_GLOB_BRACES_MAX + 1, "");
	refuse_repeated("{a}", 100000, "");
	refuse_repeated("{", 5000, "");
	refuse_repeated("a", TOOL_GLOB_BYTES_MAX + 1, "");
	refuse_repeated("{a,", TOOL_GLOB_BRACES_MAX + 1, "");
}

static void test_regex(void **state _unused_)
{
	static const struct {
		const char *pattern, *text;
		bool literal, ignore_case;
		int start, end; /* -1: no match */
	} rows[] = {
		{ "b+", "abbc", false, false, 1, 3 },
		{ "\\d{2}", "a123", false, false, 1, 3 },
		{ "(?:x|y)z", "ayz", false, false, 1, 3 },
		{ "a.*?b", "aXbXb", false, false, 0, 3 },
		{ "B", "abc", false, false, -1, 0 },
		{ "B", "abc", false, true, 1, 2 },
		{ "a.c", "abc", true, false, -1, 0 },
		{ "a.c", "xa.c", true, false, 1, 4 },
		{ "\\u00e4", "\xc3\xa4", false, false, 0, 2 },
		{ "b$",
		  "\xff"
		  "ab",
		  false, false, 2, 3 },
		{ "", "", false, false, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct slice text = exact_copy(slice_of(rows[i].text));
		size_t start = 0, end = 0;
		struct regex *r;
		struct err e;
		bool found;

		r = regex_new(slice_of(rows[i].pattern), rows[i].literal, rows[i].ignore_case, &e);
		if (!r)
			fail_row(i, rows[i].pattern);
		found = regex_find(r, text, &start, &end) == REGEX_MATCHED;
		if (found != (rows[i].start >= 0) ||
		    (found && ((int)start != rows[i].start || (int)end != rows[i].end)))
			fail_row(i, rows[i].pattern);
		regex_free(r);
		slice_freep(&text);
	}
}

static void test_regex_bounds(void **state _unused_)
{
	static const char *const rows[] = { "(", "[", "a{2,1}", "(?<n>a)(?<n>b)", "\\C", "*" };
	char text[64];
	size_t start, end;
	struct regex *r;
	struct err e;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		r = regex_new(slice_of(rows[i]), false, false, &e);
		if (r || strcmp(e.reason, "EUNSUPPORTED_PATTERN") != 0)
			fail_row(i, rows[i]);
	}
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = 'b';
	r = regex_new(SLICE("^(a|a?)+$"), false, false, &e);
	assert_non_null(r);
	assert_int_equal(regex_find(r, (struct slice){ text, sizeof(text) }, &start, &end),
			 REGEX_TOO_COSTLY);
	regex_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_globs),	     cmocka_unit_test(test_bad_globs),
		cmocka_unit_test(test_large_globs),  cmocka_unit_test(test_regex),
		cmocka_unit_test(test_regex_bounds),
	};

	return RUN(tests, NULL, NULL);
}
