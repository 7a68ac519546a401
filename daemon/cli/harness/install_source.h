/* install_source.h - where the files of a harness come from: harness_install.h. */
#pragma once

#include "cli/harness/harness_install.h"

/* Fills PLACE/node_modules/PACKAGE by the clock `until` (clock_mono_ms). EXIT_DONE, or the exit code with e. */
int install_from_file(const struct harness_install *in, const char *place, struct err *e);
int install_from_npm(const struct harness_install *in, const char *place, uint64_t until,
		     struct err *e);
