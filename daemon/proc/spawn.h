/*
 * spawn.h - fork and exec with everything set up in the child by plain system calls. The parent prepares a plan;
 * between fork and exec nothing allocates, logs or locks.
 */
#pragma once

#include "base/err.h"
#include "proc/cgroup/proc_group.h"
#include "proc/proc.h"

struct spawned {
	pid_t pid;
	int pidfd;
	int in, out, errout; /* our ends: non-blocking, close-on-exec; -1: it has our own */
	int listener; /* of a confinement that logs (confine/watch/confine_watch.h), else -1 */
};

/* Takes as many descriptors for the daemon as the hard limit allows: sessions and connections need some each.
 * Children get back the soft limit that the daemon was started with. */
void spawn_raise_files(void);
/* Asks the kernel to end others first where memory is gone; children are more willing than anybody. False: without
 * CAP_SYS_RESOURCE our score cannot be lowered, and stays. */
bool spawn_spare_daemon(void);
/* groups: what the child joins; NULL: it stays in ours. A failed exec is an error here, not a child that dies later. */
int spawn_child(const struct proc_spec *spec, const struct cgroup_join *groups, struct spawned *ret,
		struct err *e);
