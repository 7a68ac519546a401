/*
 * testrun.h - runTests: the commands of a target (testrun_target.h), one for each shard, all at a time, and the
 * results of single tests from what they print and report (testrun_parse.h).
 *
 * A run that is over its time, or ended otherwise before its end, has the results of the tests that ended before:
 * partial is true then. All output goes into a log file as it comes; its end is in the result. tests are only called
 * passed if all of it ended well.
 */
#pragma once

#include "tools/builtin/core/tool.h"

extern const struct tool_field testrun_in[], testrun_out[];
void testrun_start(struct builtin_call *c);
void testrun_cancel(struct builtin_call *c, bool timed_out);
