/*
 * programs.h - which harnesses are installed: where each one's program is, and the version that it says it has.
 *
 * A program says its version when it is run with --version: for a moment, within bounds (bounded_run.h), one program at
 * a time. What it said is kept, with what the file was then (path, inode, size, times), and it is run again only once
 * that has changed; one that failed to say it, not before a minute is over. So asking costs a few stat(2), however often
 * it is done. Only programs that the adapters were made for are run: what a manifest puts into their place may do
 * anything when it is given --version.
 *
 * A program is looked for in PREFIX/ID/bin, where `acpd harness install` puts it, then in the PATH. The same rule holds
 * for the harness of a session (paths_find_program).
 *
 * programs_ask answers from the loop, never from within the call of it.
 */
#pragma once

#include "base/list.h"
#include "harnesses/harness_pins.h"
#include "harnesses/registry.h"
#include "json/jenc.h"
#include "proc/proc.h"

#define VERSION_SECS 15 /* in which a program has to have said its version */

struct programs;

struct programs_config {
	const struct harness_table *harnesses; /* all of it is borrowed */
	const char *prefix;		       /* NULL: only the PATH counts */
	const char *path;		       /* the PATH, for them and for what they start */
	struct proc_bounds bounds;
	uint64_t timeout_ms;
};

struct program_fact {
	const struct harness_def *def;
	const struct harness_pin *pin; /* what it should be; NULL: nothing is known of that */
	char *path;		       /* NULL: it is not installed */
	char *version;		       /* as it says it; NULL: it did not, or was not asked */
	struct err
		why; /* it did not: reason VERSION_TIMEOUT, VERSION_TOO_LONG, VERSION_FAILED; else all zeros */
};

/* Embedded in who asks. */
struct programs_ask {
	struct list link;
	void (*fn)(void *ctx);
	void *ctx;
};

struct programs *programs_new(struct loop *loop, struct proc_host *procs,
			      const struct programs_config *c);
/* No child of it may be left. Callers that still wait get what is known. */
struct programs *programs_free(struct programs *p);
/* fn once the facts are there. */
void programs_ask(struct programs *p, struct programs_ask *ask, void (*fn)(void *ctx), void *ctx);
size_t programs_count(const struct programs *p);
const struct program_fact *programs_at(const struct programs *p, size_t i);

/* The program says the version of its pin. */
bool program_fits(const struct program_fact *f);
/* One object: what `acpd harness list --json` and _acpd/harness/list have of each harness. */
void program_put(struct jw *w, const struct program_fact *f);

/* --- program_hash.c --- */
/*
 * Compares an installed program with its pin (harnesses/harness_pins.h), by reading all of it; path is the program's, and
 * links in it are followed. Of a package it reads at most PACKAGE_FILES_MAX files. Blocks on the disk, so it is for the
 * command line. Users with write access can change afterwards what it has read. 0; -EBADMSG with HASH_MISMATCH; otherwise
 * why it cannot be read, PROGRAM_UNREADABLE.
 */
int program_verify(const char *path, const struct harness_pin *pin, struct err *e);
