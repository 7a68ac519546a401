#include "tools/upstream/http/socket_user.h"

#include <errno.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <unistd.h>

bool socket_user_enter(const struct socket_user *as)
{
	if (!as->switch_user)
		return true;
	setfsgid(as->gid);
	setfsuid(as->uid);
	/* they report no failure, only the previous value */
	return setfsuid((uid_t)-1) == (int)as->uid && setfsgid((gid_t)-1) == (int)as->gid;
}

void socket_user_leave(const struct socket_user *as)
{
	if (!as->switch_user)
		return;
	setfsuid(geteuid());
	setfsgid(getegid());
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
