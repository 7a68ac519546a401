/*
 * session_part.c - calls the hooks of the parts of a session, and places their state.
 *
 * The states of the parts lie in one block with the session, or with the store: it is allocated and freed as one, and a
 * state is found by one load.
 */
#include "session/core/session_part.h"

#include "session/core/session_internal.h"

/* Calls a hook of all parts that have it, with these arguments. */
#define CALL_PARTS(hook, ...)                                                                      \
	do {                                                                                       \
		for (size_t i = 0; i < session_parts_count; i++)                                   \
			if (session_parts[i]->hook)                                                \
				session_parts[i]->hook(__VA_ARGS__);                               \
	} while (0)

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
	CALL_PARTS(create, s);
}

void session_parts_inherit(struct session *s, const struct session *from)
{
	CALL_PARTS(inherit, s, from);
}

void session_parts_setup_changed(struct session *s)
{
	CALL_PARTS(setup_changed, s);
}

void session_parts_forget_keys(struct session *s)
{
	CALL_PARTS(forget_keys, s);
}

void session_parts_put_status(struct jw *w, const struct session *s)
{
	CALL_PARTS(put_status, w, s);
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

void session_parts_shut(struct session *s)
{
	CALL_PARTS(shut, s);
}

void session_parts_drop(struct session *s)
{
	CALL_PARTS(drop, s);
}

void session_parts_free(struct session *s)
{
	CALL_PARTS(free, s);
}

void session_parts_stop(struct session *s)
{
	CALL_PARTS(stop, s);
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

void store_parts_configure(struct session_store *st, const struct store_config *cfg)
{
	CALL_PARTS(store_configure, st, cfg);
}

int store_parts_open(struct session_store *st, const struct store_config *cfg, struct err *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < session_parts_count; i++)
		if (session_parts[i]->store_open)
			r = session_parts[i]->store_open(st, cfg, e);
	return r;
}

void store_parts_begin(struct session_store *st)
{
	CALL_PARTS(store_begin, st);
}

void store_parts_stop(struct session_store *st)
{
	CALL_PARTS(store_stop, st);
}

void store_parts_free(struct session_store *st)
{
	CALL_PARTS(store_free, st);
}

void store_parts_totals(const struct session_store *st, struct store_totals *ret)
{
	CALL_PARTS(store_totals, st, ret);
}

void store_parts_removed(struct session_store *st, const char *id)
{
	CALL_PARTS(store_removed, st, id);
}

void store_parts_tree_removed(struct session_store *st, const char *path)
{
	CALL_PARTS(store_tree_removed, st, path);
}

void store_parts_idle(struct session_store *st)
{
	CALL_PARTS(store_idle, st);
}
