/*
 * serve_process.c - what the daemon makes of its process and its directories before it builds anything, and the deadline of its
 * stop.
 *
 * A thread of its own that sleeps by the kernel's CLOCK_MONOTONIC keeps the deadline: neither the loop, nor its timers, nor
 * CLOCK_REALTIME has a part in it.
 */
#include "cli/serve/serve.h"

#include "base/limits.h"
#include "base/limits_parts.h"
#include "base/log.h"
#include "base/os/file.h"
#include "base/os/threads.h"
#include "base/util.h"
#include "cli/cmd.h"
#include "proc/spawn.h"

#include <malloc.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#define STACK_BYTES (256 * KIB) /* it reads the process table */

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

/* --- the stop --------------------------------------------------------------------------------------------------- */

/* The stop may be held up by a process, which ends here, or by the daemon itself. */
static void *stop_in_time(void *arg _unused_)
{
	sleep_ms(STOP_KILL_MS);
	log_error("serve", "stop timed out, killing all processes");
	kill_descendants();
	sleep_ms(STOP_EXIT_MS);
	log_error("serve", "stop timed out, exiting");
	kill_descendants();
	_exit(EXIT_FAILED);
}

void stop_deadline_start(void)
{
	pthread_t thread;
	int r = thread_start_sized(&thread, STACK_BYTES, stop_in_time, NULL);

	if (r == 0)
		pthread_detach(thread);
	else
		log_warn("serve", "stop has no deadline", "text", strerror(-r));
}
