/* cmd_archive.h - what other commands want of `acpd archive`: a file of theirs in the daemon's store. */
#pragma once

#include "cli/cli_options.h"
#include "archive/archive_store.h"

/* Uploads file (-: standard input) to the daemon that c names unless it has it, and names it. EXIT_DONE, or what
 * to exit with; the reason has been printed then. */
int archive_upload(const struct config *c, const char *file, char digest[ARCHIVE_DIGEST_SIZE]);
