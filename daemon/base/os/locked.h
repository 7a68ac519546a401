/*
 * locked.h - memory for secrets: it is never swapped out, is in no core file, and is wiped when it is freed. Small
 * pieces share pages, because how much a process may lock is scarce. Not for threads.
 */
#pragma once

#include "base/slice.h"

#define LOCKED_WHY_SIZE 192

/* Zeroed; NULL: no more can be locked. n is at most LOCKED_MAX. */
void *locked_alloc(size_t n);
void locked_free(void *p, size_t n);
/* Returns 0 if memory can be locked, by this process or by one that it starts as root; otherwise what the kernel answered,
 * -EPERM or -ENOMEM, with what to set in why. */
int locked_probe(char why[LOCKED_WHY_SIZE]);

#define LOCKED_MAX (256 * 1024)

/* --- texts ----------------------------------------------------------------------------------------------- */

/*
 * A secret that its last owner wipes. A plain user can lock only RLIMIT_MEMLOCK bytes; a text above that is stored in
 * ordinary memory, because refusing the key would protect nobody.
 */
struct locked_text;

/* A copy of the bytes, NUL-terminated; the caller wipes its own. */
struct locked_text *locked_text_new(struct slice bytes);
/* One owner more. Takes NULL. */
struct locked_text *locked_text_ref(struct locked_text *t);
/* Always NULL. Takes NULL. */
struct locked_text *locked_text_unref(struct locked_text *t);
/* Empty for NULL. */
struct slice locked_text_slice(const struct locked_text *t);
/* NULL for NULL. */
const char *locked_text_str(const struct locked_text *t);
