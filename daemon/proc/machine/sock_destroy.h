/*
 * sock_destroy.h - ends TCP connections of other processes, by sock_diag: each gets an error (ECONNABORTED) at once, and
 * the far end a reset. Of our network namespace, and none whose ends are both on this machine. Needs CAP_NET_ADMIN and a
 * kernel with CONFIG_INET_DIAG_DESTROY.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Who made a socket. */
struct sock_maker {
	uid_t uid;
	uint64_t cgroup; /* id of its cgroup in v2; 0: the kernel does not say */
};

/* Ends the connections whose maker `of` names. Returns how many; -errno: none could be ended, -EOPNOTSUPP or -EPERM. */
int sock_destroy_all(bool (*of)(void *ctx, const struct sock_maker *m), void *ctx);
