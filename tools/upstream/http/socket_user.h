/*
 * socket_user.h - whose connections are made: the daemon's own, or those of the user who wrote the configuration that
 * names the server.
 *
 * A socket belongs to its maker: rules of the firewall by user (nft meta skuid), /proc/net/tcp and what a
 * server asks the kernel about its peer all go by the file system uid of the thread at that moment, for as long as
 * the socket lives. So the uid is changed around socket(2), and around looking up a name, and nowhere else; what that
 * user cannot reach is then not reached for him. fsuid, not the real or effective one: those of a thread decide who
 * may signal the whole process. No process in between, no copy of bytes.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct socket_user {
	bool switch_user; /* else as ourselves */
	uid_t uid;
	gid_t gid;
};

/* Of the calling thread alone. False: it was refused, and nothing may be made. socket_user_leave follows in any
 * case. */
bool socket_user_enter(const struct socket_user *as);
void socket_user_leave(const struct socket_user *as);
/* socket(2) as that user; -1 and errno. */
int socket_user_open(const struct socket_user *as, int family, int type);
