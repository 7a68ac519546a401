/*
 * program_hash.h - whether an installed program is the one of its pin (harnesses/harness_pins.h), by reading all of it.
 *
 * For the command line: it waits for the disk. Only regular files are read, and of a package no more than
 * PACKAGE_FILES_MAX. What is read may be changed afterwards by who may write there.
 */
#pragma once

#include "base/err.h"
#include "harnesses/harness_pins.h"

/* path: of the program; links in it are followed. 0; -EBADMSG with HASH_MISMATCH; else why it could not be read,
 * PROGRAM_UNREADABLE. */
int program_verify(const char *path, const struct harness_pin *pin, struct err *e);
