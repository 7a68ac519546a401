/*
 * ancestry.h - whether the process on the other side of a UNIX socket is one that we started, or that came of one.
 *
 * What works for a client (a harness, a hosted server, the tools and whatever they start) may run as our own uid, and
 * must not answer its own questions. Three traces are looked for, and any will do: it descends from us (we are a
 * subreaper, so whoever is orphaned below us stays below us), it is in a cgroup of ours, or it carries our marker in
 * its environment. A process that has ended, or whose line of parents is longer than ANCESTRY_DEPTH_MAX, cannot be
 * told and counts as ours. One that a service outside of us has started for the agent (systemd-run --user, cron, a
 * terminal multiplexer that was there before) is not found: that takes a uid of its own (--agent-user).
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* What is known of the peer of a connected socket. pid 0: of a pid namespace that we cannot see into, so none of
 * ours. */
struct peer_process {
	pid_t pid;
	int pidfd; /* -1: the kernel has none to give (before 6.5) */
};

/* -errno: it is gone. The caller closes pidfd. */
int ancestry_peer(int socket, struct peer_process *ret);
/* cgroup: the directory of all our children, may be NULL. */
bool ancestry_is_ours(const struct peer_process *peer, const char *incarnation, const char *cgroup);
