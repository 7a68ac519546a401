/*
 * bundle_tree.c - writes the directory of a bundle as one archive, and checks an unpacked bundle
 * against its manifest.
 *
 * The manifest precedes all members in the archive, so every file is read twice: for its hash, then
 * for the archive. tree_pack.h reports files that changed in between, and the job then fails. The
 * check requires a bijection: every file on disk is in the manifest, and the reverse. A file with a
 * second hard link is refused, because another name could change it later.
 */
#include "unpack/bundle/bundle_tree.h"

#include "base/clock.h"
#include "base/os/file.h"
#include "base/util.h"
#include "base/version.h"
#include "json/jenc.h"
#include "tree/held_tree.h"
#include "unpack/snapshot/tree_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#define PIECE (128 * KIB)

/* --- a file's hash ------------------------------------------------------------------------------------------ */

/* Of all bytes; more than max is -EFBIG. */
static int hash_fd(int fd, uint64_t max, struct sha256 *ret, uint64_t *bytes)
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

static int hash_entry(const struct tree_entry *e, uint64_t max, struct sha256 *ret, uint64_t *bytes,
		      struct verdict *v)
{
	_cleanup_(closep) int fd =
		openat(e->dir, e->leaf, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int r = fd < 0 ? -errno : hash_fd(fd, max, ret, bytes);

	return r < 0 && r != -EFBIG ? fail_with(v, r, e->path, "reading a member") : r;
}

/* --- written ------------------------------------------------------------------------------------------------ */

struct bundle_writing {
	struct jw w;
	struct verdict *v;
	size_t n;
	uint64_t bytes;
};

static int list_file(void *ctx, const struct tree_entry *e)
{
	struct bundle_writing *b = ctx;
	struct sha256 digest;
	char hex[SHA256_HEX];
	uint64_t bytes;
	int r;

	if (S_ISDIR(e->sb.st_mode))
		return 0;
	if (!S_ISREG(e->sb.st_mode) || !bundle_name_allowed(e->path))
		return fail_as(b->v, "JOB_INVALID", e->path, "this is no member of a bundle");
	if (++b->n > BUNDLE_FILES_MAX)
		return refuse_over(b->v, "TOO_MANY_ENTRIES", e->path, BUNDLE_FILES_MAX, b->n,
				   "members of a bundle");
	r = hash_entry(e, BUNDLE_BYTES_MAX - b->bytes, &digest, &bytes, b->v);
	if (r == -EFBIG)
		return refuse_over(b->v, "TOO_LARGE", e->path, BUNDLE_BYTES_MAX, b->bytes + bytes,
				   "bytes of all members");
	if (r < 0)
		return r;
	b->bytes += bytes;
	sha256_hex(&digest, hex);
	jw_obj(&b->w, NULL);
	jw_str(&b->w, "path", e->path);
	jw_uint(&b->w, "bytes", bytes);
	jw_str(&b->w, "sha256", hex);
	jw_end_obj(&b->w);
	return 0;
}

static int not_listed(void *ctx, const char *path, enum omit_reason reason)
{
	struct bundle_writing *b = ctx;

	return fail_as(b->v, "JOB_INVALID", path, "this cannot be read: %s", omit_word(reason));
}

static int put_manifest(int root, struct slice about, struct buf *text, struct verdict *v)
{
	struct bundle_writing b = { .w = JW(text), .v = v };
	const struct tree_visitor visitor = { .visit = list_file, .omit = not_listed, .ctx = &b };
	const struct tree_walk_options all = { .entries = 2 * BUNDLE_FILES_MAX };
	char now[CLOCK_ISO_SIZE];
	int r;

	jw_obj(&b.w, NULL);
	jw_str(&b.w, "format", BUNDLE_FORMAT);
	jw_uint(&b.w, "version", BUNDLE_VERSION);
	jw_str(&b.w, "acpd", acpd_version);
	jw_str(&b.w, "createdAt", clock_iso(clock_real_ms(), now));
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
				     .format = PACK_TAR_ZST,
				     .entries = 2 * BUNDLE_FILES_MAX,
				     .bytes = BUNDLE_BYTES_MAX,
				     .lead = BUNDLE_MANIFEST,
				     .files_only = true };
	int r = put_manifest(root, about, &text, v);

	if (r < 0)
		return r;
	job.lead_text = buf_slice(&text);
	r = tree_pack_write(&job, out, report, v);
	if (r == 0 && (report->changed.total || report->skipped.total))
		r = fail_as(v, "JOB_INVALID", NULL, "a member was changed while it was read");
	return r;
}

/* --- read ---------------------------------------------------------------------------------------------------- */

static int read_manifest(int root, struct bundle_manifest *ret, struct verdict *v)
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

static int tampered(struct verdict *v, const char *path, const char *text)
{
	return refuse(v, "BUNDLE_TAMPERED", path, "%s", text);
}

static int check_file(struct bundle_reading *b, struct bundle_file *f, const struct tree_entry *e)
{
	struct sha256 digest;
	uint64_t bytes;
	int r = hash_entry(e, f->bytes, &digest, &bytes, b->v);

	if (r < 0 && r != -EFBIG)
		return r;
	if (r == -EFBIG || bytes != f->bytes)
		return tampered(b->v, e->path, "it has another size than the manifest says");
	if (!sha256_equal(&digest, &f->digest))
		return tampered(b->v, e->path, "it has another SHA-256 than the manifest says");
	f->seen = true;
	return 0;
}

static bool is_folder(const char *path)
{
	return strcmp(path, "artifacts") == 0 || strcmp(path, "model") == 0;
}

static int visit_member(void *ctx, const struct tree_entry *e)
{
	struct bundle_reading *b = ctx;
	struct bundle_file *f;

	if (strcmp(e->path, BUNDLE_MANIFEST) == 0 || (S_ISDIR(e->sb.st_mode) && is_folder(e->path)))
		return 0;
	f = bundle_manifest_find(b->m, e->path);
	if (!f)
		return tampered(b->v, e->path, "the manifest does not name it");
	if (!S_ISREG(e->sb.st_mode) || e->sb.st_nlink != 1)
		return tampered(b->v, e->path, "it is no file of its own");
	return check_file(b, f, e);
}

static int unreadable(void *ctx, const char *path, enum omit_reason reason _unused_)
{
	struct bundle_reading *b = ctx;

	return tampered(b->v, path, "it is no member of a bundle");
}

int bundle_check(int root, struct bundle_manifest *ret, struct verdict *v)
{
	struct bundle_reading b = { ret, v };
	const struct tree_visitor visitor = { .visit = visit_member,
					      .omit = unreadable,
					      .ctx = &b };
	const struct tree_walk_options all = { .entries = 2 * BUNDLE_FILES_MAX };
	int r;

	*ret = (struct bundle_manifest){ 0 };
	r = read_manifest(root, ret, v);
	if (r == 0)
		r = tree_walk(root, &all, &visitor, v);
	for (size_t i = 0; r == 0 && i < ret->n; i++)
		if (!ret->files[i].seen)
			r = tampered(v, ret->files[i].path,
				     "the manifest names it, and it is not there");
	return r;
}
