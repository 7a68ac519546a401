/*
 * client_ids.c - remembers the ids that clients have seen, as 8-byte digests in an open-addressing
 * table.
 *
 * The ids are chosen by harnesses and providers. A cryptographic digest (SHA-256, truncated)
 * prevents chosen ids that collide, so no probe sequence grows long. The table is at most half full
 * and grows by doubling, up to SESSION_IDS_MAX entries. Digest 0 marks a free slot and is mapped to
 * 1. Nothing is ever removed.
 */
#include "session/core/turn/client_ids.h"

#include "base/limits.h"
#include "base/util.h"
#include "digest/digest.h"
#include "json/jenc.h"

/* Chosen by others: a digest that nobody can steer, so that no chain of slots grows long. */
static uint64_t digest_of(enum id_kind kind, struct slice raw)
{
	struct sha256_stream s;
	struct sha256 d;
	char k = (char)kind;
	uint64_t v;

	sha256_begin(&s);
	sha256_add(&s, &k, 1);
	sha256_add(&s, raw.p, raw.n);
	sha256_end(&s, &d);
	memcpy(&v, &d, sizeof(v));
	return v ? v : 1;
}

static bool client_id_put(uint64_t *slots, size_t cap, uint64_t v)
{
	size_t i = v & (cap - 1);

	/* Ends: at least half of the slots are free (see take). */
	for (; slots[i]; i = (i + 1) & (cap - 1))
		if (slots[i] == v)
			return false;
	slots[i] = v;
	return true;
}

static void grow(struct client_ids *t)
{
	size_t cap = t->cap ? 2 * t->cap : 16;
	uint64_t *slots = xalloc(cap * sizeof(*slots));

	for (size_t i = 0; i < t->cap; i++)
		if (t->slots[i])
			client_id_put(slots, cap, t->slots[i]);
	free(t->slots);
	t->slots = slots;
	t->cap = cap;
}

static bool take(struct client_ids *t, uint64_t digest)
{
	if (t->n >= SESSION_IDS_MAX)
		return false;
	if (2 * t->n >= t->cap)
		grow(t);
	if (!client_id_put(t->slots, t->cap, digest))
		return false;
	t->n++;
	return true;
}

bool client_ids_take(struct client_ids *t, enum id_kind kind, struct slice raw)
{
	return take(t, digest_of(kind, raw));
}

char *client_ids_unique(struct client_ids *t, enum id_kind kind, struct slice raw, uint64_t turn)
{
	struct slice stem = { raw.p, raw.n - 1 }; /* without the closing quote */
	char *name = NULL;

	if (client_ids_take(t, kind, raw))
		return NULL;
	for (unsigned again = 1; again < ID_TRIES_MAX; again++) {
		char tail[48];

		if (again == 1)
			snprintf(tail, sizeof(tail), "~%llu\"", (unsigned long long)turn);
		else
			snprintf(tail, sizeof(tail), "~%llu.%u\"", (unsigned long long)turn, again);
		free(name);
		name = xalloc(stem.n + sizeof(tail));
		memcpy(name, stem.p, stem.n);
		strcpy(name + stem.n, tail);
		/* A full table cannot check any more. The suffix with the number of the turn is taken as it is. */
		if (t->n >= SESSION_IDS_MAX || client_ids_take(t, kind, slice_of(name)))
			break;
	}
	return name;
}

void client_ids_copy(struct client_ids *to, const struct client_ids *from)
{
	*to = *from;
	if (!from->cap)
		return;
	to->slots = xalloc(from->cap * sizeof(*to->slots));
	memcpy(to->slots, from->slots, from->cap * sizeof(*to->slots));
}

void client_ids_put(const struct client_ids *t, struct jw *w, const char *key)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	for (size_t i = 0; i < t->cap; i++)
		if (t->slots[i])
			buf_printf(&b, "%016llx", (unsigned long long)t->slots[i]);
	jw_slice(w, key, buf_slice(&b));
}

void client_ids_load(struct client_ids *t, struct jval text)
{
	if (text.type != J_STRING)
		return;
	/* The raw string includes its quotes. 16 hexadecimal digits are one digest. */
	for (const char *p = text.raw.p + 1; p + 16 < text.raw.p + text.raw.n; p += 16) {
		char hex[17] = { 0 };
		uint64_t digest;

		memcpy(hex, p, 16);
		digest = strtoull(hex, NULL, 16);
		if (digest)
			take(t, digest);
	}
}

void client_ids_done(struct client_ids *t)
{
	free(t->slots);
	*t = (struct client_ids){ 0 };
}
