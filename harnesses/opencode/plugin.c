/* plugin.c - plugin.mjs as a C string. */
#include "harnesses/opencode/plugin.h"

#include "harnesses/embed.h"

EMBED(opencode_plugin, "harnesses/opencode/plugin.mjs");
