/*
 * confine_fetch.h - who acpd-fetch is, and what it may still do.
 *
 * harden comes first in the life of the process, before it has anything to lose. confine comes before the first byte of
 * a network is read: another user where we are root, no groups, no_new_privs, Landlock where the kernel has it (files
 * can be read where the resolver's and the libraries are, and nothing can be written), and a seccomp list of the calls
 * that it takes to speak to others. All else is EPERM: no exec, no process, no listening, no file opened for writing,
 * no ptrace, no signals to others. Threads may be made: names are looked up in them.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct confine_fetch {
	bool become; /* of root: this user */
	uid_t uid;
	gid_t gid;
};

/* No core files, not to be traced; as many descriptors and as much locked memory as we may have. */
void confine_fetch_harden(void);
/* NULL, or what could not be done; errno says why. */
const char *confine_fetch(const struct confine_fetch *c);
