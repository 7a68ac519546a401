/*
 * bundle.c - decodes manifest.json of a bundle, writes the directory of a bundle as one archive, and checks an unpacked
 * bundle against its manifest.
 *
 * The text is untrusted. The name check is an allow-list of fixed files and two flat folders. So no
 * path of a bundle can lead out of its directory. Format and version are decoded alone and first,
 * because another version may give the other members another meaning. Files are sorted by name:
 * duplicates become neighbours, and bundle_manifest_find uses a binary search.
 *
 * The manifest precedes all members in the archive, so every file is read twice: for its hash, then
 * for the archive. tree_pack.h reports files that changed in between, and the job then fails. The
 * check requires a bijection: every file on disk is in the manifest, and the reverse. A file with a
 * second hard link is refused, because another name could change it later.
 *
 *	{"format": "acpd-bundle", "version": 1, "sessionId": ..., "files": [{"path", "bytes", "sha256"}, ...]}
 *
 * Members of the object that are not named here are not ours to read. Names of members are those that a daemon gives:
 * no other is taken, so none leads anywhere. Pure: text in, table out; the text may be anybody's.
 *
 * bundle_write reads each file twice: for its hash, and for the archive. The files are the daemon's own, and nobody
 * writes them meanwhile; should one have changed all the same, the archive ends torn.
 *
 * bundle_check reads what was unpacked from anywhere. Every file must be in the manifest with its size and its SHA-256, and every
 * file of the manifest must be there: else BUNDLE_TAMPERED, with the member's name. Links, devices and folders of others
 * are no members.
 */
#include "unpack/export/bundle.h"

#include "base/util.h"
#include "base/clock.h"
#include "base/os/file.h"
#include "base/version.h"
#include "json/jdec.h"
#include "tree/held_tree.h"
#include "unpack/snapshot/tree_walk.h"

/* --- the manifest ----------------------------------------------------------------------------------------- */

/* The first members, in no order of use: all else is below one of the folders. */
static const char *const bundle_members[] = { "session.json", "events.ndjson", "journal.ndjson",
					      "usage.ndjson", "diff.patch" };
static const char *const bundle_folders[] = { "artifacts/", "model/" };

static bool bundle_is_plain_name(const char *name)
{
	return *name && *name != '.' &&
	       slice_only(slice_of(name), "abcdefghijklmnopqrstuvwxyz0123456789_-.");
}

bool bundle_name_allowed(const char *path)
{
	if (strlen(path) > BUNDLE_PATH_MAX)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(bundle_members); i++)
		if (strcmp(path, bundle_members[i]) == 0)
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(bundle_folders); i++)
		if (strncmp(path, bundle_folders[i], strlen(bundle_folders[i])) == 0)
			return bundle_is_plain_name(path + strlen(bundle_folders[i]));
	return false;
}

static int bundle_invalid(struct verdict *v, const char *path, const char *text)
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

static int bundle_take_file(struct bundle_manifest *m, struct bundle_file_args *a,
			    struct verdict *v)
{
	struct bundle_file f = { .bytes = (uint64_t)a->bytes };

