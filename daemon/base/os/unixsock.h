/* unixsock.h - UNIX stream sockets: listen, connect, and who is on the other side. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Listens at path, mode 0600, and replaces a stale socket. A descriptor, -EADDRINUSE if a process listens there, or the
 * error of a connection that does not show whether one does. Never waits. */
int unixsock_listen(const char *path);
/* A connected non-blocking descriptor, or -errno. Waits while the process that listens has a full backlog. */
int unixsock_connect(const char *path);
/* Removes the sockets of a directory and of those in it that no process listens at any more, and directories in it that are
 * then empty. */
void unixsock_sweep(const char *dir);
/* The peer's uid is 0 or ours. */
bool unixsock_peer_trusted(int fd);
/* The peer's uid is 0. */
bool unixsock_peer_root(int fd);
/* The peer's uid is 0, ours, or this one. */
bool unixsock_peer_is(int fd, uid_t uid);
