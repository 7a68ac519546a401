/*
 * run_settings.h - what `acpd run` asks of its session, as the object of `_meta.acpd` in session/new: --harness,
 * --model, --provider, --env, --archive, --strip, --budget. The daemon judges names and values; here only what cannot
 * be sent at all is refused.
 */
#pragma once

#include "base/buf.h"
#include "cli/cli_options.h"

/* Uploads the archive on the way. EXIT_DONE, or what to exit with; the reason has been printed then. ret may hold
 * a key: wipe it. */
int run_settings(const struct config *c, struct buf *ret);
