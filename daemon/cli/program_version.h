/* program_version.h - what a program says of its version. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The first line of `program --version` with its unprintable bytes left out, cut to size. false: it cannot be run, says
 * nothing, or not in time (PROGRAM_VERSION_MS); it is gone either way. Signals that we hold are not held in it. */
bool program_version(const char *program, char *ret, size_t size);
