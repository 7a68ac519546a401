/* threads.h - starts the few threads of the daemon, for work that must not hold up the loop. */
#pragma once

#include "base/util.h"

#include <pthread.h>

static inline void mutex_unlockp(pthread_mutex_t **m)
{
	pthread_mutex_unlock(*m);
}

/* Declares that the mutex is held to the end of the block. */
#define HOLD(m)                                                                                    \
	_cleanup_(mutex_unlockp) pthread_mutex_t *_held = (m);                                     \
	pthread_mutex_lock(_held)

/* Starts a thread with a small stack and all signals blocked: signals belong to the loop. 0 or a negative errno; the
 * caller joins or detaches. */
int thread_start(pthread_t *ret, void *(*run)(void *arg), void *arg);
/* With another stack, for code that needs more of it. */
int thread_start_sized(pthread_t *ret, size_t stack, void *(*run)(void *arg), void *arg);
/* Closes a descriptor in a thread: closing the last one of an unlinked file frees its blocks, which takes long for a
 * large file. */
void thread_close(int fd);
