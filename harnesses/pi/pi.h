/* pi.h - the native adapter of Pi (pi --mode rpc); README.md says what is mapped to what. */
#pragma once

#include "harnesses/harness.h"

extern const struct harness_ops harness_pi;
