/*
 * owner.h - one daemon per state directory, and what an earlier one left behind.
 *
 * <state>/lock is held (a record lock, fcntl) for the life of the daemon; <state>/owner names its mark and cgroups, and
 * its process by number, start time and namespace. Who gets the lock and finds an owner file whose writer is dead,
 * however it died, kills what still sits in its cgroup or, where there was none, carries its marker, before anything
 * new is started. The lock alone proves nothing: a state directory may be a copy, and whose it was may live. Nobody
 * else in the daemon opens the lock file: closing it there would give the lock up.
 */
#pragma once

#include "base/err.h"
#include "proc/cgroup/cgroups.h"

struct owner_lock {
	int fd;
	char *path; /* of the owner file */
};

#define OWNER_LOCK_INIT                                                                            \
	{                                                                                          \
		-1, NULL                                                                           \
	}

/* -EBUSY: another daemon runs on this state. Sweeps what a dead one left. */
int owner_acquire(struct owner_lock *l, const char *state, struct err *e);
/* groups: NULL before there are any. */
void owner_write(struct owner_lock *l, const struct cgroups *groups);
/* After a clean stop there is nothing to sweep: the owner file goes. */
void owner_release(struct owner_lock *l);
