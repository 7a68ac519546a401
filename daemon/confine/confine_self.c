#include "confine/confine_self.h"

#include "base/util.h"

#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

/* The uid last: without root's the groups cannot be changed. */
int confine_self_switch(uid_t uid, gid_t gid)
{
	return setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 ||
			       setresuid(uid, uid, uid) < 0 ?
		       -errno :
		       0;
}

int confine_self_become(uid_t uid, gid_t gid)
{
	int r = confine_self_switch(uid, gid);

	return r == 0 && setuid(0) == 0 ? -EPERM : r;
}

int confine_self_bind(pid_t parent)
{
	if (prctl(PR_SET_DUMPABLE, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return getppid() == parent ? 0 : -ESRCH;
}

void confine_self_limit(int what, uint64_t n)
{
	struct rlimit r;

	if (getrlimit((__rlimit_resource_t)what, &r) < 0)
		return;
	r.rlim_max = MIN(r.rlim_max, n);
	r.rlim_cur = r.rlim_max;
	setrlimit((__rlimit_resource_t)what, &r);
}
