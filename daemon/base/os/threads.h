/* threads.h - the few threads there are: small, for what must not hold up the loop. */
#pragma once

#include <pthread.h>

/* With a small stack, and all signals blocked: they are the loop's. 0 or a negative errno; the caller joins or
 * detaches. */
int thread_start(pthread_t *ret, void *(*run)(void *arg), void *arg);
/* With another stack, for code that needs more of it. */
int thread_start_sized(pthread_t *ret, size_t stack, void *(*run)(void *arg), void *arg);
/* Closes a descriptor beside the loop: the last one of a file that is unlinked gives its bytes back, which takes
 * long for a large file. */
void thread_close(int fd);
