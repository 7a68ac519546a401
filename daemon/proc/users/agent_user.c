/*
 * agent_user.c - the user that something runs as, and the rights of that user for the calling thread.
 *
 * Between enter and leave the kernel checks paths by the file-system ids (setfsuid(2)). faccessat
 * with AT_EACCESS then asks for that user, where access(2) would ask for the real one.
 */
#include "proc/users/agent_user.h"

#include "base/util.h"

#include <fcntl.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>

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

/* --- of the thread --------------------------------------------------------------------------------------- */

/*
 * Changes the file-system ids and the supplementary groups of one thread.
 *
 * setgroups(3) of the C library changes all threads of the process, the system call only its
 * caller. Most daemons have no supplementary groups; then nothing is stored.
 */
static _Thread_local gid_t *stored;
static _Thread_local int nstored;

static bool set_groups(int n, const gid_t *groups)
{
	return syscall(SYS_setgroups, n, groups) == 0;
}

static bool drop_groups(void)
{
	int n = getgroups(0, NULL);

	if (n <= 0)
		return n == 0;
	stored = xalloc((size_t)n * sizeof(*stored));
	nstored = getgroups(n, stored);
	if (nstored >= 0 && set_groups(0, NULL))
		return true;
	free(TAKE_PTR(stored));
	return false;
}

bool fs_user_enter(uid_t uid, gid_t gid)
{
	bool dropped = drop_groups();

	setfsgid(gid);
	setfsuid(uid);
	/* They report no failure, only the previous value. */
	return dropped && setfsuid((uid_t)-1) == (int)uid && setfsgid((gid_t)-1) == (int)gid;
}

void fs_user_leave(void)
{
	setfsuid(geteuid());
	setfsgid(getegid());
	if (stored)
		set_groups(nstored, stored);
	free(TAKE_PTR(stored));
}
