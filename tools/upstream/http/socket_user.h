/*
 * socket_user.h - the user of a connection: the daemon's own, or the user who wrote the configuration that names the
 * server.
 *
 * A socket belongs to its maker: rules of the firewall by user (nft meta skuid), /proc/net/tcp and what a server asks
 * the kernel about its peer all use the file system uid of the thread at that moment, for as long as the socket lives.
 * So the uid is changed around socket(2) and around looking up a name, and nowhere else. What that user cannot reach is
 * then not reached for him. It is fsuid, not the real or effective uid: those of a thread decide who may signal the
 * whole process. No further process and no copy of bytes is needed.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct socket_user {
	bool switch_user; /* else as ourselves */
	uid_t uid;
	gid_t gid;
};

/* For the calling thread alone. False: it was refused, and no socket may be made. socket_user_leave follows in any
 * case. */
bool socket_user_enter(const struct socket_user *as);
void socket_user_leave(const struct socket_user *as);
/* socket(2) as that user; -1 and errno. */
int socket_user_open(const struct socket_user *as, int family, int type);
