/*
 * sums.h - SHA-256 of the files that are written, on a thread of its own: writing is what a job takes longest for, and
 * hashing beside it would add a third.
 *
 * The writer says which bytes belong to its file (sums_add) and when it is whole (sums_end). The bytes are not copied:
 * who owns them learns that they are done with by a call of his own in the same order (sums_then), or waits for
 * everything (sums_wait). Finished digests are fetched in the order of the files (sums_take), by the thread that added
 * them.
 */
#pragma once

#include "digest/digest.h"

#include <stdbool.h>
#include <stdint.h>

struct sums;

/* NULL: no thread could be made. */
struct sums *sums_start(void);
void sums_stop(struct sums *s);

/* p NULL: so many zeros. */
void sums_add(struct sums *s, const void *p, size_t n);
/* The file that was added to is number id. */
void sums_end(struct sums *s, uint32_t id);
/* Calls fn(ctx) on the thread once all that was added before is done with, and sends it off. */
void sums_then(struct sums *s, void (*fn)(void *ctx), void *ctx);
/* Until all is done. */
void sums_wait(struct sums *s);
/* The next finished file; false: none is, for now. */
bool sums_take(struct sums *s, uint32_t *id, struct sha256 *digest);