	if (!bundle_name_allowed(a->path))
		return bundle_invalid(v, a->path, "no name of a member of a bundle");
	if (sha256_from_hex(slice_of(a->digest), &f.digest) < 0)
		return bundle_invalid(v, a->path, "sha256 must be 64 hex digits");
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

static int bundle_decode_file(struct bundle_manifest *m, struct jval v, struct verdict *verdict)
{
	struct bundle_file_args a = { 0 };
	struct err e = { 0 };
	int r;

	if (v.type != J_OBJECT || jdec_object(v.raw, file_fields, "files[].", &a, &e) < 0)
		return bundle_invalid(verdict, NULL,
				      *e.msg ? e.msg : "files: each must be an object");
	r = bundle_take_file(m, &a, verdict);
	jdec_free(file_fields, &a);
	return r;
}

/* --- all of them --------------------------------------------------------------------------------------------- */

static int bundle_by_path(const void *pa, const void *pb)
{
	const struct bundle_file *a = pa, *b = pb;

	return strcmp(a->path, b->path);
}

static int bundle_sort_files(struct bundle_manifest *m, struct verdict *v)
{
	if (m->n)
		qsort(m->files, m->n, sizeof(*m->files), bundle_by_path);
	for (size_t i = 1; i < m->n; i++)
		if (strcmp(m->files[i - 1].path, m->files[i].path) == 0)
			return bundle_invalid(v, m->files[i].path, "named twice in the manifest");
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
static int bundle_check_head(struct slice text, struct verdict *v)
{
	struct manifest_args a = { 0 };
	struct err e = { 0 };
	int r = 0;

	if (jdec_object(text, head_fields, NULL, &a, &e) < 0)
		return bundle_invalid(v, NULL, e.msg);
	if (strcmp(a.format, BUNDLE_FORMAT) != 0)
		r = bundle_invalid(v, NULL, "its format is not " BUNDLE_FORMAT);
	else if (a.version != BUNDLE_VERSION)
		r = refuse(v, "BUNDLE_VERSION", BUNDLE_MANIFEST,
			   "the bundle is of version %lld, and this acpd reads version %d",
			   (long long)a.version, BUNDLE_VERSION);
	jdec_free(head_fields, &a);
	return r;
}

static int bundle_take_files(struct bundle_manifest *m, struct slice files, struct verdict *v)
{
	jarr_each(item, files) {
		int r = bundle_decode_file(m, item, v);

		if (r < 0)
			return r;
	}
	return bundle_sort_files(m, v);
}

int bundle_manifest_parse(struct slice text, struct bundle_manifest *ret, struct verdict *v)
{
	struct manifest_args a = { 0 };
	struct err e = { 0 };
	struct jval whole;
	int r;

	*ret = (struct bundle_manifest){ 0 };
	if (jscan_value(text, &whole) != JSCAN_OK || whole.type != J_OBJECT)
		return bundle_invalid(v, NULL, "it is no JSON object");
	r = bundle_check_head(whole.raw, v);
	if (r < 0)
		return r;
	if (jdec_object(whole.raw, fields, NULL, &a, &e) < 0)
		return bundle_invalid(v, NULL, e.msg);
	ret->session_id = TAKE_PTR(a.session_id);
	r = bundle_take_files(ret, a.files, v);
	jdec_free(fields, &a);
	return r;
}

struct bundle_file *bundle_manifest_find(struct bundle_manifest *m, const char *path)
{
	const struct bundle_file key = { .path = (char *)path };

	return m->n ? bsearch(&key, m->files, m->n, sizeof(*m->files), bundle_by_path) : NULL;
}

void bundle_manifest_done(struct bundle_manifest *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->files[i].path);
	free_each(m->files, m->session_id);
	*m = (struct bundle_manifest){ 0 };
}

#define PIECE (128 * KIB)

/* --- a file's hash ------------------------------------------------------------------------------------------ */

/* Of all bytes; more than max is -EFBIG. */
static int bundle_hash_fd(int fd, uint64_t max, struct sha256 *ret, uint64_t *bytes)
{
	_cleanup_(freep) char *piece = xalloc(PIECE);
	struct sha256_stream h;
	ssize_t n = 1;

	*bytes = 0;
	sha256_begin(&h);
	while (n != 0) {
		n = RETRY(read(fd, piece, PIECE));
		if (n < 0)
			return -errno;
		*bytes += (uint64_t)n;
		if (*bytes > max)
			return -EFBIG;
		sha256_add(&h, piece, (size_t)n);
	}
	sha256_end(&h, ret);
	return 0;
}

static int bundle_hash_entry(const struct tree_entry *e, uint64_t max, struct sha256 *ret,
			     uint64_t *bytes, struct verdict *v)
{
	_cleanup_(closep) int fd =
		openat(e->dir, e->leaf, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int r = fd < 0 ? -errno : bundle_hash_fd(fd, max, ret, bytes);

	return r < 0 && r != -EFBIG ? fail_with(v, r, e->path, "reading a member") : r;
}

/* --- written ------------------------------------------------------------------------------------------------ */

struct bundle_writing {
	struct jw w;
	struct verdict *v;
	size_t n;
	uint64_t bytes;
};

static int bundle_list_file(void *ctx, const struct tree_entry *e)
{
	struct bundle_writing *b = ctx;
	struct sha256 digest;
	uint64_t bytes;
	int r;

	if (S_ISDIR(e->sb.st_mode))
		return 0;
	if (!S_ISREG(e->sb.st_mode) || !bundle_name_allowed(e->path))
		return fail_as(b->v, "JOB_INVALID", e->path, "this is no member of a bundle");
	if (++b->n > BUNDLE_FILES_MAX)
		return refuse_over(b->v, "TOO_MANY_ENTRIES", e->path, BUNDLE_FILES_MAX, b->n,
				   "members of a bundle");
	r = bundle_hash_entry(e, BUNDLE_BYTES_MAX - b->bytes, &digest, &bytes, b->v);
	if (r == -EFBIG)
		return refuse_over(b->v, "TOO_LARGE", e->path, BUNDLE_BYTES_MAX, b->bytes + bytes,
				   "bytes of all members");
	if (r < 0)
		return r;
	b->bytes += bytes;
	jw_object(&b->w, NULL, JW_STR("path", e->path), JW_UINT("bytes", bytes),
		  JW_STR("sha256", SHA256_HEX_OF(&digest)));
	return 0;
}

static int bundle_not_listed(void *ctx, const char *path, enum omit_reason reason)
{
	struct bundle_writing *b = ctx;

	return fail_as(b->v, "JOB_INVALID", path, "this cannot be read: %s", omit_word(reason));
}

static int bundle_put_manifest(int root, struct slice about, struct buf *text, struct verdict *v)
{
	struct bundle_writing b = { .w = JW(text), .v = v };
	const struct tree_visitor visitor = { .visit = bundle_list_file,
					      .omit = bundle_not_listed,
					      .ctx = &b };
	const struct tree_walk_options all = { .entries = 2 * BUNDLE_FILES_MAX };
	int r;

	jw_obj(&b.w, NULL);
	jw_str(&b.w, "format", BUNDLE_FORMAT);
	jw_uint(&b.w, "version", BUNDLE_VERSION);
	jw_str(&b.w, "acpd", acpd_version);
	jw_str(&b.w, "createdAt", CLOCK_ISO(clock_real_ms()));
	jw_members(&b.w, about, NULL);
	jw_arr(&b.w, "files");
	r = tree_walk(root, &all, &visitor, v);
	jw_end_arr(&b.w);
	jw_end_obj(&b.w);
	buf_putc(text, '\n');
	return r < 0 ? r : text->failed ? fail_with(v, -ENOMEM, NULL, "the manifest") : 0;
}

int bundle_write(int root, struct slice about, int out, struct tree_pack_report *report,
		 struct verdict *v)
{
	_cleanup_(buf_done) struct buf text = { .max = BUNDLE_MANIFEST_MAX };
	struct tree_pack_job job = { .root = root,
				     .format = ARCHIVE_TAR_ZST,
				     .entries = 2 * BUNDLE_FILES_MAX,
				     .bytes = BUNDLE_BYTES_MAX,
				     .lead = BUNDLE_MANIFEST,
				     .files_only = true };
	int r = bundle_put_manifest(root, about, &text, v);

	if (r < 0)
		return r;
	job.lead_text = buf_slice(&text);
	r = tree_pack_write(&job, out, report, v);
	if (r == 0 && (report->changed.total || report->skipped.total))
		r = fail_as(v, "JOB_INVALID", NULL, "a member was changed while it was read");
	return r;
}

/* --- read ---------------------------------------------------------------------------------------------------- */

static int bundle_read_manifest(int root, struct bundle_manifest *ret, struct verdict *v)
{
	_cleanup_(buf_done) struct buf text = { .max = BUNDLE_MANIFEST_MAX };
	struct held h;
	int fd, r;

	held_init(&h, root);
	fd = held_open(&h, BUNDLE_MANIFEST, NULL);
	held_done(&h);
	if (fd < 0)
		return refuse(v, "BUNDLE_INVALID", BUNDLE_MANIFEST,
			      "there is none: this is no bundle");
	r = file_read_fd(fd, BUNDLE_MANIFEST_MAX, &text);
	close(fd);
	if (r == -E2BIG)
		return refuse_over(v, "TOO_LARGE", BUNDLE_MANIFEST, BUNDLE_MANIFEST_MAX,
				   BUNDLE_MANIFEST_MAX + 1, "bytes of the manifest");
	if (r < 0)
		return fail_with(v, r, BUNDLE_MANIFEST, "reading the manifest");
	return bundle_manifest_parse(buf_slice(&text), ret, v);
}

struct bundle_reading {
	struct bundle_manifest *m;
	struct verdict *v;
};

static int bundle_tampered(struct verdict *v, const char *path, const char *text)
{
	return refuse(v, "BUNDLE_TAMPERED", path, "%s", text);
}

static int bundle_check_file(struct bundle_reading *b, struct bundle_file *f,
			     const struct tree_entry *e)
{
	struct sha256 digest;
	uint64_t bytes;
	int r = bundle_hash_entry(e, f->bytes, &digest, &bytes, b->v);

	if (r < 0 && r != -EFBIG)
		return r;
	if (r == -EFBIG || bytes != f->bytes)
		return bundle_tampered(b->v, e->path, "it has another size than the manifest says");
	if (!sha256_equal(&digest, &f->digest))
		return bundle_tampered(b->v, e->path,
				       "it has another SHA-256 than the manifest says");
	f->seen = true;
	return 0;
}

static bool bundle_is_folder(const char *path)
{
	return strcmp(path, "artifacts") == 0 || strcmp(path, "model") == 0;
}

static int bundle_visit_member(void *ctx, const struct tree_entry *e)
{
	struct bundle_reading *b = ctx;
	struct bundle_file *f;

	if (strcmp(e->path, BUNDLE_MANIFEST) == 0 ||
	    (S_ISDIR(e->sb.st_mode) && bundle_is_folder(e->path)))
		return 0;
	f = bundle_manifest_find(b->m, e->path);
	if (!f)
		return bundle_tampered(b->v, e->path, "the manifest does not name it");
	if (!S_ISREG(e->sb.st_mode) || e->sb.st_nlink != 1)
		return bundle_tampered(b->v, e->path, "it is no file of its own");
	return bundle_check_file(b, f, e);
}

static int bundle_on_unreadable(void *ctx, const char *path, enum omit_reason reason _unused_)
{
	struct bundle_reading *b = ctx;

	return bundle_tampered(b->v, path, "it is no member of a bundle");
}

int bundle_check(int root, struct bundle_manifest *ret, struct verdict *v)
{
	struct bundle_reading b = { ret, v };
	const struct tree_visitor visitor = { .visit = bundle_visit_member,
					      .omit = bundle_on_unreadable,
					      .ctx = &b };
	const struct tree_walk_options all = { .entries = 2 * BUNDLE_FILES_MAX };
	int r;

	*ret = (struct bundle_manifest){ 0 };
	r = bundle_read_manifest(root, ret, v);
	if (r == 0)
		r = tree_walk(root, &all, &visitor, v);
	for (size_t i = 0; r == 0 && i < ret->n; i++)
		if (!ret->files[i].seen)
			r = bundle_tampered(v, ret->files[i].path,
					    "the manifest names it, and it is not there");
	return r;
}
