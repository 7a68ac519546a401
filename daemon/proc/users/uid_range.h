/*
 * uid_range.h - the uids of --agent-uids FIRST-LAST, and what the machine says about them.
 *
 * A uid N of the range is meant to have a user "agent-N" with the group N of the same name (images/agent-users.sh makes
 * them): ssh, git and other programs want to know the name of who runs them. Any other user with such a uid is somebody
 * else's, and the range is refused. A copy of two numbers; it owns nothing.
 */
#pragma once

#include "base/err.h"

struct uid_range {
	uid_t first, last; /* both 0: there is none */
};

#define UID_RANGE_NAME sizeof("agent-4294967295")

/* "FIRST-LAST"; NULL or "": none. -EINVAL with OPTION_INVALID. */
int uid_range_parse(const char *text, struct uid_range *ret, struct err *e);
bool uid_range_has(const struct uid_range *r, uid_t uid);
unsigned uid_range_size(const struct uid_range *r);
/* How its user is called. */
char *uid_range_name(uid_t uid, char name[UID_RANGE_NAME]);
/* Reads the machine's users and groups once. bare: how many uids lack their user or their group. -EEXIST with
 * AGENT_UIDS_TAKEN: a uid or a gid belongs to another user or group, or a database cannot be read. */
int uid_range_look(const struct uid_range *r, unsigned *bare, struct err *e);

/* --- the lock -------------------------------------------------------------------------------------------- */

/*
 * A range of uids is one daemon's at a time: what a uid leaves is killed and removed with its session, and
 * another daemon's session of that uid would go with it.
 *
 * One file for all daemons of the machine, UID_LOCK_FILE; byte N of it is locked for the uid N, so ranges that overlap
 * collide. The lock ends with the process. Where the file cannot be made (/run is read-only) the daemon starts without
 * a lock and logs it. Containers have a /run of their own each, and uids of their own.
 */
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
