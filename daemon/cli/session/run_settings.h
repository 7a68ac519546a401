/*
 * run_settings.h - what `acpd run` asks of its session, as the object of `_meta.acpd` in session/new: --harness,
 * --model, --provider, --env, --archive, --strip, --budget. The daemon checks names and values; this code refuses only
 * what cannot be sent at all.
 */
#pragma once

#include "base/buf.h"
#include "cli/options/cli_options.h"

/* Also uploads the archive. EXIT_DONE, or the exit code; the reason has been printed then. ret may hold a key: wipe
 * it. */
int run_settings(const struct config *c, struct buf *ret);
