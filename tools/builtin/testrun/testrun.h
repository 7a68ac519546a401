/*
 * testrun.h - runTests: the commands of a target (struct test_target), one for each shard, all at a time, and the
 * results of single tests from what they print and report (testrun_parse.h).
 *
 * A run that is over its time, or ended otherwise before its end, has the results of the tests that ended before:
 * partial is true then. All output goes into a log file as it comes; its end is in the result. tests are only called
 * passed if all of it ended well.
 */
#pragma once

#include "base/slice.h"
#include "tools/builtin/core/tool.h"
#include "tools/builtin/core/toolbox.h"
#include "tools/builtin/run/command_run.h"
#include "tools/builtin/run/command_spec.h"
#include "tools/builtin/testrun/testrun_parse.h"

extern const struct tool_field testrun_in[], testrun_out[];
void testrun_start(struct builtin_call *c);
void testrun_cancel(struct builtin_call *c, bool timed_out);

/*
 * What test runners print, kept besides the result: all of it in a file, its end for an artifact of
 * the session.
 *
 * The file lies in the tools' directory for state, has at most TEST_LOG_BYTES, and is removed when TEST_LOGS_MAX later
 * ones are there or the tools end. A file that cannot be written, for example for lack of space, ends there; the tests
 * go on.
 */
struct test_log {
	int fd;
	uint64_t room;
	char *path;		   /* NULL: there is no file */
	struct command_output end; /* of both streams, as they came */
};

void test_log_init(struct test_log *l);
void test_log_done(struct test_log *l);
void test_log_open(struct test_log *l, struct toolbox *b);
void test_log_add(struct test_log *l, struct slice bytes);
/* The newest TEST_ARTIFACT_BYTES, and how many came before. */
void test_log_text(const struct test_log *l, struct buf *ret);

/*
 * Runners of tests that can write a report for programs, and the options for that.
 *
 * The output of a runner for people leaves out results: vitest hides the tests of files that passed, jest all names
 * that passed, and neither distinguishes a group's name from a test's. So a known runner gets options of its own: a
 * report in a file (JSON of jest, which vitest writes too; JUnit of pytest), or lines that are read as they come (TAP
 * of node). The output is read in any case: a run that is cut off writes no report.
 *
 * npm passes its arguments to the last command of a script. A runner counts there only if it is that command, and if
 * the script itself has no option for reports.
 */

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

/*
 * The command for the tests of a target: a row of the configuration, or chosen by the files of the
 * directory.
 *
 * Configuration ("tests" of the toolbox): {NAME: {"command": "text" or ["word"...], "format": "auto" | "tap" | "go" |
 * "cargo" | "pytest" | "marks" | "junit" | "exit", "report": "path of the file, JUnit or jest's JSON", "cwd": "dir",
 * "timeoutMs": n}}. In words, text and report "{shard}" and "{shards}" stand for the number of this part (from 1) and
 * of all parts; "{only}", a word of its own or in text, for the tests asked for. Where they do not stand, shards and
 * only are refused by name: tests that were not asked for, or asked for once, would run.
 *
 * Without a row of that name: "npm", "pytest", "go", "cargo", "make" are known, and "auto" is the first whose files
 * are there.
 */
struct test_target {
	char *name, *shell, **argv, *report, *dir;
	const struct test_runner *runner; /* is asked for a report of ours; or NULL */
	const struct test_format *format;
	const char *
		joined_only; /* option before all names, joined for a regular expression; or NULL */
	bool by_name; /* "only" is names of tests; else arguments that the command takes as it likes */
	int64_t timeout_ms; /* -1: not set */
};

/* All rows, as test_target_find will read them. */
int test_rows_check(struct slice rows, struct err *e);
/* cwd: absolute; dir of a row is relative to it. */
int test_target_find(const struct builtin_call *c, const char *name, const char *cwd,
		     struct test_target *ret, struct err *e);
void test_target_done(struct test_target *t);
/* Fills shell or argv, judged (without the options for our report), and shown. only: NULL for all. */
int test_target_command(const struct test_target *t, unsigned shard, unsigned shards,
			char *const *only, struct command_spec *cmd, struct err *e);
/* Path of its report, absolute; NULL if there is none. */
char *test_target_report(const struct test_target *t, unsigned shard, unsigned shards,
			 const char *cwd);
