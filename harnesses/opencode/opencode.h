/* opencode.h - OpenCode through its own ACP server ("opencode acp"); see README.md for what is mapped. */
#pragma once

#include "harnesses/harness.h"

extern const struct harness_ops harness_opencode;
