#include "cli/serve/serve_ground.h"

#include "base/os/file.h"
#include "base/util.h"
#include "proc/spawn.h"

#include <errno.h>
#include <malloc.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

/* Other processes of our uid may not read our memory or descriptors, and no core file holds a secret. */
void serve_harden(void)
{
	struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
	spawn_raise_files();
	/* large buffers come and go with large messages: return them to the system, and keep the threshold fixed */
	mallopt(M_MMAP_THRESHOLD, 128 * KIB);
#ifndef __SANITIZE_ADDRESS__ /* its leak check traces the process */
	prctl(PR_SET_DUMPABLE, 0);
#endif
}

int serve_make_workspaces(const struct config *c, struct err *e)
{
	struct passwd *pw = c->agent_user ? getpwnam(c->agent_user) : NULL;
	int r;

	if (!c->workspaces)
		return 0;
	r = file_mkdirs(c->workspaces, 0755);
	/* that user could rename the workspaces of others in a directory of his own */
	if (c->agent_uids)
		pw = NULL;
	if (r == 0 && pw && geteuid() == 0 && chown(c->workspaces, pw->pw_uid, pw->pw_gid) < 0)
		r = -errno;
	if (r < 0)
		return err_field(e, "workspaces", "OPTION_INVALID", "--workspaces: %s: %s",
				 c->workspaces, strerror(-r));
	return 0;
}
