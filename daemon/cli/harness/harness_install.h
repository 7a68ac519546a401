/* harness_install.h - the pinned release of a harness, below a prefix (harness_install.c). */
#pragma once

#include "cli/cmd.h"
#include "harnesses/harness_pins.h"

#define INSTALL_SECS 600 /* for one harness, the wait for another install with it */

struct harness_install {
	const char *prefix, *from; /* from NULL: npm */
	const struct harness_def *def;
	const struct harness_pin *pin;
	uint64_t timeout_ms;
	bool already; /* set: it was there */
};

/* EXIT_DONE, or the exit code with e. */
int harness_install(struct harness_install *in, struct err *e);

/* --- install_source.c --- */
/* Fills PLACE/node_modules/PACKAGE by the clock `until` (clock_mono_ms). EXIT_DONE, or the exit code with e. */
int install_from_file(const struct harness_install *in, const char *place, struct err *e);
int install_from_npm(const struct harness_install *in, const char *place, uint64_t until,
		     struct err *e);
