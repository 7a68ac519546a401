/*
 * ring.h - bytes handed from a thread that makes them (inflates) to the one that uses them, in a few large buffers.
 *
 * The producer fills the buffers one after the other and the consumer empties them in the same order, so that the time
 * of a job is that of the slower of the two. Nothing else is shared: what the producer has to say when it fails is
 * read after the consumer has taken every byte that came before.
 *
 * Producer: ring_space() waits for room and tells how much is there, ring_put() says how much was used; a buffer is
 * handed over when it is full and when the producer returns. ring_space() gives NULL once the consumer wants nothing
 * more; the producer then returns.
 *
 * Consumer: ring_peek() waits for bytes and shows those of one buffer, ring_take() has done with some. 0 bytes: the
 * end; negative: what the producer returned. Bytes stay valid until the take that passes them; with ring_sums() until
 * everything that was added to these sums before is done with. ring_stop() may come at any time and joins the thread.
 */
#pragma once

#include "unpack/bytes/sums.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct ring;

typedef int (*ring_producer_fn)(void *ctx, struct ring *r);

/* NULL: no thread could be made. */
struct ring *ring_start(ring_producer_fn fn, void *ctx);
void ring_stop(struct ring *r);

uint8_t *ring_space(struct ring *r, size_t *room);
void ring_put(struct ring *r, size_t n);

/* NULL again before the sums are stopped, and the sums before the ring. */
void ring_sums(struct ring *r, struct sums *sums);
ssize_t ring_peek(struct ring *r, const uint8_t **p);
void ring_take(struct ring *r, size_t n);
