/*
 * locked.h - memory for secrets: it is never swapped out, is in no core file, and is wiped when it is freed. Small
 * pieces share pages, because how much a process may lock is scarce. Not for threads.
 */
#pragma once

#include <stddef.h>

#define LOCKED_WHY_SIZE 192

/* Zeroed; NULL: no more can be locked. n is at most LOCKED_MAX. */
void *locked_alloc(size_t n);
void locked_free(void *p, size_t n);
/* Returns 0 if memory can be locked, by this process or by one that it starts as root; otherwise what the kernel answered,
 * -EPERM or -ENOMEM, with what to set in why. */
int locked_probe(char why[LOCKED_WHY_SIZE]);

#define LOCKED_MAX (256 * 1024)
