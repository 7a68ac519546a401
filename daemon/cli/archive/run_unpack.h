/* run_unpack.h - one run of acpd-unpack from the command line: the same program and the same jobs as the daemon's. */
#pragma once

#include "base/buf.h"
#include "cli/cmd.h"

/* Prints what a report of an extraction lists as left out, on standard error, the first few by name. Prints nothing if
 * nothing was left out. */
void cli_print_skipped(struct slice report);
/*
 * Runs a job (an object) and prints its result: with --json the answer as it is; otherwise a refusal or a failure as
 * "REASON: path: message" on standard error. done gets the raw object of "done", prints it (not with --json) and
 * returns the exit code; NULL: nothing is printed of it.
 */
int run_unpack(const struct config *c, const char *verb, struct slice job,
	       int (*done)(const struct config *c, struct slice result));
