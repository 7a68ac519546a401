/* local_sock.h - sockets within the machine: UNIX streams and the user at the other end, descriptors, loopback listeners. */
#pragma once

#include <netinet/in.h>
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

/* --- descriptors ----------------------------------------------------------------------------------------- */

/* A descriptor goes from a child to its parent, or the reason why there is none. Plain system calls only, for use between fork and exec. r: a descriptor, or -errno. false: nobody gets it. */
bool handed_fd_send(int sock, int r);
/* The descriptor, which exec closes, or -errno: what was sent, or -EIO if the other side has ended before. */
int handed_fd_take(int sock);

/* --- the loopback ---------------------------------------------------------------------------------------- */

/* Addresses of 127.0.0.0/8 for listeners that one session is to find, and nobody to guess. Binds given (-1: a new socket that does not block) to a random address and port of the loopback, and listens if
 * backlog is above 0. given is taken, also by a failure. The descriptor and where it is, or -errno. */
int loopback_bind(int given, int backlog, struct sockaddr_in *at);
