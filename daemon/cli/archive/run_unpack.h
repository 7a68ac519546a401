/* run_unpack.h - one run of acpd-unpack from the command line: the same program and the same jobs as the daemon's. */
#pragma once

#include "base/buf.h"
#include "cli/cmd.h"

/* path, absolute, but with its links as they are; the caller frees. */
char *cli_absolute(const char *path);
/* The string member of an answer, fit for a terminal: NULL if there is none; the caller frees. */
char *cli_text_of(struct slice object, const char *key);
/* The number; 0 if there is none. */
long long cli_number_of(struct slice object, const char *key);
/* Prints what a report of an extraction lists as left out, on standard error, the first few by name. Prints nothing if
 * nothing was left out. */
void cli_print_skipped(struct slice report);
/*
 * Runs a job (one line) and prints its result: with --json the answer as it is; otherwise a refusal or a failure as
 * "REASON: path: message" on standard error. done gets the raw object of "done", prints it (not with --json) and
 * returns the exit code.
 */
int cli_helper(const struct config *c, const char *verb, struct slice job,
	       int (*done)(const struct config *c, struct slice result));
