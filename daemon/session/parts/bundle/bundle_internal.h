/*
 * bundle_internal.h - bundles of sessions: how they are made of a session, and how a session is made of one.
 *
 * Directories below the state directory: bundles/ has what is being made or taken, one directory each, and is emptied at
 * every start; runs/<session>/ has what a session keeps besides its journal: recorded model calls (model/), and of one that
 * was imported also session.json, usage.ndjson and diff.patch as they came.
 */
#pragma once

#include "session/core/store/store_internal.h"
#include "session/parts/session_parts.h"

/* For all sessions: bundles that are made or taken. */
struct store_bundles {
	unsigned rooms; /* directories in use */
	uint64_t next;
};

static inline struct store_bundles *store_bundle_of(const struct session_store *st)
{
	return st->parts[PART_BUNDLE];
}

/* bundle_room.c */
/* An empty directory below bundles/, with artifacts/ and model/ in it; the caller frees. */
int bundle_room_new(struct session_store *st, char **ret, struct err *e);
/* NULL is nothing. */
void bundle_room_drop(struct session_store *st, const char *dir);
/* "NO_SPACE" or "STATE_NOT_WRITABLE", with e filled. */
int bundle_room_failed(int r, struct err *e);
