/*
 * uid_lock.h - a range of uids is one daemon's at a time: what a uid leaves is killed and removed with its session, and
 * another daemon's session of that uid would go with it.
 *
 * One file for all daemons of the machine, UID_LOCK_FILE; byte N of it is locked for the uid N, so ranges that overlap
 * collide. The lock ends with the process. Where the file cannot be made (/run is read-only) the daemon starts without
 * a lock and logs it. Containers have a /run of their own each, and uids of their own.
 */
#pragma once

#include "base/err.h"
#include "proc/uid_range.h"

#define UID_LOCK_FILE "/run/acpd-agent-uids.lock"

struct uid_lock {
	int fd; /* -1: none */
};

#define UID_LOCK_INIT                                                                              \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/* An empty range needs none. -EBUSY with AGENT_UIDS_IN_USE: another daemon has some of them. */
int uid_lock_take(struct uid_lock *l, const struct uid_range *range, struct err *e);
void uid_lock_release(struct uid_lock *l);
