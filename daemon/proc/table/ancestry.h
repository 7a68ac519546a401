/*
 * ancestry.h - whether the process on the other side of a UNIX socket is one that we started, or that came of one.
 *
 * A process that works for a client (a harness, a hosted server, a tool, a child of these) may run as our own uid, and
 * must not answer its own questions. One of three traces is enough: it descends from us (we are a subreaper, so an
 * orphan below us stays below us), it is in a cgroup of ours, or its environment holds our marker. A process counts as
 * ours if it has ended, or if it has more than ANCESTRY_DEPTH_MAX ancestors, because it cannot be checked then. A
 * process that a service outside of us started for the agent (systemd-run --user, cron, an older terminal multiplexer)
 * is not found. Only a uid of its own keeps it apart (--agent-user).
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* The peer of a connected socket. pid 0: it is in a pid namespace that we cannot see into, so it is not
 * ours. */
struct peer_process {
	pid_t pid;
	int pidfd; /* -1: the kernel has none to give (before 6.5) */
};

/* -errno: it is gone. The caller closes pidfd. */
int ancestry_peer(int socket, struct peer_process *ret);
/* cgroup: the directory of all our children, may be NULL. */
bool ancestry_is_ours(const struct peer_process *peer, const char *cgroup);
