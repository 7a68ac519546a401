/*
 * locked.h - memory for secrets: it is never swapped out, is in no core file, and is wiped when it is freed. Small
 * pieces share pages, because how much a process may lock is scarce. Not for threads.
 */
#pragma once

#include <stddef.h>

/* Zeroed; NULL: no more can be locked. n is at most LOCKED_MAX. */
void *locked_alloc(size_t n);
void locked_free(void *p, size_t n);

#define LOCKED_MAX (256 * 1024)
