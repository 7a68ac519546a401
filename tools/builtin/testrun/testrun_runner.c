/*
 * testrun_runner.c - finds the test runner of an npm script, so that it can write a report.
 *
 * npm appends arguments to the last command of a script, so only this command counts. A script with
 * shell syntax that could change its meaning is not parsed, and a script that sets a reporter keeps
 * it. No match is safe: the output is parsed in any case (testrun_parse.c).
 */
#include "tools/builtin/testrun/testrun.h"

#include "base/os/file.h"
#include "base/limits.h"
#include "base/util.h"
#include "json/jstr.h"

/* clang-format off */
static const struct test_runner runners[] = {
	{ "vitest", { "--reporter=default", "--reporter=json", "--outputFile.json=" TEST_REPORT },
	  "json", "auto", false, "--testNamePattern=", "--reporter" },
	{ "jest", { "--json", "--outputFile=" TEST_REPORT },
	  "json", "auto", false, "--testNamePattern=", "--json" },
	{ "node", { "--test-reporter=tap" },
	  NULL, "tap", true, "--test-name-pattern=", "--test-reporter" },
	{ "pytest", { "--junitxml=" TEST_REPORT, "-o", "junit_family=xunit1" },
	  "xml", "pytest", false, NULL, "--junit" },
};
/* clang-format on */

const struct test_runner *test_runner_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(runners); i++)
		if (strcmp(runners[i].name, name) == 0)
			return &runners[i];
	return NULL;
}

/* The next word; false at the end. Quotes are words like others: a word with them is no runner. */
static bool word_next(const char **at, struct slice *ret)
{
	static const char space[] = " \t\r\n";

	*at += strspn(*at, space);
	*ret = (struct slice){ *at, strcspn(*at, space) };
	*at += ret->n;
	return ret->n > 0;
}

/* "./node_modules/jest/bin/jest.js" is jest. */
static struct slice program_name(struct slice word)
{
	static const char *const suffixes[] = { ".js", ".mjs", ".cjs" };
	const char *slash = memrchr(word.p, '/', word.n);

	if (slash)
		word = (struct slice){ slash + 1, word.n - (size_t)(slash + 1 - word.p) };
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		size_t n = strlen(suffixes[i]);

		if (word.n > n && memcmp(word.p + word.n - n, suffixes[i], n) == 0)
			word.n -= n;
	}
	return word;
}

/* Skips what stands before a program and only starts it: variables, options, programs that run others. */
static bool is_before(struct slice word)
{
	static const char *const wrappers[] = { "npx", "bunx", "pnpm",	    "yarn", "exec", "dlx",
						"c8",  "nyc",  "cross-env", "env",  "node", "time" };
	struct slice name = program_name(word);

	if (word.p[0] == '-' || memchr(word.p, '=', word.n))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(wrappers); i++)
		if (slice_is(name, wrappers[i]))
			return true;
	return false;
}

static const struct test_runner *program_of(const char *command)
{
	const char *at = command;
	bool tests = false, node = false;
	struct slice word;

	while (word_next(&at, &word)) {
		for (size_t i = 0; i < ARRAY_SIZE(runners); i++)
			if (!runners[i].bare && slice_is(program_name(word), runners[i].name))
				return &runners[i];
		node |= slice_is(program_name(word), "node");
		tests |= slice_is(word, "--test");
		if (!is_before(word))
			return NULL;
	}
	return node && tests ? test_runner_find("node") : NULL;
}

const struct test_runner *test_runner_of_script(const char *script)
{
	const char *last = script, *at;
	const struct test_runner *r;
	struct slice word;

	/* Only a shell knows what becomes of these, so the runner of such a script is not
	 * recognized. */
	if (strpbrk(script, "#`$()<>\\"))
		return NULL;
	/* npm appends its arguments to the script, so only the last command gets the options. */
	for (at = script; (at = strpbrk(at, "&|;\n")); at++)
		last = at + 1;
	r = program_of(last);
	/* A script that already requests a report keeps it, and after "--" an option would be an
	 * argument. */
	for (at = last; r && word_next(&at, &word);)
		if (slice_starts(word, r->taken) || slice_starts(word, "--outputFile") ||
		    slice_is(word, "--"))
			return NULL;
	return r;
}

const struct test_runner *test_runner_of_package(const char *dir)
{
	_cleanup_(freep) char *path = file_join(dir, "package.json"), *script = NULL;
	_cleanup_(buf_done) struct buf text = { 0 };
	struct jval scripts, whole;

	if (file_read(path, MIB, &text) < 0 || jscan_value(buf_slice(&text), &whole) != JSCAN_OK ||
	    whole.type != J_OBJECT)
		return NULL;
	scripts = jobj_get(whole.raw, "scripts");
	if (scripts.type != J_OBJECT ||
	    jstr_decode(jobj_get(scripts.raw, "test"), PATH_BYTES_MAX, &script) < 0)
		return NULL;
	return test_runner_of_script(script);
}
