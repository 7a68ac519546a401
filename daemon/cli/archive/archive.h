/*
 * archive.h - what other commands need of `acpd archive`: one run of acpd-unpack, the same program and the same jobs as the
 * daemon's, and a file put into the daemon's store.
 */
#pragma once

#include "archive/archive_store.h"
#include "cli/cmd.h"
#include "cli/options/cli_options.h"

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

/* --- cmd_archive.c --- */

/* Uploads file (-: standard input) to the daemon that c names, unless the daemon has it; digest is its digest.
 * EXIT_DONE, or the exit code; the reason has been printed then. */
int archive_upload(const struct config *c, const char *file, char digest[SHA256_TEXT]);
