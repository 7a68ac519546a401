/*
 * agent_user.h - as whom something runs, or reaches files, for an agent.
 *
 * A value: who copies one borrows its name, except agent_user_copy, whose result agent_user_done frees. Without
 * "switched" it is the daemon itself; uid and gid are true nevertheless.
 *
 * agent_user_enter and agent_user_leave stand around a few system calls of the loop's thread: those are decided with
 * the rights of that user, and without the capabilities that would lie. They cannot be nested.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct agent_user {
	bool switched;
	uid_t uid;
	gid_t gid;
	char *name; /* NULL: it has none, or it is the daemon */
};

/* The daemon itself. */
struct agent_user agent_user_self(void);
struct agent_user agent_user_copy(const struct agent_user *u);
void agent_user_done(struct agent_user *u);
bool agent_user_same(const struct agent_user *a, const struct agent_user *b);

void agent_user_enter(const struct agent_user *u);
void agent_user_leave(const struct agent_user *u);
/* That user may do so, with a file at this path: bits of access(2). */
bool agent_user_may(const struct agent_user *u, const char *path, int what);
