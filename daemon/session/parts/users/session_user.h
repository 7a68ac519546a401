/*
 * session_user.h - as whom a session runs.
 *
 * With --agent-uids a session has a uid of its own, unless its working directory belongs to somebody who already works
 * here: to --agent-user, or to the uid of another session. Then it works on it as that one, and a fork on the tree of
 * its original as the original. Without --agent-uids all run as --agent-user.
 *
 * The uid stands in the session's journal, and in the book of uids (agent_uids.h) until all of the session is gone.
 */
#pragma once

#include "proc/users/uid_range.h"
#include "session/core/session_internal.h"
#include "session/parts/session_parts.h"
#include "session/parts/users/agent_uids.h"
#include "session/parts/users/leftovers.h"
#include "session/parts/users/parked_uids.h"

/* For all sessions. */
struct store_users {
	struct agent_uids *uids;
	struct uid_lock lock; /* on the range of them; valid once opened */
	bool opened;
	struct leftovers *leftovers;
	struct parked_uids *parked;
	struct uid_lending *lending;
};

static inline struct store_users *store_users_of(const struct session_store *st)
{
	return st->parts[PART_USER];
}

/* Its uid was given to others; its files have that one. Until then it is nobody's but the daemon's. */
void session_user_park(struct session *s);
void session_user_unpark(struct session *s, uid_t uid);
