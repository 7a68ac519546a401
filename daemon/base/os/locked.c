/*
 * locked.c - an allocator for keys in pages that mlock(2) excludes from swap.
 *
 * The kernel's limit on locked memory (RLIMIT_MEMLOCK) can be as low as 64 KiB. So small secrets
 * share chunks of 16 KiB in units of 64 bytes, and a chunk is unmapped when its last unit is freed.
 * A larger secret has a mapping of its own. MADV_WIPEONFORK gives a forked child zeros instead of
 * the keys. There is no lock: one thread uses it.
 */
#include "base/os/locked.h"

#include "base/limits.h"
#include "base/list.h"
#include "base/util.h"

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
static void raise_memlock(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_MEMLOCK, &r) < 0 || r.rlim_cur == r.rlim_max)
		return;
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_MEMLOCK, &r);
}

/* Root may lift the limit of a child; so may we, for as long as this takes. False: a child without capabilities has less
 * than a chunk. */
static bool lift_limit(const struct rlimit *before)
{
	struct rlimit most = { RLIM_INFINITY, RLIM_INFINITY };

	if (setrlimit(RLIMIT_MEMLOCK, &most) == 0)
		return true;
	most = (struct rlimit){ before->rlim_max, before->rlim_max };
	return setrlimit(RLIMIT_MEMLOCK, &most) == 0 && most.rlim_cur >= CHUNK;
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
		raise_memlock();
		if (mlock(memory, size) < 0) {
			munmap(memory, size);
			return NULL;
		}
	}
	/* Not in a core file, and zeros in a forked child. */
	madvise(memory, size, MADV_DONTDUMP);
	madvise(memory, size, MADV_WIPEONFORK);
	c = new0(struct locked_chunk);
	c->memory = memory;
	c->size = size;
	list_add_tail(&chunks, &c->link);
	return c;
}

/* The first of n free units in a row; UNITS: there are none. */
static size_t find_free_units(const struct locked_chunk *c, size_t n)
{
	size_t free = 0;

	/* A larger chunk belongs to one secret. */
	for (size_t i = 0; c->size == CHUNK && i < UNITS; i++) {
		free = c->used[i] ? 0 : free + 1;
		if (free == n)
			return i + 1 - n;
	}
	return UNITS;
}

static void *units_take(struct locked_chunk *c, size_t from, size_t n)
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
		size_t at = want <= UNITS ? find_free_units(known, want) : UNITS;

		if (at < UNITS)
			return units_take(known, at, want);
	}
	c = chunk_new(want <= UNITS ? CHUNK : want * UNIT);
	if (!c)
		return NULL;
	return want <= UNITS ? units_take(c, 0, want) : c->memory;
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
	/* Before the unit is free again: the next owner must not see the old secret. */
	explicit_bzero(p, n);
	list_each(c, &chunks, struct locked_chunk, link) {
		if (at < c->memory || at >= c->memory + c->size)
			continue;
		for (size_t i = 0; c->size == CHUNK && i < units_of(n); i++)
			c->used[(size_t)(at - c->memory) / UNIT + i] = false;
		/* A chunk of one secret counts no units: `taken` is 0 all the time. */
		c->taken -= c->size == CHUNK ? units_of(n) : 0;
		if (!c->taken)
			chunk_free(c);
		return;
	}
}

static int try_lock(void)
{
	void *memory = pages(CHUNK);
	int r;

	if (memory == MAP_FAILED)
		return -ENOMEM;
	r = mlock(memory, CHUNK) < 0 ? -errno : 0;
	munmap(memory, CHUNK);
	return r;
}

/* The kernel answers EPERM for a limit of 0 too. */
static void explain_memlock(const struct rlimit *limit, char why[LOCKED_WHY_SIZE])
{
	if (limit->rlim_max < CHUNK)
		snprintf(why, LOCKED_WHY_SIZE,
			 "RLIMIT_MEMLOCK is %llu bytes; set LimitMEMLOCK=64K in the unit, or "
			 "--ulimit memlock=65536 for the container",
			 (unsigned long long)limit->rlim_max);
	else
		snprintf(why, LOCKED_WHY_SIZE,
			 "a system call filter refuses mlock; allow @memlock in it "
			 "(SystemCallFilter=, systemd-nspawn --system-call-filter=)");
}

int locked_probe(char why[LOCKED_WHY_SIZE])
{
	struct rlimit before;
	int r;

	if (!list_empty(&chunks)) /* the limit may be used up, and it is that of one process */
		return 0;
	if (getrlimit(RLIMIT_MEMLOCK, &before) < 0)
		return -errno;
	r = lift_limit(&before) ? try_lock() : -ENOMEM;
	setrlimit(RLIMIT_MEMLOCK, &before);
	if (r < 0)
		explain_memlock(&before, why);
	return r;
}

/* --- texts ----------------------------------------------------------------------------------------------- */

struct locked_text {
	unsigned owners;
	size_t n;
	bool locked;
	char *bytes;
};

struct locked_text *locked_text_new(struct slice bytes)
{
	struct locked_text *t = new0(struct locked_text);

	t->owners = 1;
	t->n = bytes.n;
	/* Both allocators return zeros: the byte behind the text is its NUL. */
	t->bytes = locked_alloc(bytes.n + 1);
	t->locked = t->bytes;
	/* No more memory can be locked: the heap is used, and wiped at the end. */
	if (!t->locked)
		t->bytes = xalloc(bytes.n + 1);
	if (bytes.n)
		memcpy(t->bytes, bytes.p, bytes.n);
	return t;
}

struct locked_text *locked_text_ref(struct locked_text *t)
{
	if (t)
		t->owners++;
	return t;
}

struct locked_text *locked_text_unref(struct locked_text *t)
{
	if (!t || --t->owners)
		return NULL;
	if (t->locked) {
		locked_free(t->bytes, t->n + 1);
	} else {
		explicit_bzero(t->bytes, t->n);
		free(t->bytes);
	}
	free(t);
	return NULL;
}

struct slice locked_text_slice(const struct locked_text *t)
{
	return t ? (struct slice){ t->bytes, t->n } : SLICE_NONE;
}

const char *locked_text_str(const struct locked_text *t)
{
	return t ? t->bytes : NULL;
}
