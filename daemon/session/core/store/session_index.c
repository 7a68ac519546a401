#include "session/core/store/session_index.h"

#include "session/core/session_internal.h"

#define SLOTS_MIN 16

/* FNV-1a. */
static size_t hash(const char *id)
{
	uint64_t h = 14695981039346656037u;

	for (; *id; id++)
		h = (h ^ (unsigned char)*id) * 1099511628211u;
	return (size_t)(h ^ h >> 32);
}

static struct session **slot_of(const struct session_index *x, const char *id)
{
	return &x->slots[hash(id) & (x->nslots - 1)];
}

static void put(struct session_index *x, struct session *s)
{
	struct session **slot = slot_of(x, s->id);

	s->stored.same_slot = *slot;
	*slot = s;
}

static void grow(struct session_index *x)
{
	struct session_index was = *x;

	x->nslots = was.nslots ? 2 * was.nslots : SLOTS_MIN;
	x->slots = xalloc(x->nslots * sizeof(struct session *));
	for (size_t i = 0; i < was.nslots; i++)
		for (struct session *s = was.slots[i], *next; s; s = next) {
			next = s->stored.same_slot;
			put(x, s);
		}
	free(was.slots);
}

void session_index_add(struct session_index *x, struct session *s)
{
	if (x->n == x->nslots)
		grow(x);
	put(x, s);
	x->n++;
}

void session_index_remove(struct session_index *x, struct session *s)
{
	struct session **at = slot_of(x, s->id);

	while (*at != s)
		at = &(*at)->stored.same_slot;
	*at = s->stored.same_slot;
	x->n--;
}

struct session *session_index_find(const struct session_index *x, const char *id)
{
	struct session *s = x->nslots ? *slot_of(x, id) : NULL;

	while (s && strcmp(s->id, id) != 0)
		s = s->stored.same_slot;
	return s;
}

void session_index_done(struct session_index *x)
{
	free(x->slots);
	*x = (struct session_index){ NULL, 0, 0 };
}
