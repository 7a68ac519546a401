/*
 * isolation.h - what separates agents from root and from each other, as /ready, doctor and the log report it.
 *
 *	{level, levels, agentUser?, noNewPrivileges, daemonUser, sharedUser, agentUids?, networkNamespaces,
 *	 networkMissing?, waysToRoot: [{kind, text}], unread?}
 *
 * level: what a session gets whose client names none; levels: which it could have whole (session_level.h). daemonUser: agents run as the daemon's own user
 * (no --agent-user, or that one): they can read the token, the usage records and the journals. The UNIX sockets refuse them (proc/table/ancestry.h), files cannot. sharedUser: all
 * sessions run as one user, so that one can read the environment of another's harness, and stop it (no --agent-uids).
 * waysToRoot is searched at each call (proc/users/root_access.h has the kinds);
 * unread: some files could not be read. networkNamespaces: a session can be without
 * network (proc/spaces/netns.h); networkMissing: why it cannot.
 */
#pragma once

#include "json/jenc.h"
#include "session/core/session.h"

void isolation_put(const struct session_store *st, struct jw *w, const char *key);
/* A line for how agents run, a warning for each way. */
void isolation_log(const struct session_store *st);
