#include "tools/upstream/http/socket_user.h"

#include "proc/users/agent_user.h"

#include <errno.h>
#include <sys/socket.h>

bool socket_user_enter(const struct socket_user *as)
{
	return !as->switch_user || fs_user_enter(as->uid, as->gid);
}

void socket_user_leave(const struct socket_user *as)
{
	if (as->switch_user)
		fs_user_leave();
}

int socket_user_open(const struct socket_user *as, int family, int type)
{
	int fd = -1, error = EPERM;

	if (socket_user_enter(as)) {
		fd = socket(family, type, 0);
		error = errno;
	}
	socket_user_leave(as);
	errno = error;
	return fd;
}
