/* Results of tests, from what runners print and from JUnit files. */
#include "unit.h"

#include "tools/builtin/testrun/testrun_parse.h"
#include "tools/builtin/testrun/testrun.h"

struct row {
	const char *format, *text, *want;
	long planned;
};

static void feed(struct test_report *r, const char *text)
{
	_cleanup_(slice_freep) struct slice all = exact_copy(slice_of(text));
	size_t from = 0;

	for (size_t i = 0; i <= all.n; i++) {
		_cleanup_(slice_freep) struct slice line = { NULL, 0 };

		if (i < all.n && all.p[i] != '\n')
			continue;
		line = exact_copy((struct slice){ all.p + from, i - from });
		test_report_line(r, line);
		from = i + 1;
	}
	test_report_end(r);
}

#define R(name, status) "{\"name\":\"" name "\",\"status\":\"" status "\"}"

static const struct row rows[] = {
	{ "tap", "TAP version 14\n1..5\nok 1 - a\nnot ok 2 - b\nok 3 - c # SKIP why\n",
	  R("a", "passed") "," R("b", "failed") "," R("c", "skipped"), 5 },
	{ "auto", "> t\n\nTAP version 13\nok 1 - a\nnot ok 2 b # TODO later\n1..2\n",
	  R("a", "passed") "," R("b", "skipped"), 2 },
	{ "tap",
	  "# Subtest: suite\n    # Subtest: one\n    ok 1 - one\n      ---\n      duration_ms: "
	  "1.6\n      ...\n    not ok 2 - two\n      ---\n      error: 'boom'\n      ...\n    "
	  "1..2\nnot ok 1 - suite\n  ---\n  type: 'suite'\n  ...\nok 2 - last\n1..2\n",
	  "{\"name\":\"one\",\"suite\":\"suite\",\"status\":\"passed\",\"durationMs\":2},"
	  "{\"name\":\"two\",\"suite\":\"suite\",\"status\":\"failed\",\"message\":\"error: "
	  "'boom'\"}," R("last", "passed"),
	  2 },
	{ "tap", "ok 1\nokay 2\nok\nok 1 - a\\# skip b\n",
	  R("", "passed") "," R("a\\\\# skip b", "passed"), -1 },
	{ "auto",
	  "=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n    --- SKIP: TestB/x "
	  "(0.50s)\n--- FAIL: TestB (1.25s)\nFAIL\nok  \tpkg\t0.003s\n",
	  "{\"name\":\"TestA\",\"status\":\"passed\",\"durationMs\":0},{\"name\":\"TestB/x\","
	  "\"status\":\"skipped\",\"durationMs\":500},{\"name\":\"TestB\",\"status\":\"failed\","
	  "\"durationMs\":1250}",
	  -1 },
	{ "auto",
	  "running 3 tests\ntest a::b ... ok\ntest c ... FAILED\ntest d ... ignored, slow\n"
	  "test result: FAILED. 1 passed\n",
	  R("a::b", "passed") "," R("d", "skipped") "," R("c", "failed"), -1 },
	{ "cargo",
	  "test a ... FAILED\ntest b - should panic ... ok\ntest c ... FAILED\n\nfailures:\n\n---- c "
	  "stdout ----\nwhy c\n  left: 1\n\n---- none stdout ----\nx\n\nfailures:\n    a\n    c\n\ntest "
	  "result: FAILED\n     Running more\ntest a ... ok\ntest d ... FAILED\n",
	  R("b", "passed") ",{\"name\":\"c\",\"status\":\"failed\",\"message\":\"why c\\n  left: "
			   "1\\n\"}," R("a", "failed") "," R("a", "passed") "," R("d", "failed"),
	  -1 },
	{ "go",
	  "=== RUN   TestA\n=== PAUSE TestA\n=== RUN   TestB\n    b_test.go:3: of b\n=== CONT  TestA\n"
	  "    a_test.go:5: of a\n        more\n--- FAIL: TestA (0.00s)\n--- FAIL: TestB (0.00s)\n",
	  "{\"name\":\"TestA\",\"status\":\"failed\",\"durationMs\":0,\"message\":\"a_test.go:5: of "
	  "a\\nmore\"},{\"name\":\"TestB\",\"status\":\"failed\",\"durationMs\":0}",
	  -1 },
	{ "auto",
	  "============ test session starts ====\ntests/a.py::test_x PASSED   [ 33%]\n"
	  "tests/a.py::test_y[a b] FAILED [ 66%]\ntests/a.py::test_z SKIPPED (no) [100%]\n"
	  "FAILED tests/a.py::test_y - assert\n",
	  R("tests/a.py::test_x", "passed") "," R("tests/a.py::test_y[a b]",
						  "failed") "," R("tests/a.py::test_z", "skipped"),
	  -1 },
	{ "auto",
	  "  things\n    \x1b[32m\xe2\x9c\x94\x1b[0m work (12ms)\n    \xe2\x9c\x96 break (1.5 ms)\n"
	  "\xe2\x9c\x96 failing tests:\n\xe2\x9c\x96 break (1.5 ms)\n",
	  "{\"name\":\"work\",\"status\":\"passed\",\"durationMs\":12},{\"name\":\"break\","
	  "\"status\":\"failed\",\"durationMs\":2}",
	  -1 },
	{ "auto", "   \xe2\x9c\x93 adds 1\x1b[32m 12\x1b[2mms\x1b[22m\n   \xc3\x97 takes 2s 1.5s\n",
	  "{\"name\":\"adds 1\",\"status\":\"passed\",\"durationMs\":12},{\"name\":\"takes 2s\","
	  "\"status\":\"failed\",\"durationMs\":1500}",
	  -1 },
	{ "auto", "hello\n---\nnothing here\n", "", -1 },
	{ "exit", "ok 1 - a\n", "", -1 },
	{ "go", "ok 1 - a\n", "", -1 },
};

