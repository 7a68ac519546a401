/*
 * check_job.h - one check of a session, in a process of its own that the daemon starts as the session's user (`acpd
 * check`): a command, or the tests of a target as runTests runs them. No policy: the orchestrator wrote it.
 *
 * Descriptor 3 holds one object: {"kind": "command" | "tests", "root": "/abs", "stateDir": "/abs", "message"?: text,
 * "cwd"?, "env"?, "timeoutMs"} with "argv" or "command", or with "target", "only"?, "tests"?. One line is printed and
 * then it ends: what a tool of that kind has as its result, or {"error": {"message"}} if nothing could be started.
 * Nothing of the check is left then. The end of standard input ends it at once, without a line.
 *
 * The message becomes a file in TMPDIR that ACPD_LAST_MESSAGE names, and that goes with the check.
 */
#pragma once

#include "base/slice.h"

/* Until it has ended; an exit code. */
int check_job_run(int fd);
