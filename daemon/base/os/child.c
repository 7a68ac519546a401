#include "base/os/child.h"

#include <poll.h>
#include <signal.h>
#include <stddef.h>

/* A program inherits ignored signals and the mask through exec, but no handlers (execve(2)). */
void child_reset_signals(void)
{
	sigset_t none;

	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* By the pipe: in a pid namespace the daemon has no number that the child could ask for. */
bool child_is_orphan(int pipe)
{
	struct pollfd p = { .fd = pipe };

	return poll(&p, 1, 0) > 0 && (p.revents & POLLERR);
}