static void test_lines(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct test_report r;

		test_report_init(&r, test_format_find(rows[i].format));
		feed(&r, rows[i].text);
		if (!slice_is(buf_slice(&r.items), rows[i].want)) {
			print_error("got:  %.*s\nwant: %s\n", (int)r.items.len, r.items.data,
				    rows[i].want);
			fail_row(i, rows[i].text);
		}
		if (r.planned != rows[i].planned)
			fail_row(i, "planned");
		test_report_done(&r);
	}
}

static void test_many(void **state _unused_)
{
	struct test_report r;

	test_report_init(&r, test_format_find("tap"));
	for (unsigned i = 0; i < 60000; i++)
		test_report_line(&r, SLICE("ok 1 - a test with a name of some length"));
	test_report_end(&r);
	assert_int_equal(r.count[TEST_PASSED], 60000);
	assert_in_range(r.items.len, 1 << 20, (1 << 20) + 100);
	assert_in_range(r.unlisted, 40000, 59999);
	test_report_done(&r);
}

static void test_junit(void **state _unused_)
{
	static const struct {
		const char *xml, *want;
		bool whole;
	} docs[] = {
		{ "<?xml version='1.0'?><!DOCTYPE x><testsuites><!-- <testcase name='no'/> -->"
		  "<testsuite name='s'><testcase name='a' classname='C' time='0.25'/>\n"
		  "<testcase name='&lt;b&gt;&#65;&#x1F600;' ><failure message='x &amp; y'>at "
		  "1</failure></testcase><testcase name=\"c>\"><skipped/></testcase>"
		  "<testcase name='d'><system-out>noise</system-out><error><![CDATA[<boom>]]></"
		  "error></testcase></testsuite></testsuites>",
		  "{\"name\":\"a\",\"suite\":\"C\",\"status\":\"passed\",\"durationMs\":250},"
		  "{\"name\":\"<b>A\xf0\x9f\x98\x80\",\"status\":\"failed\",\"message\":\"x & "
		  "y\\nat 1\"},{\"name\":\"c>\",\"status\":\"skipped\"},{\"name\":\"d\","
		  "\"status\":\"failed\",\"message\":\"<boom>\"}",
		  true },
		{ "<testsuites><testsuite name='pytest'><testcase classname='tests.test_a.TestX' "
		  "name='test_y[a b]' file='tests/test_a.py' line='3'/><testcase "
		  "classname='test_b' name='test_z' file='test_b.py'/><testcase "
		  "classname='other' name='q' file='test_b.py'/></testsuite></testsuites>",
		  "{\"name\":\"test_y[a b]\",\"suite\":\"tests/test_a.py::TestX\",\"status\":"
		  "\"passed\"},{\"name\":\"test_z\",\"suite\":\"test_b.py\",\"status\":\"passed\"},"
		  "{\"name\":\"q\",\"suite\":\"other\",\"status\":\"passed\"}",
		  true },
		{ "<testsuite><testcase name='a'/><testcase name='b'><fail", R("a", "passed"),
		  false },
		{ "<testsuite><testcase name='a", "", false },
		{ "<testsuite><testcase name='&bogus; &#0; &'/></testsuite>",
		  R("&bogus; &#0; &", "passed"), true },
		{ "", "", false },
		{ "no xml at all", "", false },
		{ "<", "", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(docs); i++) {
		_cleanup_(slice_freep) struct slice xml = exact_copy(slice_of(docs[i].xml));
		struct test_report r;
		bool whole;

		test_report_init(&r, test_format_find("junit"));
		whole = test_junit_read(xml, &r);
		if (!slice_is(buf_slice(&r.items), docs[i].want) || whole != docs[i].whole) {
			print_error("got:  %.*s\n", (int)r.items.len, r.items.data);
			fail_row(i, docs[i].xml);
		}
		test_report_done(&r);
	}
}

/* As vitest 4 and jest 30 write it, without what is not read. */
#define JSON_TESTS(file, error, skipped)                                                                \
	"{\"numTotalTests\":4,\"success\":false,\"testResults\":[{\"assertionResults\":[],\"status\":"  \
	"\"failed\",\"message\":\"Cannot find module\",\"name\":\"/w/src/broken.js\"},"                 \
	"{\"assertionResults\":[{\"ancestorTitles\":[\"sums\",\"small\"],\"fullName\":\"sums small "    \
	"adds\",\"status\":\"passed\",\"title\":\"adds\",\"duration\":1.202245,\"failureMessages\":[]}" \
	",{\"ancestorTitles\":[\"sums\"],\"status\":\"failed\",\"title\":\"says \\\"a\\\"\","           \
	"\"duration\":5,\"failureMessages\":[\"" error                                                  \
	"\"]},{\"ancestorTitles\":[\"sums\"],\"duration\":null,\"status\":\"" skipped                   \
	"\",\"title\":\"later\",\"failureMessages\":[]},{\"ancestorTitles\":[],\"status\":\"passed\","  \
	"\"title\":\"alone\",\"duration\":0}],\"status\":\"failed\",\"message\":\"\",\"name\":\"" file  \
	"\"}]}"
#define JSON_RESULTS(file, error)                                                                  \
	"{\"name\":\"src/broken.js\",\"status\":\"failed\",\"message\":\"Cannot find module\"},"   \
	"{\"name\":\"adds\",\"suite\":\"" file                                                     \
	" > sums > small\",\"status\":\"passed\",\"durationMs\":1},{\"name\":\"says \\\"a\\\"\","  \
	"\"suite\":\"" file                                                                        \
	" > sums\",\"status\":\"failed\",\"durationMs\":5,\"message\":\"" error                    \
	"\"},{\"name\":\"later\",\"suite\":\"" file                                                \
	" > sums\",\"status\":\"skipped\"},{\"name\":\"alone\",\"suite\":\"" file                  \
	"\",\"status\":\"passed\",\"durationMs\":0}"

static void test_json(void **state _unused_)
{
	static const struct {
		const char *json, *want;
		bool whole;
	} docs[] = {
		{ JSON_TESTS("/w/src/a.js", "Error: expected 3 to be 4\\n    at /w/src/a.js:5:48",
			     "skipped"),
		  JSON_RESULTS("src/a.js", "Error: expected 3 to be 4\\n    at /w/src/a.js:5:48"),
		  true },
		{ JSON_TESTS("/wide/a.js", "\\u001b[31mred\\u001b[39m", "pending"),
		  JSON_RESULTS("/wide/a.js", "red"), true },
		{ "{\"numTotalTests\":0,\"testResults\":[]}", "", true },
		{ "{\"testResults\":[1,{},{\"assertionResults\":[null,{}],\"status\":\"failed\"},"
		  "{\"assertionResults\":7,\"status\":\"passed\"}]}",
		  R("", "skipped"), true },
		{ "{\"testResults\":[{\"assertionResults\":[{\"title\":\"a\"", "", false },
		{ "{\"testResults\":{}}", "", false },
		{ "{}", "", false },
		{ "[]", "", false },
		{ "{", "", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(docs); i++) {
		_cleanup_(slice_freep) struct slice json = exact_copy(slice_of(docs[i].json));
		struct test_report r;
		bool whole;

		test_report_init(&r, test_format_find("junit"));
		whole = test_json_read(json, "/w", &r);
		if (!slice_is(buf_slice(&r.items), docs[i].want) || whole != docs[i].whole) {
			print_error("got:  %.*s\nwant: %s\n", (int)r.items.len, r.items.data,
				    docs[i].want);
			fail_row(i, docs[i].json);
		}
		test_report_done(&r);
	}
}

static void test_runner_of_a_script(void **state _unused_)
{
	static const struct {
		const char *script, *runner;
	} scripts[] = {
		{ "vitest", "vitest" },
		{ "vitest run --coverage", "vitest" },
		{ "tsc -p . && CI=1 npx vitest run", "vitest" },
		{ "jest", "jest" },
		{ "cross-env NODE_ENV=test jest --runInBand", "jest" },
		{ "node --experimental-vm-modules ./node_modules/jest/bin/jest.js", "jest" },
		{ "node --test", "node" },
		{ "node --no-warnings --test", "node" },
		/* what is added would go astray */
		{ "vitest run && eslint .", NULL },
		{ "vitest run | tee log", NULL },
		{ "vitest run > log", NULL },
		{ "jest # all", NULL },
		{ "jest --json", NULL },
		{ "vitest --reporter verbose", NULL },
		{ "vitest --outputFile=x", NULL },
		{ "jest -- a", NULL },
		{ "node --test test/", NULL },
		{ "node --test --test-reporter=spec", NULL },
		{ "node jest.config.js", NULL },
		{ "eslint src/jest", NULL },
		{ "sh -c 'jest'", NULL },
		{ "npm run jest", NULL },
		{ "mocha", NULL },
		{ "", NULL },
		{ "&&", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
		const struct test_runner *r = test_runner_of_script(scripts[i].script);
		const char *got = r ? r->name : "none", *want = scripts[i].runner;

		if (strcmp(got, want ? want : "none") != 0)
			fail_row(i, scripts[i].script);
	}
}

/* Names in `only` are text: what a regular expression gives a meaning is escaped. */
static void test_only_for_go(void **state _unused_)
{
	static const struct {
		const char *only[3], *want;
	} names[] = {
		{ { "TestA" }, "^TestA$" },
		{ { "TestA/sub", "TestB" }, "^TestA$/^sub$|^TestB$" },
		{ { "TestA/a(b" }, "^TestA$/^a\\(b$" },
		{ { "TestA/[x]", "TestA/a|b" }, "^TestA$/^\\[x\\]$|^TestA$/^a\\|b$" },
		{ { "TestA/1.5_*_2+{3}?$^\\" }, "^TestA$/^1\\.5_\\*_2\\+\\{3\\}\\?\\$\\^\\\\$" },
	};
	char *words[] = { (char[]){ "go" }, (char[]){ "{only}" }, NULL };
	struct test_target target = { .argv = words, .joined_only = "-run" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char **only = (char **)(uintptr_t)names[i].only;
		struct command_spec cmd = { 0 };
		struct err e;

		assert_int_equal(test_target_command(&target, 1, 1, only, &cmd, &e), 0);
		assert_string_equal(cmd.argv[1], "-run");
		if (strcmp(cmd.argv[2], names[i].want) != 0)
			fail_row(i, cmd.argv[2]);
		command_done(&cmd);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_junit),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_runner_of_a_script),
		cmocka_unit_test(test_only_for_go),
	};

	return RUN(tests, NULL, NULL);
}
