/* program_find.h - the program of a harness: in PREFIX/ID/bin, where `acpd harness install` puts it, else in the PATH. */
#pragma once

#include "harnesses/harness_pins.h"
#include "harnesses/registry.h"

/* Where the program of a harness is; NULL: it is not installed. The caller frees. */
char *program_find(const struct harness_def *def, const char *prefix, const char *path);
