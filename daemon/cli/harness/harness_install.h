/*
 * harness_install.h - the pinned release of a harness is put below a prefix, all of it or nothing.
 *
 *	PREFIX/.lock                             held while something is installed
 *	PREFIX/.ID.XXXXXX                        what is being put together; a later install removes one that was left
 *	PREFIX/ID/node_modules/PACKAGE/...       the package, as npm lays it out, and what it needs beside it
 *	PREFIX/ID/bin/COMMAND                    a link to the program in it
 *
 * It comes from a file (a package as npm packs it, which acpd-unpack reads, or a bare executable), or npm fetches it: by
 * name and version, and without running a script of the package. In each case the hash of its pin decides, before
 * anything stands at its final place. What is there is readable for all, and nobody but its owner may write it.
 *
 * Who finds it installed and right does nothing. Two installs at a time: the second waits for the first.
 */
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
