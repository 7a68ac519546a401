/*
 * incarnations.c - the list of incarnations that numbered a session's events, oldest first.
 *
 * Copies of a state directory number different events alike, so a number is valid only together
 * with its incarnation. An entry ends where the next one starts (incarnations_end). A restart of
 * the last incarnation after a rollback moves its start back. Spans that damage made unknown have
 * an empty id, which matches no client.
 */
#include "session/core/log/incarnations.h"

#include "base/util.h"
#include "json/json.h"
#include "usage/ledger/ledger.h"

static void drop_first(struct incarnations *l)
{
	free(l->list[0].id);
	memmove(l->list, l->list + 1, --l->n * sizeof(*l->list));
}

void incarnations_done(struct incarnations *l)
{
	while (l->n)
		drop_first(l);
	free(TAKE_PTR(l->list));
}

void incarnations_begin(struct incarnations *l, const char *id, uint64_t from)
{
	struct incarnation *last = l->n ? &l->list[l->n - 1] : NULL;

	if (last &&
	    strcmp(last->id, id) == 0) { /* events that nobody has seen may have been taken back */
		last->from = MIN(last->from, from);
		return;
	}
	if (l->n == INCARNATIONS_MAX)
		drop_first(l);
	*GROW(l->list, l->n) = (struct incarnation){ from, xstrdup(id) };
}

bool incarnations_now(const struct incarnations *l, const char *id)
{
	return l->n && strcmp(l->list[l->n - 1].id, id) == 0;
}

uint64_t incarnations_end(const struct incarnations *l, const char *id, uint64_t next)
{
	uint64_t end = next;
	size_t i = 0;

	while (i < l->n && (!*id || strcmp(l->list[i].id, id) != 0))
		i++;
	if (i == l->n)
		return 0;
	/* Minimum, not the next entry: an entry that began again after a rollback may start before its neighbour. */
	while (++i < l->n)
		end = MIN(end, l->list[i].from);
	return end;
}

const char *incarnations_at(const struct incarnations *l, uint64_t seq)
{
	const char *id = "";

	for (size_t i = 0; i < l->n && l->list[i].from <= seq; i++)
		id = l->list[i].id;
	return *id ? id : NULL;
}

/* --- as it lies in the journal ---------------------------------------------------------------------------------- */

static void incarnation_put(struct jw *w, const char *id, uint64_t from)
{
	jw_object(w, NULL, JW_STR("id", id), JW_UINT("from", from));
}

void incarnations_put_one(struct buf *b, const char *id, uint64_t from)
{
	struct jw w = JW(b);

	incarnation_put(&w, id, from);
}

void incarnations_load_one(struct incarnations *l, struct slice value, uint64_t next)
{
	uint64_t from = jobj_uint(value, "from");
	char *id = NULL;

	if (jstr_decode(jobj_get(value, "id"), INCARNATION_MAX, &id) < 0 || !from)
		incarnations_begin(l, "", next);
	else
		incarnations_begin(l, id, MIN(from, next));
	free(id);
}

void incarnations_put(const struct incarnations *l, struct jw *w, const char *key)
{
	if (!l->n)
		return;
	jw_arr(w, key);
	for (size_t i = 0; i < l->n; i++)
		incarnation_put(w, l->list[i].id, l->list[i].from);
	jw_end_arr(w);
}

void incarnations_load(struct incarnations *l, struct jval array)
{
	/* A base has the whole list: it replaces what was read before. */
	if (array.type == J_ARRAY)
		incarnations_done(l);
	jarr_each(v, array)
		incarnations_load_one(l, v.raw, UINT64_MAX);
}
