/*
 * testrun_target.h - the command for the tests of a target: a row of the configuration, or chosen by the files of the
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
#pragma once

#include "tools/builtin/run/command_spec.h"
#include "tools/builtin/testrun/testrun_parse.h"
#include "tools/builtin/testrun/testrun_runner.h"

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
