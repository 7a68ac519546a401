/*
 * sums.c - hashes files on a second thread, from the buffers that the writer also uses.
 *
 * SHA-256 of the files that are written, on a thread of its own: writing is the longest part of a job, and
 * hashing in the same thread would add a third.
 *
 * The writer says which bytes belong to its file (sums_add) and when it is whole (sums_end). The bytes are not copied:
 * their owner has a callback run in the same order once they are done with (sums_then), or waits for everything
 * (sums_wait). The thread that added the files fetches finished digests, in the order of the files (sums_take).
 *
 * Steps are passed in batches of BATCH, so the lock is rarely needed. There are two arrays: the
 * writer fills one while the thread works on the other, and they are swapped when the thread is
 * idle. Steps run strictly in order. That makes sums_then a barrier: its callback runs after every
 * byte added before it was hashed.
 */
#include "unpack/bytes/ring.h"

#include "base/os/threads.h"
#include "base/util.h"

#define BATCH 1024 /* steps that go to the thread together */
#define THREAD_STACK (256 * KIB)

enum step_kind { STEP_BYTES, STEP_END, STEP_CALL };

struct sums_order {
	enum step_kind kind;
	uint32_t id;
	const void *p; /* bytes, or what to call with */
	size_t n;
	void (*fn)(void *ctx);
};

struct sums_done {
	uint32_t id;
	struct sha256 digest;
	struct seed_place place;
};

struct sums {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t given, taken;
	/* the writer's */
	struct sums_order *mine;
	size_t nmine;
	/* under the lock */
	struct sums_order *theirs; /* being worked on, or to be */
	size_t ntheirs;
	bool stopped;
	struct sums_done *done; /* first..last have not been fetched */
	size_t first, last;
	/* the thread's */
	struct sha256_stream sum;
	struct seed *seed;
	bool open;
};

/* --- the thread ------------------------------------------------------------------------------------------ */

static void sums_hash(struct sums *s, const void *p, size_t n)
{
	static const char zeros[64 * KIB];

	if (!s->open)
		sha256_begin(&s->sum);
	s->open = true;
	while (!p && n) {
		size_t piece = MIN(n, sizeof(zeros));

		sha256_add(&s->sum, zeros, piece);
		n -= piece;
	}
	sha256_add(&s->sum, p, n);
}

static void sums_finish(struct sums *s, uint32_t id)
{
	struct sums_done d = { .id = id };

	sums_hash(s, "", 0); /* a file without bytes */
	sha256_end(&s->sum, &d.digest);
	d.place = seed_end(s->seed);
	s->open = false;
	pthread_mutex_lock(&s->lock);
	if (s->first == s->last)
		s->first = s->last = 0;
	*GROW(s->done, s->last) = d;
	pthread_mutex_unlock(&s->lock);
}

static void sums_step(struct sums *s, const struct sums_order *step)
{
	if (step->kind == STEP_BYTES) {
		sums_hash(s, step->p, step->n);
		seed_add(s->seed, step->p, step->n);
	} else if (step->kind == STEP_END) {
		sums_finish(s, step->id);
	} else {
		step->fn((void *)step->p);
	}
}

static void *sums_run(void *arg)
{
	struct sums *s = arg;

	pthread_mutex_lock(&s->lock);
	while (!s->stopped) {
		if (!s->ntheirs) {
			pthread_cond_wait(&s->given, &s->lock);
			continue;
		}
		pthread_mutex_unlock(&s->lock);
		for (size_t i = 0; i < s->ntheirs; i++)
			sums_step(s, &s->theirs[i]);
		pthread_mutex_lock(&s->lock);
		s->ntheirs = 0;
		pthread_cond_signal(&s->taken);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* --- the writer ------------------------------------------------------------------------------------------ */

/* Passes the noted steps to the thread, once the batch before is done. */
static void sums_give(struct sums *s)
{
	struct sums_order *free_one;

	if (!s->nmine)
		return;
	pthread_mutex_lock(&s->lock);
	while (s->ntheirs)
		pthread_cond_wait(&s->taken, &s->lock);
	free_one = s->theirs;
	s->theirs = s->mine;
	s->ntheirs = s->nmine;
	pthread_cond_signal(&s->given);
	pthread_mutex_unlock(&s->lock);
	s->mine = free_one;
	s->nmine = 0;
}

static void sums_note(struct sums *s, struct sums_order step)
{
	if (s->nmine == BATCH)
		sums_give(s);
	s->mine[s->nmine++] = step;
}

void sums_add(struct sums *s, const void *p, size_t n)
{
	sums_note(s, (struct sums_order){ .kind = STEP_BYTES, .p = p, .n = n });
}

void sums_end(struct sums *s, uint32_t id)
{
	sums_note(s, (struct sums_order){ .kind = STEP_END, .id = id });
}

void sums_then(struct sums *s, void (*fn)(void *ctx), void *ctx)
{
	sums_note(s, (struct sums_order){ .kind = STEP_CALL, .p = ctx, .fn = fn });
	sums_give(s);
}

void sums_wait(struct sums *s)
{
	sums_give(s);
	HOLD(&s->lock);
	while (s->ntheirs)
		pthread_cond_wait(&s->taken, &s->lock);
}

bool sums_take(struct sums *s, uint32_t *id, struct sha256 *digest, struct seed_place *place)
{
	HOLD(&s->lock);
	if (s->first == s->last)
		return false;
	*id = s->done[s->first].id;
	*digest = s->done[s->first].digest;
	*place = s->done[s->first++].place;
	return true;
}

/* --- life ------------------------------------------------------------------------------------------------ */

static void sums_free(struct sums *s)
{
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->given);
	pthread_cond_destroy(&s->taken);
	free_each(s->mine, s->theirs, s->done, s);
}

struct sums *sums_start(struct seed *seed)
{
	struct sums *s = new0(struct sums);

	s->seed = seed;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->given, NULL);
	pthread_cond_init(&s->taken, NULL);
	s->mine = xalloc(BATCH * sizeof(*s->mine));
	s->theirs = xalloc(BATCH * sizeof(*s->theirs));
	if (thread_start_sized(&s->thread, THREAD_STACK, sums_run, s) == 0)
		return s;
	sums_free(s);
	return NULL;
}

void sums_stop(struct sums *s)
{
	if (!s)
		return;
	/* The steps point into buffers of the caller: none may be left when the thread ends. */
	sums_wait(s);
	pthread_mutex_lock(&s->lock);
	s->stopped = true;
	pthread_cond_signal(&s->given);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	sums_free(s);
}
