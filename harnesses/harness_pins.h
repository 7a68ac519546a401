/*
 * harness_pins.h - the releases that the adapters were measured on: for each harness that can be installed its npm package, and
 * the SHA-256 that proves it. One table, for `acpd harness`, for images and for tests: a release changes here, in
 * tests/package.json and nowhere else.
 *
 * A harness of one executable is pinned by the hash of that file, PIN_FILE. A program of many files is pinned by the
 * hash of a list of all files of its package, PIN_TREE: what this prints there, without what is in node_modules:
 *
 *	find * -name node_modules -prune -o -type f -print | LC_ALL=C sort | xargs sha256sum | sha256sum
 *
 * The packages that such a program needs besides are npm's matter: their versions stand in its package.json.
 */
#pragma once

#include "harnesses/harness.h"

#define HARNESS_PREFIX "/opt/acpd/harnesses" /* where they are installed: PREFIX/ID/bin/COMMAND */
#define NODE_DIR "/opt/acpd/node/bin"	     /* where an image has Node, by which Pi runs */

enum pin_kind { PIN_FILE, PIN_TREE };

struct harness_pin {
	const char *id;	     /* of the harness's row in registry.c */
	const char *package; /* npm's name of the package that has the program for this machine */
	const char *release; /* npm's version of it */
	const char *version; /* the same as the program says it */
	const char *file;    /* the program, in the package */
	enum pin_kind kind;
	const char *sha256;
};

/* NULL: there is none, not for this machine, or a manifest has put another program into the harness's place. */
const struct harness_pin *harness_pin_of(const struct harness_def *def);
