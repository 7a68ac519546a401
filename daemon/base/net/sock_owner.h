/*
 * sock_owner.h - which user a TCP socket of this machine belongs to, from the two addresses of its connection.
 *
 * The kernel is asked by NETLINK_SOCK_DIAG for exactly one socket (INET_DIAG, no dump). It answers within the call that
 * asks, in microseconds, so nothing here waits. It sees the sockets of the network namespace that the netlink socket
 * was made in, and no others. No privilege is needed.
 *
 * The look-up says who made the socket: a descriptor that was handed to another user's process still counts as the
 * first one's. IPv4 only.
 */
#pragma once

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Of the socket that is sought: its own address, and the one that it is connected to (all zeros: it listens). */
struct sock_pair {
	struct sockaddr_in own, peer;
};

#define SOCK_OWNER_QUESTION 72 /* bytes */

/* A netlink socket to ask with, or -errno. The caller closes it. */
int sock_owner_open(void);
/* 0 and the user, or -errno: -ENOENT if there is no such socket. */
int sock_owner_ask(int netlink, const struct sock_pair *pair, uid_t *ret);

/* What goes over the netlink socket. seq names the question in its answer. */
void sock_owner_put(char out[SOCK_OWNER_QUESTION], const struct sock_pair *pair, uint32_t seq);
/* -EAGAIN: it answers another question; -EBADMSG: it is none; what the kernel says went wrong. */
int sock_owner_read(const char *msg, size_t n, const struct sock_pair *pair, uint32_t seq,
		    uid_t *ret);
