/*
 * bundle_events.h - journal.ndjson of a bundle, line by line, as a journal of ours. Pure.
 *
 * What a line says is taken only if a daemon could have written it: a known kind, numbers that rise, a notification of the
 * method that belongs to the kind, of this session, with this number. Clients are sent such messages as they stand, so none
 * may be a request, or an answer, or about another session.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

struct bundle_events {
	const char *session_id;
	uint64_t first, last; /* numbers taken so far */
};

/* Appends the record of one line (without its newline) to out. -EBADMSG with e: BUNDLE_INVALID. */
int bundle_events_take(struct bundle_events *b, struct slice line, struct buf *out, struct err *e);
/* acpd-unpack's job that takes a bundle apart, within the bounds of one. digest: its "sha256:...", or NULL. */
struct jw;
void bundle_put_extract(struct jw *w, const char *target, const char *archive, const char *digest);
