/*
 * sources.c - the sources of a request's files: uploaded archives, skills of the image, directories in the sandbox.
 *
 * They are checked before the request has any effect, even before a directory is made, so that the commonest mistake
 * (an archive that was not uploaded, or is gone from the store) has none. acpd-unpack checks their contents.
 *
 * An archive can go between that check and its use: so its user pins it in the store, until the request has ended, and that
 * may fail. If acpd-unpack finds that an archive does not match its name, the error is written for the request's field.
 */
#include "workspace/sources.h"

#include "base/util.h"
#include "base/os/file.h"
#include "json/jstr.h"
#include "workspace/derive.h"

static const struct {
	const char *member, *reason, *text;
} skill_sources[] = {
	[SKILL_ARCHIVE] = { "archive", "ARCHIVE_NOT_FOUND",
			    "there is no such archive; upload it first" },
	[SKILL_BUILTIN] = { "builtin", "SKILL_NOT_FOUND", "this daemon has no such skill" },
	[SKILL_PATH] = { "path", "SKILL_NOT_FOUND", "there is no such directory" },
};

static bool source_is_whole(const struct workspaces *ws, const struct sha256 *digest)
{
	struct archive_info info;

	return archive_find(ws->archives, digest, &info) && info.whole;
}

char *sources_skill_path(const struct workspaces *ws, const struct request_skill *s)
{
	if (s->source == SKILL_PATH)
		return xstrdup(s->name);
	return ws->builtin_dir ? file_join(ws->builtin_dir, s->name) : NULL;
}

/* As the daemon sees it. Whether the session's user may read it, acpd-unpack finds out. */
static bool source_exists(const struct workspaces *ws, const struct request_skill *s)
{
	_cleanup_(freep) char *path = NULL;
	struct stat sb;

	if (s->source == SKILL_ARCHIVE)
		return source_is_whole(ws, &s->digest);
	path = sources_skill_path(ws, s);
	return path && stat(path, &sb) == 0 && S_ISDIR(sb.st_mode);
}

int sources_check(const struct workspaces *ws, const struct request *r, const char *prefix,
		  struct err *e)
{
	char field[128];

	snprintf(field, sizeof(field), "%sworkspace.archive", prefix);
	if (r->has_archive && !source_is_whole(ws, &r->archive))
		return err_field(e, field, "ARCHIVE_NOT_FOUND", "%s: %s", field,
				 skill_sources[SKILL_ARCHIVE].text);
	for (size_t i = 0; i < r->nskills; i++) {
		enum skill_source from = r->skills[i].source;

		if (source_exists(ws, &r->skills[i]))
			continue;
		snprintf(field, sizeof(field), "%sskills[%zu].%s", prefix, i,
			 skill_sources[from].member);
		return err_field(e, field, skill_sources[from].reason, "%s: %s", field,
				 skill_sources[from].text);
	}
	return 0;
}

/* --- pins ------------------------------------------------------------------------------------------------------ */

int pins_add(struct pins *p, struct jw *w, const struct sha256 *digest, const char *field,
	     struct err *e)
{
	_cleanup_(freep) char *path = NULL;
	struct pin *pin;
	int r = archive_pin(p->ws->archives, digest, e);

	if (r < 0)
		return r;
	pin = GROW(p->v, p->n);
	pin->archive = *digest;
	pin->field = xprintf("%s%s", p->prefix, field);
	path = derive_source(p->ws, digest, &pin->file);
	jw_str(w, "archive", path);
	jw_str(w, "digest", SHA256_TEXT_OF(&pin->file));
	return 0;
}

static const struct pin *pins_find(const struct pins *p, struct slice refusal)
{
	_cleanup_(freep) char *text = NULL;
	struct sha256 digest;

	if (jstr_decode(jobj_get(refusal, "digest"), SHA256_TEXT, &text) < 0 ||
	    sha256_parse(slice_of(text), &digest) < 0)
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
	const struct pin *pin = pins_find(p, refusal);
	bool damaged = strcmp(e->reason, "ARCHIVE_DAMAGED") == 0;
	char digest[SHA256_TEXT];
	struct jw w = JW(ret);

	if (!pin)
		return false;
	sha256_text(&pin->archive, digest);
	if (damaged)
		archive_damaged(p->ws->archives, &pin->archive, &pin->file);
	err_field(e, pin->field, damaged ? "ARCHIVE_DAMAGED" : "ARCHIVE_NOT_FOUND",
		  "%s: %s %s; upload it again", pin->field, digest,
		  damaged ? "was damaged in the store and has been removed" :
			    "is not in the store any more");
	jw_object(&w, NULL, JW_STR("reason", e->reason), JW_STR("digest", digest),
		  JW_STR("message", e->msg));
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
