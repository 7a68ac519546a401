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

#include "session/core/session_internal.h"

extern const struct session_part user_part;

/* Of a new session, from its parameters; from: what it is a fork of, on the same tree, or NULL. Nothing of it has been made. */
int session_user_choose(struct session *s, const struct session_params *p,
			const struct session *from, struct err *e);
/* Not --agent-user, and not the daemon: only sessions have it. */
bool session_user_is_own(const struct session *s);
/* It has come to nothing, and nothing ever ran for it. */
void session_user_unchoose(struct session *s);
/* Of a session of an earlier daemon: recorded is the uid in its journal, 0: none. */
void session_user_recall(struct session *s, uint64_t recorded);
/* Its uid was given to others; its files have that one. Until then it is nobody's but the daemon's. */
void session_user_park(struct session *s);
void session_user_unpark(struct session *s, uid_t uid);
/* Into the record of the session. */
void session_user_note(const struct session *s, struct jw *w);
/* Sessions whose last daemon was killed before all of them was gone are finished. */
void session_users_take_up(struct session_store *st);
