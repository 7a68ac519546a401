/* run_settings.h - the settings of the session of `acpd run`. */
#pragma once

#include "base/buf.h"
#include "cli/cmd.h"

/* Builds _meta.acpd of session/new from the options, and uploads --archive if it is a file. EXIT_DONE, or the exit code; the
 * reason has been printed then. ret may hold a key. */
int run_settings(const struct config *c, struct buf *ret);
