/*
 * pins.h - the archives that one request uses: held in the store as long as it lasts, and what to do when acpd-unpack
 * finds that one of them is not what its name says.
 */
#pragma once

#include "json/jenc.h"
#include "workspace/workspaces.h"

struct pin {
	struct sha256 archive;
	struct sha256 file; /* of what is read: the archive, or what is derived from it */
	char *field;
};

struct pins {
	struct workspaces *ws;
	const char *prefix; /* of fields */
	struct pin *v;
	size_t n;
};

/* Members archive and digest of a source. field: where the request names it. ARCHIVE_NOT_FOUND. */
int pins_add(struct pins *p, struct jw *w, const struct sha256 *digest, const char *field,
	     struct err *e);
/* A job has ended with e and acpd-unpack's raw refusal. If a file of the store is to blame it is removed, e is about
 * the request's field, and what the client gets as refusal is appended to ret. False: it is about what is in an
 * archive, or of another kind. */
bool pins_blame(const struct pins *p, struct slice refusal, struct err *e, struct buf *ret);
void pins_done(struct pins *p);
