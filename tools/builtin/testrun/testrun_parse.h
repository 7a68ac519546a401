/*
 * testrun_parse.h - results of single tests, from what a test runner prints while it runs, or from the file it writes.
 *
 * What runners print is read line by line as it comes, so that a run that is cut off has given the results of the
 * tests that ended before: TAP (with subtests and their YAML), go test -v, cargo test, pytest -v, and the check marks
 * that mocha, jest, vitest and node's spec reporter print. "auto" takes the first of these that understands a line
 * and stays with it. A JUnit file is read as far as it is valid, JSON only whole.
 *
 * No input is trusted: it is bounded (TEST_* in limits.h), names and messages are cut, and what is
 * beyond is only counted.
 */
#pragma once

#include "base/buf.h"
#include "json/jenc.h"

#include <stdbool.h>

enum test_status { TEST_PASSED, TEST_FAILED, TEST_SKIPPED, TEST_STATUSES };

struct test_case {
	struct slice suite, name, message; /* suite and message may be empty */
	enum test_status status;
	double ms; /* < 0: unknown */
};

struct test_format;

#define TEST_LEVELS 16 /* subtests within each other whose names are kept */

struct test_report {
	const struct test_format *format; /* auto: nothing understood yet */
	struct buf items;		  /* elements of an array, JSON */
	struct jw out;
	unsigned count[TEST_STATUSES], unlisted;
	long planned; /* by TAP; -1: unknown */
	/* the last result, until the next line that is one: what follows it may say more */
	bool held, yaml, over;
	bool is_empty; /* the runner reports that it found no tests */
	struct buf suite, name, message;
	enum test_status status;
	double ms;
	struct buf current, said; /* go, cargo: whose output comes, and what it was */
	struct buf failed;	  /* cargo: names that have failed, a line each; why comes later */
	struct buf level[TEST_LEVELS]; /* names of the subtests that are open */
	bool nested[TEST_LEVELS]; /* there were results below the one that comes at this level */
};

/* format: a name that test_format_find knows. */
void test_report_init(struct test_report *r, const struct test_format *format);
void test_report_done(struct test_report *r);
/* A line without its newline. */
void test_report_line(struct test_report *r, struct slice line);
/* The end of the output: passes on the last result. */
void test_report_end(struct test_report *r);
void test_report_add(struct test_report *r, const struct test_case *c);

/* A line of what the current test printed. */
void test_report_said(struct test_report *r, struct slice line);
/* Lines of cargo that are no result; a test that has failed, reported when it is known why, or at the end. */
void test_cargo_line(struct test_report *r, struct slice line);
void test_cargo_failed(struct test_report *r, struct slice name);
void test_cargo_end(struct test_report *r);

/* NULL: no such format. "auto", "junit" and "exit" have no lines of their own. */
const struct test_format *test_format_find(const char *name);
/* Has lines for single tests: where there are none, none ran. */
bool test_format_tells(const struct test_format *f);

/* Text without what colours it; room holds it where there was some. */
struct slice test_plain(struct slice text, struct buf *room);

/* Results of the JSON that jest and vitest write; false if it is not that. dir: what their paths are shown below. */
bool test_json_read(struct slice json, const char *dir, struct test_report *r);
/* Results of a JUnit document; false if it ends before its root does. */
bool test_junit_read(struct slice xml, struct test_report *r);
