/*
 * ring.h - the threads of an extraction: bytes handed from the one that inflates to the one that writes, and SHA-256 of what
 * is written by a third.
 *
 * Producer: ring_space() waits for room and returns its size, ring_put() says how much was used. A buffer is passed on
 * when it is full and when the producer returns. ring_space() returns NULL once the consumer needs no more; the
 * producer then returns.
 *
 * Consumer: ring_peek() waits for bytes and shows those of one buffer, ring_take() consumes some. 0 bytes: the end;
 * negative: what the producer returned. Bytes stay valid until the take that passes them; with ring_sums() until these
 * sums have finished everything that was added before. ring_stop() may be called at any time and joins the thread.
 */
#pragma once

#include "unpack/snapshot/seed.h"

#include <sys/types.h>

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

struct ring;

typedef int (*ring_producer_fn)(void *ctx, struct ring *r);

/* NULL: no thread could be made. */
struct ring *ring_start(ring_producer_fn fn, void *ctx);
void ring_stop(struct ring *r);

uint8_t *ring_space(struct ring *r, size_t *room);
void ring_put(struct ring *r, size_t n);

/* Set it to NULL before the sums are stopped. Stop the sums before the ring. */
void ring_sums(struct ring *r, struct sums *sums);
ssize_t ring_peek(struct ring *r, const uint8_t **p);
void ring_take(struct ring *r, size_t n);
