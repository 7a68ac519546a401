/* bridge.c - bridge.mjs as a C string. */
#include "harnesses/embed.h"
#include "harnesses/pi/internal.h"

EMBED(pi_bridge, "harnesses/pi/bridge.mjs");
