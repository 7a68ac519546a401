/*
 * testrun_runner.h - runners of tests that can write a report for programs, and the options for that.
 *
 * The output of a runner for people leaves out results: vitest hides the tests of files that passed, jest all names
 * that passed, and neither distinguishes a group's name from a test's. So a known runner gets options of its own: a
 * report in a file (JSON of jest, which vitest writes too; JUnit of pytest), or lines that are read as they come (TAP
 * of node). The output is read in any case: a run that is cut off writes no report.
 *
 * npm passes its arguments to the last command of a script. A runner counts there only if it is that command, and if
 * the script itself has no option for reports.
 */
#pragma once

#include "base/slice.h"

#include <stdbool.h>

#define TEST_REPORT "{report}" /* in an option: the path of the file */

struct test_runner {
	const char *name;
	const char *options[4];
	const char *suffix; /* of its report; NULL: it writes none */
	const char *format; /* of what it prints */
	bool bare;	    /* knows options only as long as no file is named */
	const char *
		/* option whose value is a regular expression for names of tests; NULL: it takes arguments of its
		 * own */
		only;
	const char *taken; /* an option that begins so is asked for by the script itself */
};

/* By name: vitest, jest, node, pytest. */
const struct test_runner *test_runner_find(const char *name);
/* Of the script "test" in the package.json of dir; NULL: none that is known. */
const struct test_runner *test_runner_of_package(const char *dir);
/* Of one script. */
const struct test_runner *test_runner_of_script(const char *script);
