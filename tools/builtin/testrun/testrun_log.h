/*
 * testrun_log.h - what test runners print, kept besides the result: all of it in a file, its end for an artifact of
 * the session.
 *
 * The file lies in the tools' directory for state, has at most TEST_LOG_BYTES, and is removed when TEST_LOGS_MAX later
 * ones are there or the tools end. A file that cannot be written, for example for lack of space, ends there; the tests
 * go on.
 */
#pragma once

#include "tools/builtin/run/command_output.h"
#include "tools/builtin/core/toolbox.h"

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
