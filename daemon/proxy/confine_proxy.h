/*
 * confine_proxy.h - who acpd-proxy is, and what it may still do.
 *
 * harden comes first in the life of the process, before it has anything to lose. confine comes before the first byte of
 * a client is read: another user where we are root, no groups, no_new_privs, Landlock where the kernel has it (files can
 * be read where the resolver's are, and nothing can be written), and a seccomp list of the calls that it takes to accept
 * from sockets that others made, and to connect. All else is EPERM: no exec, no process, no thread, no listening, no
 * file opened for writing, no ptrace, no signals to others.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct confine_proxy {
	bool become; /* of root: this user */
	uid_t uid;
	gid_t gid;
};

/* No core files, not to be traced; as many descriptors as we may have. */
void confine_proxy_harden(void);
/* NULL, or what could not be done; errno says why. */
const char *confine_proxy(const struct confine_proxy *c);
