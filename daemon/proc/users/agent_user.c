#include "proc/users/agent_user.h"

#include "base/os/fs_user.h"
#include "base/util.h"

#include <fcntl.h>
#include <unistd.h>

struct agent_user agent_user_self(void)
{
	return (struct agent_user){ .uid = geteuid(), .gid = getegid() };
}

struct agent_user agent_user_copy(const struct agent_user *u)
{
	struct agent_user copy = *u;

	copy.name = xstrdup(u->name);
	return copy;
}

void agent_user_done(struct agent_user *u)
{
	free(TAKE_PTR(u->name));
}

bool agent_user_same(const struct agent_user *a, const struct agent_user *b)
{
	return a->switched == b->switched && a->uid == b->uid && a->gid == b->gid;
}

void agent_user_enter(const struct agent_user *u)
{
	if (u->switched)
		fs_user_enter(u->uid, u->gid);
}

void agent_user_leave(const struct agent_user *u)
{
	if (u->switched)
		fs_user_leave();
}

bool agent_user_may(const struct agent_user *u, const char *path, int what)
{
	bool may;

	agent_user_enter(u);
	may = faccessat(AT_FDCWD, path, what, AT_EACCESS) == 0;
	agent_user_leave(u);
	return may;
}
