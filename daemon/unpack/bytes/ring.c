/*
 * ring.c - a single-producer, single-consumer queue of UNPACK_RING_BUFFERS large buffers.
 *
 * The producer fills the buffers one after the other and the consumer empties them in the same order, so that a job
 * takes as long as the slower of the two. Nothing else is shared: the consumer reads the producer's error after it has
 * taken every byte that came before.
 *
 * head and tail count buffers and never wrap; the difference is the number in use. Only the
 * transfer of whole buffers needs the lock. A buffer's bytes and length belong to the producer
 * before, and to the consumer after it. With sums, a consumed buffer is returned only when the
 * hashing thread has passed it, because the hash reads the same memory.
 */
#include "unpack/bytes/ring.h"

#include "base/os/threads.h"
#include "base/util.h"

#define THREAD_STACK (256 * KIB)

struct ring {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t filled, emptied;
	ring_producer_fn fn;
	void *ctx;
	/* under the lock */
	size_t head, tail; /* buffers handed over, buffers given back; ever growing */
	bool ended, stopped;
	int result;
	/* the producer's */
	size_t put;
	bool holds; /* buffer head is ours to fill */
	/* the consumer's */
	size_t taken, reading; /* of buffer number reading */
	struct sums *sums;
	size_t length[UNPACK_RING_BUFFERS];
	uint8_t *data[UNPACK_RING_BUFFERS];
};

/* --- the producer -------------------------------------------------------------------------------------- */

static void ring_hand_over(struct ring *r)
{
	pthread_mutex_lock(&r->lock);
	r->length[r->head % UNPACK_RING_BUFFERS] = r->put;
	r->head++;
	pthread_cond_signal(&r->filled);
	pthread_mutex_unlock(&r->lock);
	r->put = 0;
	r->holds = false;
}

uint8_t *ring_space(struct ring *r, size_t *room)
{
	if (!r->holds) {
		pthread_mutex_lock(&r->lock);
		while (r->head - r->tail == UNPACK_RING_BUFFERS && !r->stopped)
			pthread_cond_wait(&r->emptied, &r->lock);
		r->holds = !r->stopped;
		pthread_mutex_unlock(&r->lock);
	}
	*room = r->holds ? UNPACK_RING_BYTES - r->put : 0;
	return r->holds ? r->data[r->head % UNPACK_RING_BUFFERS] + r->put : NULL;
}

void ring_put(struct ring *r, size_t n)
{
	r->put += n;
	if (r->put == UNPACK_RING_BYTES)
		ring_hand_over(r);
}

static void *ring_produce(void *arg)
{
	struct ring *r = arg;
	int result = r->fn(r->ctx, r);

	if (r->holds && r->put)
		ring_hand_over(r);
	pthread_mutex_lock(&r->lock);
	r->ended = true;
	r->result = result;
	pthread_cond_signal(&r->filled);
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

/* --- the consumer -------------------------------------------------------------------------------------- */

ssize_t ring_peek(struct ring *r, const uint8_t **p)
{
	size_t at, left;
	int result;

	pthread_mutex_lock(&r->lock);
	while (r->head == r->reading && !r->ended)
		pthread_cond_wait(&r->filled, &r->lock);
	at = r->reading % UNPACK_RING_BUFFERS;
	left = r->head == r->reading ? 0 : r->length[at] - r->taken;
	result = r->result;
	pthread_mutex_unlock(&r->lock);
	*p = r->data[at] + r->taken;
	return left ? (ssize_t)left : result;
}

/* The oldest buffer may be filled again. */
static void ring_give_back(void *ring)
{
	struct ring *r = ring;

	HOLD(&r->lock);
	r->tail++;
	pthread_cond_signal(&r->emptied);
}

void ring_take(struct ring *r, size_t n)
{
	r->taken += n;
	if (r->taken < r->length[r->reading % UNPACK_RING_BUFFERS])
		return;
	r->taken = 0;
	r->reading++;
	if (r->sums)
		sums_then(r->sums, ring_give_back, r);
	else
		ring_give_back(r);
}

void ring_sums(struct ring *r, struct sums *sums)
{
	if (r->sums)
		sums_wait(r->sums);
	r->sums = sums;
}

/* --- life ------------------------------------------------------------------------------------------------ */

static void ring_free(struct ring *r)
{
	for (size_t i = 0; i < UNPACK_RING_BUFFERS; i++)
		free(r->data[i]);
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->filled);
	pthread_cond_destroy(&r->emptied);
	free(r);
}

struct ring *ring_start(ring_producer_fn fn, void *ctx)
{
	struct ring *r = new0(struct ring);

	r->fn = fn;
	r->ctx = ctx;
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->filled, NULL);
	pthread_cond_init(&r->emptied, NULL);
	for (size_t i = 0; i < UNPACK_RING_BUFFERS; i++)
		r->data[i] = xalloc(UNPACK_RING_BYTES);
	if (thread_start_sized(&r->thread, THREAD_STACK, ring_produce, r) == 0)
		return r;
	ring_free(r);
	return NULL;
}

void ring_stop(struct ring *r)
{
	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	/* Set before the join: a producer that waits for space wakes, and gets NULL from
	 * ring_space. */
	r->stopped = true;
	pthread_cond_signal(&r->emptied);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->thread, NULL);
	ring_free(r);
}
