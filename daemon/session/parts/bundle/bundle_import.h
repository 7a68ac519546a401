/*
 * bundle_import.h - a session made of a bundle that is in the archive store (protocol/bundles.md). It is closed and can be
 * read: listed, loaded, exported; nothing can be asked of it, and nothing runs for it.
 *
 * acpd-unpack takes the archive apart and checks it against its manifest; what is then read here is still anybody's.
 * Of the journal each event is held against what a daemon writes, and written anew. The id is that of the session; a
 * session of that id that is there is not touched (SESSION_EXISTS).
 *
 * done is called once, from the loop, with the session or an error. bundle_import_free may come at any time; then nothing is
 * left of what is not done.
 */
#pragma once

#include "digest/digest.h"
#include "session/core/session.h"

struct bundle_import;

/* NULL with e: ARCHIVE_NOT_FOUND, TOO_MANY, DRAINING, NO_SPACE, STATE_NOT_WRITABLE. */
struct bundle_import *bundle_import_start(struct session_store *st, const struct sha256 *archive,
					  void (*done)(void *ctx, struct session *s,
						       const struct err *e),
					  void *ctx, struct err *e);
struct bundle_import *bundle_import_free(struct bundle_import *k);
