#include "tools/upstream/http/socket_user.h"

#include <errno.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <unistd.h>

bool dial_become(const struct dial_as *as)
{
	if (!as->switch_user)
		return true;
	setfsgid(as->gid);
	setfsuid(as->uid);
	/* they tell of no failure, only what was before */
	return setfsuid((uid_t)-1) == (int)as->uid && setfsgid((gid_t)-1) == (int)as->gid;
}

void dial_restore(const struct dial_as *as)
{
	if (!as->switch_user)
		return;
	setfsuid(geteuid());
	setfsgid(getegid());
}

int dial_socket(const struct dial_as *as, int family, int type)
{
	int fd = -1, error = EPERM;

	if (dial_become(as)) {
		fd = socket(family, type, 0);
		error = errno;
	}
	dial_restore(as);
	errno = error;
	return fd;
}
