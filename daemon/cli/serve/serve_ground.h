/* serve_ground.h - what the daemon makes of its process and its directories before it builds anything. */
#pragma once

#include "base/err.h"
#include "cli/options/cli_options.h"

/* Other processes of the uid cannot read its memory, and it writes no core. */
void serve_harden(void);
/* The directory of --workspaces. */
int serve_make_workspaces(const struct config *c, struct err *e);
