/*
 * fs_user.h - access to files and sockets with the rights of another user, for the calling thread alone.
 *
 * Between fs_user_enter and fs_user_leave the kernel checks paths as that user: file-system uid and gid (setfsuid(2)),
 * no supplementary groups, and none of root's capabilities over files. Calls cannot be nested. Start no thread and no
 * process between them.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Returns false if the kernel refused a part of it: then open nothing. fs_user_leave follows in any case. */
bool fs_user_enter(uid_t uid, gid_t gid);
/* Restores the ids and groups of the daemon. */
void fs_user_leave(void);
