/*
 * client_ids.h - the ids of tool calls and messages as clients see them: unique in a session, whoever chose them.
 *
 * A harness hands on what its provider called a call or a message, and a provider (or a gateway before it) may begin to count anew with
 * every request. To a client the same id is the same call. So the first use of an id in a session keeps it, and a later one, in another turn or
 * after the call of that id was over, gets a suffix, "~" and the turn. Towards the harness its own ids are used.
 *
 * What is in use is remembered as digests, 8 bytes each, SESSION_IDS_MAX at most; beyond that every id gets the suffix. They are found
 * again in the journal by the next daemon.
 */
#pragma once

#include "base/slice.h"
#include "json/jscan.h"

#include <stddef.h>
#include <stdint.h>

enum id_kind { ID_CALL = 'c', ID_MESSAGE = 'm' };

struct ids {
	uint64_t *slots; /* open addressing; 0: free */
	size_t n, cap;
};

/* raw: a JSON string. Takes it into use; false: it was already. */
bool ids_take(struct ids *t, enum id_kind kind, struct slice raw);
/* NULL: raw is good as it is, and in use from now on. Else another raw JSON string that is, for the caller to free. */
char *ids_unique(struct ids *t, enum id_kind kind, struct slice raw, uint64_t turn);
void ids_copy(struct ids *to, const struct ids *from);
/* Member: their digests, as one string of hex digits; ids_load adds them. */
struct jw;
void ids_put(const struct ids *t, struct jw *w, const char *key);
void ids_load(struct ids *t, struct jval text);
void ids_done(struct ids *t);
