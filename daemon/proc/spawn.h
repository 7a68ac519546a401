/*
 * spawn.h - fork and exec with everything set up in the child by plain system calls. The parent prepares a plan;
 * between fork and exec nothing allocates, logs or locks.
 */
#pragma once

#include "base/err.h"
#include "proc/proc.h"

struct spawned {
	pid_t pid;
	int pidfd;
	int in, out, errout; /* our ends: non-blocking, close-on-exec */
};

/* Takes as many descriptors for the daemon as the hard limit allows: sessions and connections need some each.
 * Children get back the soft limit that the daemon was started with. */
void spawn_raise_files(void);
/* cgroup_fd: cgroup.procs of the session, or -1. A failed exec is an error here, not a child that dies later. */
int spawn_child(const struct proc_spec *spec, int cgroup_fd, struct spawned *ret, struct err *e);
