/* Names of archives: what is dropped, what is refused and why, strip and into. */
#include "unit.h"

#include "tree/path_rules.h"

static const struct path_limits defaults = { PATH_BYTES_MAX, PATH_DEPTH_MAX };

static const struct {
	struct slice raw;
	const char *want; /* a path, or a reason in capitals */
} rows[] = {
	{ SLICE("a"), "a" },
	{ SLICE("a/b"), "a/b" },
	{ SLICE("./a//b/./c/"), "a/b/c" },
	{ SLICE(".//etc/passwd"), "etc/passwd" },
	{ SLICE("./"), "" },
	{ SLICE("."), "" },
	{ SLICE("-rf"), "-rf" },
	{ SLICE("..."), "..." },
	{ SLICE("..data/..x"), "..data/..x" },
	{ SLICE("\xc3\xbc/\xf0\x9f\xa6\x8a"), "\xc3\xbc/\xf0\x9f\xa6\x8a" },
	{ SLICE("\xc2\xa0"), "\xc2\xa0" },
	{ SLICE("ab:c"), "ab:c" },
	{ SLICE(""), "NAME_EMPTY" },
	{ SLICE("/"), "NAME_ABSOLUTE" },
	{ SLICE("/a"), "NAME_ABSOLUTE" },
	{ SLICE("//a"), "NAME_ABSOLUTE" },
	{ SLICE("C:/a"), "NAME_ABSOLUTE" },
	{ SLICE("c:a"), "NAME_ABSOLUTE" },
	{ SLICE(".."), "NAME_DOTDOT" },
	{ SLICE("a/../b"), "NAME_DOTDOT" },
	{ SLICE("a/.."), "NAME_DOTDOT" },
	{ SLICE("a\0b"), "NAME_CONTROL" },
	{ SLICE("a\nb"), "NAME_CONTROL" },
	{ SLICE("a\x7f"), "NAME_CONTROL" },
	{ SLICE("a\xc2\x9b"), "NAME_CONTROL" },
	{ SLICE("a\\b"), "NAME_BACKSLASH" },
	{ SLICE("a\xff"), "NAME_NOT_UTF8" },
	{ SLICE("\xc0\xaf"), "NAME_NOT_UTF8" },
	{ SLICE("\xe0\x80\xaf"), "NAME_NOT_UTF8" },
	{ SLICE("\xed\xa0\x80"), "NAME_NOT_UTF8" },
	{ SLICE("\xf4\x90\x80\x80"), "NAME_NOT_UTF8" },
	{ SLICE("a\xc3"), "NAME_NOT_UTF8" },
	{ SLICE(".acpd-stage-0123456789abcdef/x"), "NAME_RESERVED" },
	{ SLICE("a/.acpd-stage"), "NAME_RESERVED" },
};

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(slice_freep) struct slice raw = exact_copy(rows[i].raw);
		struct path_fault fault = { 0 };
		struct checked_path name;
		bool good = checked_path_parse(raw, &defaults, &name, &fault);

		if (strcmp(good ? name.path : fault.reason, rows[i].want) != 0)
			fail_row(i, good ? name.path : fault.reason);
		if (good && strlen(name.path) != name.n)
			fail_row(i, "length");
	}
}

/* n components of the same letter repeated. */
static void check_limit(size_t component, size_t n, const struct path_limits *limits,
			const char *want, uint64_t limit, uint64_t used)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct path_fault fault = { 0 };
	struct checked_path name;

	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < component; k++)
			buf_putc(&b, 'x');
		buf_putc(&b, '/');
	}
	if (!want) {
		assert_true(checked_path_parse(buf_slice(&b), limits, &name, &fault));
		assert_int_equal(name.depth, n);
		assert_true(name.slash_after);
		return;
	}
	assert_false(checked_path_parse(buf_slice(&b), limits, &name, &fault));
	assert_string_equal(fault.reason, want);
	assert_int_equal(fault.limit, limit);
	assert_int_equal(fault.used, used);
}

static void test_limits(void **state)
{
	struct path_limits small = { 20, 3 };

	(void)state;
	check_limit(255, 2, &defaults, NULL, 0, 0);
	check_limit(256, 1, &defaults, "NAME_TOO_LONG", 255, 256);
	check_limit(255, 16, &defaults, NULL, 0, 0); /* 4095 bytes */
	check_limit(255, 17, &defaults, "PATH_TOO_LONG", 4096, 4351);
	check_limit(1, 128, &defaults, NULL, 0, 0);
	check_limit(1, 129, &defaults, "PATH_TOO_DEEP", 128, 129);
	check_limit(1, 3, &small, NULL, 0, 0);
	check_limit(1, 4, &small, "PATH_TOO_DEEP", 3, 4);
	check_limit(10, 2, &small, "PATH_TOO_LONG", 20, 21);
}

static void test_strip_and_under(void **state)
{
	struct path_fault fault = { 0 };
	struct path_limits small = { 8, 3 };
	struct checked_path name;

	(void)state;
	assert_true(checked_path_parse(SLICE("a/bc/d"), &defaults, &name, &fault));
	assert_true(checked_path_strip(&name, 0));
	assert_string_equal(name.path, "a/bc/d");
	assert_true(checked_path_strip(&name, 2));
	assert_string_equal(name.path, "d");
	assert_int_equal(name.depth, 1);
	assert_false(checked_path_strip(&name, 1));
	assert_true(checked_path_under(&name, "", &small, &fault));
	assert_true(checked_path_under(&name, "x/y", &small, &fault));
	assert_string_equal(name.path, "x/y/d");
	assert_int_equal(name.depth, 3);
	assert_int_equal(name.n, 5);
	assert_false(checked_path_under(&name, "z", &small, &fault));
	assert_string_equal(fault.reason, "PATH_TOO_DEEP");
	assert_false(checked_path_under(&name, "long", &small, &fault));
	assert_string_equal(fault.reason, "PATH_TOO_LONG");
	assert_true(checked_path_parse(SLICE("./"), &defaults, &name, &fault));
	assert_true(checked_path_under(&name, "x/y", &defaults, &fault));
	assert_string_equal(name.path, "x/y");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_strip_and_under),
	};

	return RUN(tests, NULL, NULL);
}
