#include "workspace/pins.h"

#include "base/util.h"

#include "json/jstr.h"
#include "workspace/derive.h"

#include <stdio.h>

int pins_add(struct pins *p, struct jw *w, const struct sha256 *digest, const char *field,
	     struct err *e)
{
	_cleanup_(freep) char *path = NULL;
	char text[ARCHIVE_DIGEST_SIZE];
	struct pin *pin;
	int r = archive_pin(p->ws->archives, digest, e);

	if (r < 0)
		return r;
	pin = GROW(p->v, p->n);
	pin->archive = *digest;
	pin->field = xprintf("%s%s", p->prefix, field);
	path = derive_source(p->ws, digest, &pin->file);
	jw_str(w, "archive", path);
	jw_str(w, "digest", archive_digest_text(&pin->file, text));
	return 0;
}

static const struct pin *find(const struct pins *p, struct slice refusal)
{
	_cleanup_(freep) char *text = NULL;
	struct sha256 digest;

	if (jstr_decode(jobj_get(refusal, "digest"), ARCHIVE_DIGEST_SIZE, &text) < 0 ||
	    archive_digest_parse(slice_of(text), &digest) < 0)
		return NULL;
	for (size_t i = 0; i < p->n; i++)
		if (sha256_equal(&p->v[i].file, &digest))
			return &p->v[i];
	return NULL;
}

/* The archive is damaged, or was and is gone since. The client knows it by its own digest, also if the damaged file is
 * the derived one. */
bool pins_blame(const struct pins *p, struct slice refusal, struct err *e, struct buf *ret)
{
	const struct pin *pin = find(p, refusal);
	bool damaged = strcmp(e->reason, "ARCHIVE_DAMAGED") == 0;
	char digest[ARCHIVE_DIGEST_SIZE];
	struct jw w = JW(ret);

	if (!pin)
		return false;
	archive_digest_text(&pin->archive, digest);
	if (damaged)
		archive_damaged(p->ws->archives, &pin->archive, &pin->file);
	err_field(e, pin->field, damaged ? "ARCHIVE_DAMAGED" : "ARCHIVE_NOT_FOUND",
		  "%s: %s %s; upload it again", pin->field, digest,
		  damaged ? "was damaged in the store and has been removed" :
			    "is not in the store any more");
	jw_obj(&w, NULL);
	jw_str(&w, "reason", e->reason);
	jw_str(&w, "digest", digest);
	jw_str(&w, "message", e->msg);
	jw_end_obj(&w);
	return true;
}

void pins_done(struct pins *p)
{
	for (size_t i = 0; i < p->n; i++) {
		archive_unpin(p->ws->archives, &p->v[i].archive);
		free(p->v[i].field);
	}
	free(TAKE_PTR(p->v));
	p->n = 0;
}
