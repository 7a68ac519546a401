/* serve_tokens.h - the minted tokens of the daemon, as its other parts know sessions and problems. */
#pragma once

#include "access/tokens.h"
#include "session/core/session.h"
#include "cli/options/cli_options.h"

struct tokens *serve_tokens_new(const struct config *c, struct loop *loop,
				struct session_store *store);
