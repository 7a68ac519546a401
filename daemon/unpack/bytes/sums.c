/*
 * sums.c - hashes files on a second thread, from the buffers that the writer also uses.
 *
 * Steps are passed in batches of BATCH, so the lock is rarely needed. There are two arrays: the
 * writer fills one while the thread works on the other, and they are swapped when the thread is
 * idle. Steps run strictly in order. That makes sums_then a barrier: its callback runs after every
 * byte added before it was hashed.
 */
#include "unpack/bytes/sums.h"

#include "base/limits.h"
#include "base/util.h"

#include <pthread.h>

#define BATCH 1024 /* steps that go to the thread together */
#define THREAD_STACK (256 * KIB)

enum step_kind { STEP_BYTES, STEP_END, STEP_CALL };

struct sums_step {
	enum step_kind kind;
	uint32_t id;
	const void *p; /* bytes, or what to call with */
	size_t n;
	void (*fn)(void *ctx);
};

struct done {
	uint32_t id;
	struct sha256 digest;
	struct seed_place place;
};

struct sums {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t given, taken;
	/* the writer's */
	struct sums_step *mine;
	size_t nmine;
	/* under the lock */
	struct sums_step *theirs; /* being worked on, or to be */
	size_t ntheirs;
	bool stopped;
	struct done *done; /* first..last have not been fetched */
	size_t first, last, cap;
	/* the thread's */
	struct sha256_stream sum;
	struct seed *seed;
	bool open;
};

/* --- the thread ------------------------------------------------------------------------------------------ */

static void add(struct sums *s, const void *p, size_t n)
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

static void end(struct sums *s, uint32_t id)
{
	struct done d = { .id = id };

	add(s, "", 0); /* a file without bytes */
	sha256_end(&s->sum, &d.digest);
	d.place = seed_end(s->seed);
	s->open = false;
	pthread_mutex_lock(&s->lock);
	if (s->first == s->last)
		s->first = s->last = 0;
	if (s->last == s->cap) {
		s->cap = s->cap ? 2 * s->cap : BATCH;
		s->done = reallocarray(s->done, s->cap, sizeof(*s->done));
		if (!s->done)
			abort();
	}
	s->done[s->last++] = d;
	pthread_mutex_unlock(&s->lock);
}

static void work(struct sums *s, const struct sums_step *step)
{
	if (step->kind == STEP_BYTES) {
		add(s, step->p, step->n);
		seed_add(s->seed, step->p, step->n);
	} else if (step->kind == STEP_END) {
		end(s, step->id);
	} else {
		step->fn((void *)step->p);
	}
}

static void *run(void *arg)
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
			work(s, &s->theirs[i]);
		pthread_mutex_lock(&s->lock);
		s->ntheirs = 0;
		pthread_cond_signal(&s->taken);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* --- the writer ------------------------------------------------------------------------------------------ */

/* Passes the noted steps to the thread, once the batch before is done. */
static void give(struct sums *s)
{
	struct sums_step *free_one;

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

static void note(struct sums *s, struct sums_step step)
{
	if (s->nmine == BATCH)
		give(s);
	s->mine[s->nmine++] = step;
}

void sums_add(struct sums *s, const void *p, size_t n)
{
	note(s, (struct sums_step){ .kind = STEP_BYTES, .p = p, .n = n });
}

void sums_end(struct sums *s, uint32_t id)
{
	note(s, (struct sums_step){ .kind = STEP_END, .id = id });
}

void sums_then(struct sums *s, void (*fn)(void *ctx), void *ctx)
{
	note(s, (struct sums_step){ .kind = STEP_CALL, .p = ctx, .fn = fn });
	give(s);
}

void sums_wait(struct sums *s)
{
	give(s);
	pthread_mutex_lock(&s->lock);
	while (s->ntheirs)
		pthread_cond_wait(&s->taken, &s->lock);
	pthread_mutex_unlock(&s->lock);
}

bool sums_take(struct sums *s, uint32_t *id, struct sha256 *digest, struct seed_place *place)
{
	bool found;

	pthread_mutex_lock(&s->lock);
	found = s->first < s->last;
	if (found) {
		*id = s->done[s->first].id;
		*digest = s->done[s->first].digest;
		*place = s->done[s->first++].place;
	}
	pthread_mutex_unlock(&s->lock);
	return found;
}

/* --- life ------------------------------------------------------------------------------------------------ */

static void sums_free(struct sums *s)
{
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->given);
	pthread_cond_destroy(&s->taken);
	free(s->mine);
	free(s->theirs);
	free(s->done);
	free(s);
}

struct sums *sums_start(struct seed *seed)
{
	struct sums *s = new0(struct sums);
	pthread_attr_t attr;
	int error;

	s->seed = seed;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->given, NULL);
	pthread_cond_init(&s->taken, NULL);
	s->mine = xalloc(BATCH * sizeof(*s->mine));
	s->theirs = xalloc(BATCH * sizeof(*s->theirs));
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, THREAD_STACK);
	error = pthread_create(&s->thread, &attr, run, s);
	pthread_attr_destroy(&attr);
	if (error) {
		sums_free(s);
		return NULL;
	}
	return s;
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
