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

/*
 * Access to files and sockets with the rights of another user, for the calling thread alone.
 *
 * Between fs_user_enter and fs_user_leave the kernel checks paths as that user: file-system uid and gid (setfsuid(2)),
 * no supplementary groups, and none of root's capabilities over files. Calls cannot be nested. Start no thread and no
 * process between them.
 */
/* Returns false if the kernel refused a part of it: then open nothing. fs_user_leave follows in any case. */
bool fs_user_enter(uid_t uid, gid_t gid);
/* Restores the ids and groups of the daemon. */
void fs_user_leave(void);
