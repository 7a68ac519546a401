/*
 * bundle_cut.h - the files of a session's bundle, as they are at one moment: events up to a number, and what belongs to
 * them (protocol/bundles.md). They are written into a directory of their own below <state>/bundles/, a piece in each turn
 * of the loop; acpd-unpack makes the archive of it.
 *
 * The patch of the workspace is made first, because that takes time, and the moment is when it is there. Records of
 * usage, artifacts and recorded calls are those of that moment. Text in the bundle is what clients see: events, usage
 * and calls were written without the secrets of the session, and settings and patch are masked here.
 *
 * done is called once, from the loop. The directory goes with bundle_cut_free, which may come at any time.
 */
#pragma once

#include "base/buf.h"
#include "session/core/session.h"

struct bundle_cut;

/* NULL with e: TOO_MANY, NO_SPACE, STATE_NOT_WRITABLE, SESSION_DAMAGED. */
struct bundle_cut *bundle_cut_start(struct session *s, void (*done)(void *ctx, const struct err *e),
				    void *ctx, struct err *e);
struct bundle_cut *bundle_cut_free(struct bundle_cut *c);
/* The job of acpd-unpack that makes the archive. */
void bundle_cut_put_job(const struct bundle_cut *c, struct buf *b);
