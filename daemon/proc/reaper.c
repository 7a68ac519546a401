#include "proc/reaper.h"

#include "base/limits.h"

#include <stddef.h>
#include <sys/wait.h>

static void reap(void *ctx)
{
	struct reaper *r = ctx;
	struct rusage used;
	int status;

	for (size_t i = 0; i < REAP_MAX; i++) {
		pid_t pid = wait4(-1, &status, WNOHANG, &used);

		if (pid <= 0)
			return;
		r->fn(r->ctx, pid, status, &used);
	}
	loop_timer_set(r->loop, &r->timer, 1, reap, r);
}

void reaper_run(struct reaper *r, struct loop *loop, reaped_fn fn, void *ctx)
{
	r->loop = loop;
	r->fn = fn;
	r->ctx = ctx;
	reap(r);
}

void reaper_done(struct reaper *r)
{
	loop_timer_cancel(&r->timer);
}
