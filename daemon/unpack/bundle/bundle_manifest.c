/*
 * bundle_manifest.c - decodes manifest.json of a bundle, and decides which member names exist.
 *
 * The text is untrusted. The name check is an allow-list of fixed files and two flat folders. So no
 * path of a bundle can lead out of its directory. Format and version are decoded alone and first,
 * because another version may give the other members another meaning. Files are sorted by name:
 * duplicates become neighbours, and bundle_manifest_find uses a binary search.
 */
#include "unpack/bundle/bundle_manifest.h"

#include "base/util.h"
#include "json/jdec.h"
#include "json/jstr.h"

#include <errno.h>
#include <string.h>

/* The first members, in no order of use: all else is below one of the folders. */
static const char *const members[] = { "session.json", "events.ndjson", "journal.ndjson",
				       "usage.ndjson", "diff.patch" };
static const char *const folders[] = { "artifacts/", "model/" };

static bool plain_name(const char *name)
{
	if (!*name || *name == '.')
		return false;
	for (; *name; name++)
		if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789_-.", *name))
			return false;
	return true;
}

bool bundle_name_allowed(const char *path)
{
	if (strlen(path) > BUNDLE_PATH_MAX)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (strcmp(path, members[i]) == 0)
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		if (strncmp(path, folders[i], strlen(folders[i])) == 0)
			return plain_name(path + strlen(folders[i]));
	return false;
}

static int invalid(struct verdict *v, const char *path, const char *text)
{
	return refuse(v, "BUNDLE_INVALID", path ? path : BUNDLE_MANIFEST, "%s", text);
}

/* --- one of its files ------------------------------------------------------------------------------------- */

struct bundle_file_args {
	char *path, *digest;
	int64_t bytes;
};

static const struct jfield file_fields[] = {
	JF_STR(struct bundle_file_args, path, "path", JF_REQUIRED, PATH_BYTES_MAX),
	JF_STR(struct bundle_file_args, digest, "sha256", JF_REQUIRED, 64),
	JF_INT(struct bundle_file_args, bytes, "bytes", JF_REQUIRED, 0, INT64_MAX),
	JF_END,
};

static int take_file(struct bundle_manifest *m, struct bundle_file_args *a, struct verdict *v)
{
	struct bundle_file f = { .bytes = (uint64_t)a->bytes };

	if (!bundle_name_allowed(a->path))
		return invalid(v, a->path, "no name of a member of a bundle");
	if (sha256_from_hex(slice_of(a->digest), &f.digest) < 0)
		return invalid(v, a->path, "sha256 must be 64 hex digits");
	if (m->n == BUNDLE_FILES_MAX)
		return refuse_over(v, "TOO_MANY_ENTRIES", a->path, BUNDLE_FILES_MAX, m->n + 1,
				   "members of a bundle");
	if (f.bytes > BUNDLE_BYTES_MAX - m->bytes)
		return refuse_over(v, "TOO_LARGE", a->path, BUNDLE_BYTES_MAX, m->bytes + f.bytes,
				   "bytes of all members");
	m->bytes += f.bytes;
	f.path = TAKE_PTR(a->path);
	*GROW(m->files, m->n) = f;
	return 0;
}

static int decode_file(struct bundle_manifest *m, struct jval v, struct verdict *verdict)
{
	struct bundle_file_args a = { 0 };
	struct err e = { 0 };
	int r;

	if (v.type != J_OBJECT || jdec_object(v.raw, file_fields, "files[].", &a, &e) < 0)
		return invalid(verdict, NULL, *e.msg ? e.msg : "files: each must be an object");
	r = take_file(m, &a, verdict);
	jdec_free(file_fields, &a);
	return r;
}

/* --- all of them --------------------------------------------------------------------------------------------- */

static int by_path(const void *pa, const void *pb)
{
	const struct bundle_file *a = pa, *b = pb;

	return strcmp(a->path, b->path);
}

static int sort_files(struct bundle_manifest *m, struct verdict *v)
{
	if (m->n)
		qsort(m->files, m->n, sizeof(*m->files), by_path);
	for (size_t i = 1; i < m->n; i++)
		if (strcmp(m->files[i - 1].path, m->files[i].path) == 0)
			return invalid(v, m->files[i].path, "named twice in the manifest");
	return 0;
}

struct manifest_args {
	char *format, *session_id;
	int64_t version, seq, running;
	struct slice files;
};

static const struct jfield head_fields[] = {
	JF_STR(struct manifest_args, format, "format", JF_REQUIRED, 64),
	JF_INT(struct manifest_args, version, "version", JF_REQUIRED, 1, INT64_MAX),
	JF_END,
};

static const struct jfield fields[] = {
	JF_STR(struct manifest_args, session_id, "sessionId", JF_REQUIRED, RPC_ID_MAX),
	JF_ARR(struct manifest_args, files, "files", JF_REQUIRED),
	/* not used here, but readers take them for numbers of events and turns */
	JF_INT(struct manifest_args, seq, "seq", 0, 0, BUNDLE_NUMBER_MAX),
	JF_INT(struct manifest_args, running, "running", 0, 0, BUNDLE_NUMBER_MAX),
	JF_END,
};

/* Before all else: another version may have other members. */
static int check_head(struct slice text, struct verdict *v)
{
	struct manifest_args a = { 0 };
	struct err e = { 0 };
	int r = 0;

	if (jdec_object(text, head_fields, NULL, &a, &e) < 0)
		return invalid(v, NULL, e.msg);
	if (strcmp(a.format, BUNDLE_FORMAT) != 0)
		r = invalid(v, NULL, "its format is not " BUNDLE_FORMAT);
	else if (a.version != BUNDLE_VERSION)
		r = refuse(v, "BUNDLE_VERSION", BUNDLE_MANIFEST,
			   "the bundle is of version %lld, and this acpd reads version %d",
			   (long long)a.version, BUNDLE_VERSION);
	jdec_free(head_fields, &a);
	return r;
}

static int take_files(struct bundle_manifest *m, struct slice files, struct verdict *v)
{
	struct jiter it;
	struct jval item;
	int r = 0;

	jiter_init(&it, (struct jval){ J_ARRAY, files });
	while (r == 0 && jiter_next(&it, NULL, &item))
		r = decode_file(m, item, v);
	return r < 0 ? r : sort_files(m, v);
}

int bundle_manifest_parse(struct slice text, struct bundle_manifest *ret, struct verdict *v)
{
	struct manifest_args a = { 0 };
	struct err e = { 0 };
	struct jval whole;
	int r;

	*ret = (struct bundle_manifest){ 0 };
	if (jscan_value(text, &whole) != JSCAN_OK || whole.type != J_OBJECT)
		return invalid(v, NULL, "it is no JSON object");
	r = check_head(whole.raw, v);
	if (r < 0)
		return r;
	if (jdec_object(whole.raw, fields, NULL, &a, &e) < 0)
		return invalid(v, NULL, e.msg);
	ret->session_id = TAKE_PTR(a.session_id);
	r = take_files(ret, a.files, v);
	jdec_free(fields, &a);
	return r;
}

struct bundle_file *bundle_manifest_find(struct bundle_manifest *m, const char *path)
{
	const struct bundle_file key = { .path = (char *)path };

	return m->n ? bsearch(&key, m->files, m->n, sizeof(*m->files), by_path) : NULL;
}

void bundle_manifest_done(struct bundle_manifest *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->files[i].path);
	free(m->files);
	free(m->session_id);
	*m = (struct bundle_manifest){ 0 };
}
