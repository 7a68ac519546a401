/*
 * confine.h - who a process of acpd-unpack is, and what it may still do.
 *
 * The keeper has the privileges the program was started with and reads nothing foreign. If the user of the tree has
 * to decide whether something is allowed, it becomes that user for the few calls concerned (user_enter,
 * user_leave). A worker gives everything up (confine_worker): user and groups, no_new_privs, limits, priority,
 * Landlock (nothing can be opened or changed but below the given directories; where the kernel has it, ABI 2 at
 * least), and a seccomp list of the calls that reading, writing and inflating need. All else is EPERM: no sockets, no
 * exec, no ptrace, no mounts, no signals to others. Threads may be made, processes may not.
 */
#pragma once

#include "unpack/job/verdict.h"

#include <stdbool.h>
#include <sys/types.h>

struct user {
	bool other; /* we are root and the tree's user is not */
	uid_t uid;
	gid_t gid;
};

/* uid -1: that of this process. ACCESS_DENIED if we cannot become it. */
int user_of(struct user *i, int64_t uid, int64_t gid, struct verdict *v);
void user_enter(const struct user *i);
void user_leave(const struct user *i);

/* What a worker reaches: below write it may do anything its user may, below read it may only read; -1 ends each,
 * NULL: none. */
struct reach {
	const int *write, *read;
};

/* file_max: bytes of the largest file. */
int confine_worker(const struct user *i, const struct reach *reach, uint64_t file_max,
		   struct verdict *v);
