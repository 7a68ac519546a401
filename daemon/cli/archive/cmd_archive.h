/* cmd_archive.h - what other commands need of `acpd archive`: to put a file into the daemon's store. */
#pragma once

#include "cli/options/cli_options.h"
#include "archive/archive_store.h"

/* Uploads file (-: standard input) to the daemon that c names, unless the daemon has it; digest is its digest.
 * EXIT_DONE, or the exit code; the reason has been printed then. */
int archive_upload(const struct config *c, const char *file, char digest[ARCHIVE_DIGEST_SIZE]);
