/*
 * refusals.c - the table of distinct refusals, which the supervisor thread fills and the loop
 * reads.
 *
 * The lock protects the entries. The reference count is atomic, because both threads drop
 * references. The eventfd is written for new entries only, so a process that repeats one refused
 * call does not wake the loop. `taken` is the count at the last read; an entry is never removed.
 * Searches are linear, limited by REFUSALS_MAX.
 */
#include "confine/watch/refusals.h"

#include "base/util.h"

#include <pthread.h>
#include <sys/eventfd.h>

struct entry {
	struct refusal refusal;
	uint64_t taken; /* its count, when it was */
};

struct refusals {
	pthread_mutex_t lock;
	unsigned refs;
	int news;
	size_t n;
	uint64_t more;
	struct entry entries[REFUSALS_MAX];
};

struct refusals *refusals_new(void)
{
	struct refusals *r = new0(struct refusals);

	pthread_mutex_init(&r->lock, NULL);
	r->refs = 1;
	r->news = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return r;
}

struct refusals *refusals_ref(struct refusals *r)
{
	if (r)
		__atomic_add_fetch(&r->refs, 1, __ATOMIC_RELAXED);
	return r;
}

struct refusals *refusals_unref(struct refusals *r)
{
	if (!r || __atomic_sub_fetch(&r->refs, 1, __ATOMIC_ACQ_REL))
		return NULL;
	closep(&r->news);
	pthread_mutex_destroy(&r->lock);
	free(r);
	return NULL;
}

int refusals_fd(const struct refusals *r)
{
	return r->news;
}

void refusals_seen(struct refusals *r)
{
	eventfd_t n;

	eventfd_read(r->news, &n);
}

static bool same(const struct refusal *a, const struct refusal *b)
{
	return a->kind == b->kind && a->error == b->error && strcmp(a->call, b->call) == 0 &&
	       strcmp(a->detail, b->detail) == 0;
}

static void add(struct refusals *r, const struct refusal *one)
{
	struct entry *e = r->entries;

	for (size_t i = 0; i < r->n; i++, e++) {
		if (same(&e->refusal, one)) {
			e->refusal.count++;
			return;
		}
	}
	if (r->n == REFUSALS_MAX) {
		r->more++;
		return;
	}
	r->n++;
	*e = (struct entry){ .refusal = *one };
	e->refusal.count = 1;
	eventfd_write(r->news, 1);
}

void refusals_add(struct refusals *r, const struct refusal *one)
{
	pthread_mutex_lock(&r->lock);
	add(r, one);
	pthread_mutex_unlock(&r->lock);
}

static bool take(struct refusals *r, bool again, struct refusal *ret)
{
	for (size_t i = 0; i < r->n; i++) {
		struct entry *e = &r->entries[i];

		if (again ? e->taken == e->refusal.count : e->taken > 0)
			continue;
		e->taken = e->refusal.count;
		*ret = e->refusal;
		return true;
	}
	return false;
}

bool refusals_take(struct refusals *r, bool again, struct refusal *ret)
{
	bool found;

	pthread_mutex_lock(&r->lock);
	found = take(r, again, ret);
	pthread_mutex_unlock(&r->lock);
	return found;
}

uint64_t refusals_take_more(struct refusals *r)
{
	uint64_t more;

	pthread_mutex_lock(&r->lock);
	more = r->more;
	r->more = 0;
	pthread_mutex_unlock(&r->lock);
	return more;
}
