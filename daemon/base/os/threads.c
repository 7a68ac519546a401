#include "base/os/threads.h"

#include "base/limits.h"

#include <signal.h>

#define STACK_BYTES (64 * KIB)

int thread_start(pthread_t *ret, void *(*run)(void *arg), void *arg)
{
	return thread_start_sized(ret, STACK_BYTES, run, arg);
}

int thread_start_sized(pthread_t *ret, size_t stack, void *(*run)(void *arg), void *arg)
{
	pthread_attr_t attr;
	sigset_t all, before;
	int r;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, stack);
	/* Blocked before the thread exists, so that it inherits the mask and no signal reaches it first. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(ret, &attr, run, arg);
	if (r == EINVAL) /* a sanitizer's thread-local data need more stack */
		r = pthread_create(ret, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return -r;
}

static void *run_close(void *arg)
{
	close((int)(intptr_t)arg);
	return NULL;
}

void thread_close(int fd)
{
	pthread_t thread;

	if (thread_start(&thread, run_close, (void *)(intptr_t)fd) == 0)
		pthread_detach(thread);
	else
		close(fd);
}
