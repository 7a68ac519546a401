/*
 * pins.h - the archives that one request uses: they are pinned in the store until the request has ended. If acpd-unpack
 * finds that one does not match its name, the error is written for the request's field.
 */
#pragma once

#include "json/jenc.h"
#include "workspace/workspaces.h"

struct pin {
	struct sha256 archive;
	struct sha256 file; /* of the file that is read: the archive, or the one derived from it */
	char *field;
};

struct pins {
	struct workspaces *ws;
	const char *prefix; /* of fields */
	struct pin *v;
	size_t n;
};

/* Members archive and digest of a source. field: its field in the request. ARCHIVE_NOT_FOUND. */
int pins_add(struct pins *p, struct jw *w, const struct sha256 *digest, const char *field,
	     struct err *e);
/* A job has ended with e and acpd-unpack's raw refusal. If a file of the store is damaged, it is removed, e names the
 * request's field, and the refusal for the client is appended to ret. False: the refusal is about the contents of an
 * archive, or of another kind. */
bool pins_blame(const struct pins *p, struct slice refusal, struct err *e, struct buf *ret);
void pins_done(struct pins *p);
