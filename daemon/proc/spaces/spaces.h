/*
 * spaces.h - the namespaces of a session: mounts (what it sees of the file system: fsview.h), process numbers, System V
 * IPC and the host's name. What runs in them sees no other process of the machine, and none of its files changes.
 * The network's is apart (proc/spaces/netns.h), and both go together.
 *
 * They hang on one process, acpd-init, a child of ours that does nothing. When it ends the kernel kills all that is in
 * there, wherever it hangs and whatever it has become; it ends with the last reference, and with the daemon. So nothing
 * of it outlives a daemon that is killed, and nothing of it is on disk but what the view names.
 *
 * Making them takes 2 ms and holds one descriptor. Root needs CAP_SYS_ADMIN, and CAP_SYS_PTRACE to enter; another user
 * has them in the user namespace of proc/spaces/netns.h. Linux 5.12. All of it runs on the loop.
 */
#pragma once

#include "base/err.h"
#include "proc/spaces/fsview.h"

struct spaces;

/* Why there can be none. what: one of a closed list, see spaces.c. */
struct spaces_missing {
	const char *what, *why;
};

/* NULL: they can be made here. As it was when it was tried first. */
const struct spaces_missing *spaces_missing(void);

/* view: settled, and used up only here. session: whose processes they hold. init runs as uid and gid if switch_user, else
 * as who we are, and they are ignored. One reference; NULL with e, CONFINEMENT_UNSUPPORTED. */
struct spaces *spaces_new(struct fsview *view, const char *session, bool switch_user, uid_t uid,
			  gid_t gid, struct err *e);
/* Only a mount namespace, in which the places of the view stand and all else is as it is outside (fsview_mount_places).
 * Nothing hangs on a process: it is there while somebody is in it or has a reference. Root only. As above. */
struct spaces *spaces_new_mounts(struct fsview *view, struct err *e);
/* Both take NULL. The last one kills what is in there, without waiting for it. */
struct spaces *spaces_ref(struct spaces *s);
struct spaces *spaces_unref(struct spaces *s);
/* Kills what is in there now, without waiting for it. Nobody enters any more. */
void spaces_kill(const struct spaces *s);
/* Its init lives: somebody may enter. */
bool spaces_live(const struct spaces *s);

/* Between fork and exec, with the capabilities for it. 0: who calls this is inside; 1: only his children are. */
int spaces_enter(const struct spaces *s);

/* Calls fn for all that live: never for more than a moment ago, but for new ones. */
void spaces_each(void (*fn)(void *ctx, pid_t init, char *session), void *ctx);
