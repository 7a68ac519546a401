/*
 * tree.h - the process table: who descends from whom, and whose environment carries which owner marker.
 *
 * Every child is started with ACPD_OWNER=<incarnation> and ACPD_SESSION=<session>; a process belongs to a session if
 * it or an ancestor below the daemon carries the marker, or if it is still in the leader's kernel session. Signals go
 * through a pidfd opened before the check, so that a recycled pid is never hit; where there are none, right after the check.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#define TREE_OWNER_ENV "ACPD_OWNER"
#define TREE_SESSION_ENV "ACPD_SESSION"

/* Kills once what belongs to the session; returns how many live processes it found. leader may be 0.
 * With strays, processes below us that carry no session marker at all and are none of our own children
 * (is_own tells) are counted in: a cleared environment without a cgroup leaves no better trace. */
int tree_kill_session(const char *session, pid_t leader, bool strays, bool (*is_own)(pid_t pid));
/* Kills once everything that descends from us. */
int tree_kill_descendants(void);
/* Kills once every process that carries ACPD_OWNER=incarnation, wherever it hangs; returns how many. */
int tree_kill_owner(const char *incarnation);
