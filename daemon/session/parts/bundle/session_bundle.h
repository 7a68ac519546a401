/*
 * session_bundle.h - a session as one archive, and a session made from one (protocol/bundles.md).
 *
 * A cut writes the files of a bundle as of one moment: events up to a number, and what belongs to them. It writes them
 * into a directory of its own below <state>/bundles/, a piece in each turn of the loop; acpd-unpack archives the directory.
 * The patch of the workspace comes first, because it takes time; the moment is when the patch exists. Text in the bundle is
 * what clients see: events, usage and calls were written without the session's secrets, settings and patch are masked.
 *
 * An import makes a closed session from a bundle in the archive store. It can be listed, loaded and exported; nothing runs
 * for it. acpd-unpack extracts the archive and checks it against its manifest; the content stays untrusted. The session has
 * the id of the bundle; an existing session of that id is not touched (SESSION_EXISTS).
 *
 * done is called once, from the loop. Either may be freed at any time; its directory goes with it, and an import that is not
 * done leaves nothing.
 */
#pragma once

#include "base/buf.h"
#include "digest/digest.h"
#include "session/core/session.h"

struct bundle_cut;

/* NULL with e: TOO_MANY, NO_SPACE, STATE_NOT_WRITABLE, SESSION_DAMAGED. */
struct bundle_cut *bundle_cut_start(struct session *s, void (*done)(void *ctx, const struct err *e),
				    void *ctx, struct err *e);
struct bundle_cut *bundle_cut_free(struct bundle_cut *c);
/* The job of acpd-unpack that makes the archive. */
void bundle_cut_put_job(const struct bundle_cut *c, struct buf *b);

struct bundle_import;

/* NULL with e: ARCHIVE_NOT_FOUND, TOO_MANY, DRAINING, NO_SPACE, STATE_NOT_WRITABLE. */
struct bundle_import *bundle_import_start(struct session_store *st, const struct sha256 *archive,
					  void (*done)(void *ctx, struct session *s,
						       const struct err *e),
					  void *ctx, struct err *e);
struct bundle_import *bundle_import_free(struct bundle_import *k);
