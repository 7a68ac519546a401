/*
 * sums.h - SHA-256 of the files that are written, on a thread of its own: writing is the longest part of a job, and
 * hashing in the same thread would add a third.
 *
 * The writer says which bytes belong to its file (sums_add) and when it is whole (sums_end). The bytes are not copied:
 * their owner has a callback run in the same order once they are done with (sums_then), or waits for everything
 * (sums_wait). The thread that added the files fetches finished digests, in the order of the files (sums_take).
 */
#pragma once

#include "unpack/snapshot/seed.h"

#include <stdbool.h>
#include <stdint.h>

struct sums;

/* seed (may be NULL) gets the bytes, too. NULL: no thread could be made. */
struct sums *sums_start(struct seed *seed);
void sums_stop(struct sums *s);

/* p NULL: so many zeros. */
void sums_add(struct sums *s, const void *p, size_t n);
/* The current file is complete. Its number is id. */
void sums_end(struct sums *s, uint32_t id);
/* Calls fn(ctx) on the thread once everything added before is done, and sends the steps to the thread. */
void sums_then(struct sums *s, void (*fn)(void *ctx), void *ctx);
/* Waits until everything is done. */
void sums_wait(struct sums *s);
/* The next finished file; false: there is none yet. */
bool sums_take(struct sums *s, uint32_t *id, struct sha256 *digest, struct seed_place *place);
