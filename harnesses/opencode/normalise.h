/* normalise.h - the row and the hooks that mend what OpenCode's ACP loses; fed by the plugin (plugin.h). */
#pragma once

#include "harnesses/acp/quirks.h"

#define OPENCODE_PROVIDER_ID "acpd"

extern const struct acp_quirks opencode_quirks;
