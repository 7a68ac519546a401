/* SPDX-License-Identifier: Apache-2.0 */
/*
 * confine-probe: tries what a confined process should not be able to do, and says for each act how it ended.
 *
 *	confine-probe [KEY=VALUE]…     all acts, a line "NAME RESULT" for each
 *	confine-probe uid              its effective user id, for the setuid act
 *
 * RESULT is OK, the name of an errno, the signal that killed the act ("SIGSYS"), TIMEOUT, or - where the act needs a KEY
 * that was not given (keys[] in probe.c). Every act is a process of its own. None does harm if it is let through: it
 * passes arguments that fail later, opens without writing, asks with signal 0.
 *
 * Linked statically, so that it runs in any root; never instrumented.
 */
#ifndef CONFINE_PROBE_H
#define CONFINE_PROBE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct act {
	const char *name;
	long (*attempt)(
		const struct act *a); /* < 0 with errno, or it was let through; NULL: the call */
	long call;		      /* for the attempt; its number, or whatever it takes */
	uint64_t args[6];
	const char *key;  /* what it has to be given */
	const char *text; /* for the attempt */
};

/* Each ended by a row without name. */
extern const struct act acts_kernel[], acts_sockets[], acts_spaces[], acts_processes[],
	acts_files[];

/* What was given for a key; NULL: nothing. */
const char *given(const char *key);
pid_t given_pid(const char *key);
/* For attempts that cannot be made here: the errno that says so. */
long fail(int error);
/* Root of namespaces of its own: user, mount, network, names of the host. */
long become_root_inside(void);

#endif
