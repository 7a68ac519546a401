#include "base/os/locked.h"

#include "base/limits.h"
#include "base/list.h"

#include <sys/mman.h>
#include <sys/resource.h>

#define UNIT 64UL
#define CHUNK (16 * KIB) /* of small pieces; a larger one has a chunk of its own */
#define UNITS (CHUNK / UNIT)

struct locked_chunk {
	struct list link;
	char *memory;
	size_t size;
	size_t taken; /* units */
	bool used[UNITS];
};

static struct list chunks = { &chunks, &chunks };

static size_t units_of(size_t n)
{
	return (MAX(n, 1UL) + UNIT - 1) / UNIT;
}

/* As much as we may ask for. */
static void raise_limit(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_MEMLOCK, &r) < 0 || r.rlim_cur == r.rlim_max)
		return;
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_MEMLOCK, &r);
}

static void *pages(size_t n)
{
	/* cppcheck-suppress invalidFunctionArg; -1 is right with MAP_ANONYMOUS */
	return mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static struct locked_chunk *chunk_new(size_t size)
{
	void *memory = pages(size);
	struct locked_chunk *c;

	if (memory == MAP_FAILED)
		return NULL;
	if (mlock(memory, size) < 0) {
		raise_limit();
		if (mlock(memory, size) < 0) {
			munmap(memory, size);
			return NULL;
		}
	}
	madvise(memory, size, MADV_DONTDUMP);
	madvise(memory, size, MADV_WIPEONFORK);
	c = new0(struct locked_chunk);
	c->memory = memory;
	c->size = size;
	list_init(&c->link);
	list_add_tail(&chunks, &c->link);
	return c;
}

/* The first of n free units in a row; UNITS: there are none. */
static size_t find_row(const struct locked_chunk *c, size_t n)
{
	size_t free = 0;

	for (size_t i = 0; c->size == CHUNK && i < UNITS; i++) {
		free = c->used[i] ? 0 : free + 1;
		if (free == n)
			return i + 1 - n;
	}
	return UNITS;
}

static void *take(struct locked_chunk *c, size_t from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		c->used[from + i] = true;
	c->taken += n;
	return c->memory + from * UNIT;
}

void *locked_alloc(size_t n)
{
	size_t want = units_of(n);
	struct locked_chunk *c;

	if (n > LOCKED_MAX)
		return NULL;
	list_each(known, &chunks, struct locked_chunk, link) {
		size_t at = want <= UNITS ? find_row(known, want) : UNITS;

		if (at < UNITS)
			return take(known, at, want);
	}
	c = chunk_new(want <= UNITS ? CHUNK : want * UNIT);
	if (!c)
		return NULL;
	return want <= UNITS ? take(c, 0, want) : c->memory;
}

static void chunk_free(struct locked_chunk *c)
{
	list_del(&c->link);
	munmap(c->memory, c->size); /* unlocks it, too */
	free(c);
}

void locked_free(void *p, size_t n)
{
	char *at = p;

	if (!p)
		return;
	explicit_bzero(p, n);
	list_each(c, &chunks, struct locked_chunk, link) {
		if (at < c->memory || at >= c->memory + c->size)
			continue;
		for (size_t i = 0; c->size == CHUNK && i < units_of(n); i++)
			c->used[(size_t)(at - c->memory) / UNIT + i] = false;
		c->taken -= c->size == CHUNK ? units_of(n) : 0;
		if (!c->taken)
			chunk_free(c);
		return;
	}
}
