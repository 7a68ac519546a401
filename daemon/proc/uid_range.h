/*
 * uid_range.h - the uids of --agent-uids FIRST-LAST, and what the machine says about them.
 *
 * A uid N of the range is meant to have a user "agent-N" with the group N of the same name (images/agent-users.sh makes
 * them): ssh, git and other programs want to know the name of who runs them. Any other user with such a uid is somebody
 * else's, and the range is refused. A copy of two numbers; it owns nothing.
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

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
