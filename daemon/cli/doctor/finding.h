/*
 * finding.h - what doctor found: a list of {check, level, message, hint}, its exit code, and its two outputs.
 *
 * Each check is of a kind, and each kind has an exit code of its own. Kinds stand in the order of their rank: where
 * several are in trouble, the code is that of the first. Codes begin at 10, beyond those of all subcommands
 * (cli/cmd.h). They are written down in daemon/acpd.1 and images/README.md: a code keeps its meaning.
 *
 * Texts are made of what others wrote: they are cut to one line. The list has a bound; beyond it only trouble of a
 * kind that had none is kept.
 */
#pragma once

#include "base/slice.h"
#include "base/util.h"

#include <stdbool.h>

#define DOCTOR_FINDINGS_MAX 400 /* told; beyond them only the first trouble of a kind */

enum doctor_kind {
	KIND_SETTINGS,
	KIND_PROGRAMS,
	KIND_DIRECTORIES,
	KIND_DISK,
	KIND_PORT,
	KIND_CLOCK,
	KIND_USERS,
	KIND_ROOT,
	KIND_KERNEL,
	KIND_HARNESS,
	KIND_NODE,
	KIND_PYTHON,
	KIND_GIT,
	KIND_RIPGREP,
	KIND_CERTIFICATES,
	KIND_MCP,
	KIND_STATE,
	KIND_DAEMON,
	KIND_CLAIM,
	KIND_LOOPBACK,
	KINDS,
};

/* What is wrong comes first in the list. */
enum found_level { FOUND_OK, FOUND_WARNING, FOUND_TROUBLE };

struct finding {
	const char *id; /* of the check */
	enum doctor_kind kind;
	enum found_level level;
	char subject[64]; /* what of several it is about; "": there is one */
	char message[320], hint[200];
};

struct findings {
	struct finding *at;
	size_t n, more; /* more: those that were not kept */
	bool trouble[KINDS];
	struct finding lost; /* the newest of those */
};

/* Never NULL; good until the next one. */
struct finding *findings_add(struct findings *f, enum found_level level, enum doctor_kind kind,
			     const char *id, const char *subject);
void findings_done(struct findings *f);
/* What can be done about it. */
#define HOW_TO_INSTALL                                                                             \
	"acpd harness install NAME, put one into a directory of PATH, or name it in --harness-config"
void finding_hint(struct finding *f, const char *fmt, ...) _printf_(2, 3);

/* 0: nothing is in trouble. */
int findings_code(const struct findings *f);
/* A line each on standard output, what is wrong first. */
void findings_print(const struct findings *f);
/* {findings, more?, daemon?, exitCode} on standard output; daemon: what it says, may be empty. */
void findings_print_json(const struct findings *f, struct slice daemon);
