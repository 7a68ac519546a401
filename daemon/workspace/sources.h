/*
 * sources.h - the sources of a request's files: whether they exist, and the pins of archives.
 */
#pragma once

#include "json/jenc.h"
#include "workspace/request.h"
#include "workspace/workspaces.h"

/* ARCHIVE_NOT_FOUND or SKILL_NOT_FOUND with the field; prefix as in request_parse. */
int sources_check(const struct workspaces *ws, const struct request *r, const char *prefix,
		  struct err *e);
/* The directory of a skill that does not come from an archive; NULL: the image has none. The caller frees. */
char *sources_skill_path(const struct workspaces *ws, const struct request_skill *s);

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
