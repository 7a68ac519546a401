#include "proc/supervise.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/os/threads.h"
#include "confine/watch/confine_watch.h"

#include <errno.h>
#include <poll.h>

struct supervisor {
	int listener;
	struct watch_scope scope;
};

static struct supervisor *supervisor_free(struct supervisor *s)
{
	closep(&s->listener);
	refusals_unref(s->scope.to);
	free(s);
	return NULL;
}

static bool wait_for_call(int listener)
{
	struct pollfd p = { .fd = listener, .events = POLLIN };
	int r;

	do
		r = poll(&p, 1, -1);
	while (r < 0 && errno == EINTR);
	return r > 0 && p.revents & POLLIN;
}

static void *supervise(void *arg)
{
	struct supervisor *s = arg;

	while (wait_for_call(s->listener) && confine_watch_next(s->listener, &s->scope) == 0)
		;
	supervisor_free(s);
	return NULL;
}

void supervise_start(int listener, const struct proc_bounds *bounds)
{
	struct supervisor *s = new0(struct supervisor);
	pthread_t thread;
	int r = listener;

	*s = (struct supervisor){
		.listener = listener,
		.scope = { bounds->confinement, bounds->netns, refusals_ref(bounds->refusals) },
	};
	if (r >= 0)
		r = thread_start_sized(&thread, JOB_STACK, supervise, s);
	if (r >= 0) {
		pthread_detach(thread);
		return;
	}
	supervisor_free(s);
	log_error("proc", "refused system calls cannot be recorded", "error", strerror(-r));
}
