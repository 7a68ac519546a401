/*
 * client_ids.h - the ids of tool calls and messages as clients see them: unique in a session, whatever the harness
 * chose.
 *
 * A harness hands on what its provider called a call or a message, and a provider (or a gateway before it) may begin to
 * count anew with every request. To a client the same id is the same call. So the first use of an id in a session keeps
 * it, and a later one, in another turn or after the call of that id was over, gets a suffix, "~" and the turn. Towards
 * the harness its own ids are used.
 *
 * What is in use is remembered as digests, 8 bytes each, SESSION_IDS_MAX at most; beyond that every id gets the suffix.
 * They are found again in the journal by the next daemon.
 */
#pragma once

#include "base/slice.h"
#include "json/jscan.h"

#include <stddef.h>
#include <stdint.h>

enum id_kind { ID_CALL = 'c', ID_MESSAGE = 'm' };

struct client_ids {
	uint64_t *slots; /* open addressing; 0: free */
	size_t n, cap;
};

/* raw: a JSON string. Takes it into use; false: it was already. */
bool client_ids_take(struct client_ids *t, enum id_kind kind, struct slice raw);
/* NULL: raw is good as it is, and in use from now on. Else another raw JSON string that is, for the caller to free. */
char *client_ids_unique(struct client_ids *t, enum id_kind kind, struct slice raw, uint64_t turn);
void client_ids_copy(struct client_ids *to, const struct client_ids *from);
/* Member: their digests, as one string of hex digits; client_ids_load adds them. */
struct jw;
void client_ids_put(const struct client_ids *t, struct jw *w, const char *key);
void client_ids_load(struct client_ids *t, struct jval text);
void client_ids_done(struct client_ids *t);
