/*
 * session_index.h - the sessions of a store by their ids, so that to find one takes the same time however many there are.
 *
 * A hash table with chains, which stands in struct session_store; a session is linked into it by its member
 * `stored.same_slot`, from session_blank to session_free. Ids are made by daemons, not by clients. Zeroed at first.
 */
#pragma once

#include <stddef.h>

struct session;

struct session_index {
	struct session **slots;
	size_t nslots, n; /* nslots: a power of two */
};

void session_index_add(struct session_index *x, struct session *s);
void session_index_remove(struct session_index *x, struct session *s);
/* NULL: there is none. */
struct session *session_index_find(const struct session_index *x, const char *id);
void session_index_done(struct session_index *x);
