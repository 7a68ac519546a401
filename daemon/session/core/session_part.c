/*
 * session_part.c - calls the hooks of the parts of a session, and places their state.
 *
 * The states of the parts lie in one block with the session, or with the store: it is allocated and freed as one, and a
 * state is found by one load.
 */
#include "session/core/session_part.h"

#include "session/core/session_internal.h"

/* States begin where any object may. */
static size_t part_room(size_t size)
{
	const size_t align = _Alignof(max_align_t);

	return (size + align - 1) / align * align;
}

/* The state of the first part begins after the owner, and its pointers to all of them. */
static size_t parts_begin(size_t owner)
{
	return part_room(owner + session_parts_count * sizeof(void *));
}

size_t session_parts_size(void)
{
	size_t size = parts_begin(sizeof(struct session));

	for (size_t i = 0; i < session_parts_count; i++)
		size += part_room(session_parts[i]->size);
	return size;
}

void session_parts_create(struct session *s)
{
	char *at = (char *)s + parts_begin(sizeof(*s));

	for (size_t i = 0; i < session_parts_count; i++) {
		s->parts[i] = at;
		at += part_room(session_parts[i]->size);
	}
	PARTS_CALL(create, s);
}

int session_parts_place(struct session *s, const struct session_params *p,
			const struct session *from, struct err *e)
{
	int r = PARTS_FIRST(place, s, p, from, e);

	if (r < 0)
		PARTS_CALL(unplace, s);
	return r;
}

/* Part after part, because that is the order of the members in the answer. */
void session_parts_put_opened(struct jw *w, const struct session *s)
{
	for (size_t i = 0; i < session_parts_count; i++) {
		if (session_parts[i]->put_opened)
			session_parts[i]->put_opened(w, s);
		if (session_parts[i]->put_status)
			session_parts[i]->put_status(w, s);
	}
}

unsigned session_parts_rules_need(const struct session *s)
{
	unsigned need = 0;

	for (size_t i = 0; i < session_parts_count; i++)
		if (session_parts[i]->rules_need)
			need |= session_parts[i]->rules_need(s);
	return need;
}

size_t session_parts_turn_size(void)
{
	size_t size = parts_begin(sizeof(struct session_turn));

	for (size_t i = 0; i < session_parts_count; i++)
		size += part_room(session_parts[i]->turn_size);
	return size;
}

void session_parts_place_turn(struct session_turn *t)
{
	char *at = (char *)t + parts_begin(sizeof(*t));

	for (size_t i = 0; i < session_parts_count; i++) {
		t->parts[i] = at;
		at += part_room(session_parts[i]->turn_size);
	}
}

/* --- the store ------------------------------------------------------------------------------------------ */

size_t store_parts_size(void)
{
	size_t size = parts_begin(sizeof(struct session_store));

	for (size_t i = 0; i < session_parts_count; i++)
		size += part_room(session_parts[i]->store_size);
	return size;
}

void store_parts_place(struct session_store *st)
{
	char *at = (char *)st + parts_begin(sizeof(*st));

	for (size_t i = 0; i < session_parts_count; i++) {
		st->parts[i] = at;
		at += part_room(session_parts[i]->store_size);
	}
}
