/*
 * tree_pack.c - writes a living tree as tar or zip through libarchive, to a descriptor.
 *
 * tar (ustar, with a pax header where a name, size or time needs one), the same in gzip or zstd, or zip (deflate, UNIX
 * modes, links; zip64 where needed). The order is that of tree_walk.h, owners are 0/0 without names, times are those
 * of the files in whole seconds, modes their permission bits: the same tree gives the same bytes. Symbolic links are
 * stored as they are and never followed. Files with several names are stored once for each. FIFOs, sockets, devices
 * and what cannot be read are left out and reported.
 *
 * The size in a header precedes the content, and the file can change in between. So exactly that
 * many bytes are written: a shorter file is padded with zeros, a longer one cut, and both are
 * reported. Owners, names and sub-second times are normalized, so that equal trees give equal
 * archives.
 *
 * After an error nothing more is written: the archive must end truncated, since a proper end would
 * declare it complete.
 */
#include "unpack/export/tree_pack.h"

#include "base/clock.h"
#include "base/os/file.h"
#include "base/os/sparse_file.h"
#include "base/util.h"
#include "tree/held_tree.h"
#include "unpack/snapshot/take.h"
#include "unpack/snapshot/tree_walk.h"

#include <archive.h>
#include <archive_entry.h>

#define PIECE (128 * KIB)
#define BLOCK (64 * KIB)

struct export
{
	const struct tree_pack_job *job;
	struct tree_pack_report *report;
	struct verdict *v;
	struct archive *archive;
	struct archive_entry *entry;
	int out;
	int out_error;
	bool torn;	     /* nothing is written any more */
	uint64_t extra_left; /* of EXPORT_EXTRA_MAX */
	char *piece;
};

/* --- which paths ---------------------------------------------------------------------------------------- */

static bool leads_out(const char *path)
{
	for (const char *p = path; *p;) {
		size_t n = strcspn(p, "/");

		if (n == 2 && p[0] == '.' && p[1] == '.')
			return true;
		p += n;
		p += *p == '/';
	}
	return *path == '/';
}

int tree_pack_clean_path(char *path)
{
	char *to = path;

	if (!*path || leads_out(path))
		return -EINVAL;
	for (const char *p = path; *p;) {
		size_t n = strcspn(p, "/");

		if (n && !(n == 1 && *p == '.')) {
			if (to != path)
				*to++ = '/';
			memmove(to, p, n);
			to += n;
		}
		p += n;
		p += *p == '/';
	}
	*to = '\0';
	return 0;
}

int tree_pack_check(const struct tree_pack_job *job, struct verdict *v)
{
	struct held h;
	struct stat sb;
	int r = 0;

	held_init(&h, job->root);
	for (size_t i = 0; r == 0 && i < job->npaths; i++) {
		const char *path = job->paths[i];

		r = *path ? held_stat(&h, path, &sb) : 0;
		if (r < 0)
			r = refuse(v, "PATH_NOT_FOUND", path, "%s", strerror(-r));
	}
	held_done(&h);
	return r;
}

enum choice { OUTSIDE, ABOVE, CHOSEN };

/* Directories above a chosen path are entered and not written. Paths are few, so there is no index of them. */
static enum choice pack_choose(const struct tree_pack_job *job, const char *path)
{
	enum choice best = job->npaths ? OUTSIDE : CHOSEN;

	for (size_t i = 0; i < job->npaths && best != CHOSEN; i++) {
		if (path_below(path, job->paths[i]))
			best = CHOSEN;
		else if (path_below(job->paths[i], path))
			best = ABOVE;
	}
	return best;
}

/* --- one entry ------------------------------------------------------------------------------------------ */

static void pack_skip(struct export *x, const char *path, enum omit_reason reason)
{
	omitted_add(&x->report->skipped, path, omit_word(reason));
}

static int fail_archive(struct export *x, const char *path)
{
	const char *what = archive_error_string(x->archive);

	if (x->out_error == -EPIPE || x->out_error == -ECONNRESET)
		return fail_as(x->v, "READER_GONE", path, "nobody reads the archive any more");
	if (x->out_error)
		return fail_with(x->v, x->out_error, path, "writing the archive");
	return fail_as(x->v, "ARCHIVE_WRITER", path, "%s", what ? what : "unknown trouble");
}

static int pack_put_header(struct export *x, const char *path, const struct stat *sb,
			   const char *target)
{
	struct archive_entry *e = archive_entry_clear(x->entry);
	int r;

	archive_entry_set_pathname(e, path);
	archive_entry_set_mode(e, (sb->st_mode & S_IFMT) | (sb->st_mode & 0777));
	archive_entry_set_mtime(e, sb->st_mtim.tv_sec, 0);
	archive_entry_set_uid(e, 0);
	archive_entry_set_gid(e, 0);
	archive_entry_set_nlink(e, 1);
	archive_entry_set_size(e, S_ISREG(sb->st_mode) ? sb->st_size : 0);
	if (target)
		archive_entry_set_symlink(e, target);
	r = archive_write_header(x->archive, e);
	/* a warning is about a name that is not UTF-8, and was stored as it is */
	return r < ARCHIVE_WARN ? fail_archive(x, path) : 0;
}

/* Up to n bytes; fewer at the end of the file, and what cannot be read ends it as well. */
static size_t pack_read_piece(struct sparse_reader *file, char *p, size_t n)
{
	size_t have = 0;

	while (have < n) {
		ssize_t got = sparse_read(file, p + have, n - have);

		if (got <= 0)
			break;
		have += (size_t)got;
	}
	return have;
}

/* The archive has the bytes all the same; the client learns that they may be of two moments. */
static void pack_note_change(struct export *x, const char *path, int fd, const struct stat *sb,
			     bool shrank)
{
	struct stat after;
	const char *how = NULL;

	if (shrank)
		how = "SHRANK";
	else if (fstat(fd, &after) == 0 && after.st_size > sb->st_size)
		how = "GREW";
	else if (after.st_ctim.tv_sec != sb->st_ctim.tv_sec ||
		 after.st_ctim.tv_nsec != sb->st_ctim.tv_nsec)
		how = "CHANGED";
	if (how)
		omitted_add(&x->report->changed, path, how);
}

static int pack_put_content(struct export *x, const char *path, int fd, const struct stat *sb)
{
	uint64_t left = (uint64_t)sb->st_size;
	struct sparse_reader file;
	bool shrank = false;
	int r = 0;

	sparse_reader_begin(&file, fd, left);
	while (r == 0 && left) {
		size_t n = (size_t)MIN(left, (uint64_t)PIECE);
		size_t got = shrank ? 0 : pack_read_piece(&file, x->piece, n);

		if (got < n) {
			shrank = true;
			memset(x->piece + got, 0, n - got);
		}
		if (archive_write_data(x->archive, x->piece, n) != (ssize_t)n)
			r = fail_archive(x, path);
		left -= n;
	}
	pack_note_change(x, path, fd, sb, shrank);
	return r;
}

static int pack_put_file(struct export *x, const struct tree_entry *e)
{
	/* O_NONBLOCK: there may be a FIFO by now */
	_cleanup_(closep) int fd =
		openat(e->dir, e->leaf, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat sb;
	int r;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, &sb) < 0 || !S_ISREG(sb.st_mode)) {
		pack_skip(x, e->path, fd >= 0 || errno == ELOOP ? OMIT_CHANGING : OMIT_UNREADABLE);
		return 0;
	}
	if (!sparse_afford(&x->extra_left, &sb)) {
		pack_skip(x, e->path, OMIT_TOO_LARGE);
		return 0;
	}
	x->report->bytes += (uint64_t)sb.st_size;
	if (x->report->bytes > x->job->bytes)
		return refuse_over(x->v, "TOO_LARGE", e->path, x->job->bytes, x->report->bytes,
				   "bytes of all files");
	r = pack_put_header(x, e->path, &sb, NULL);
	if (r < 0)
		return r;
	x->report->files++;
	return pack_put_content(x, e->path, fd, &sb);
}

static int pack_put_link(struct export *x, const struct tree_entry *e)
{
	ssize_t n = readlinkat(e->dir, e->leaf, x->piece, PATH_BYTES_MAX + 1);

	if (n < 0 && errno == ENOENT)
		return 0;
	if (n < 0 || n > PATH_BYTES_MAX) {
		pack_skip(x, e->path, OMIT_CHANGING);
		return 0;
	}
	x->piece[n] = '\0';
	x->report->links++;
	return pack_put_header(x, e->path, &e->sb, x->piece);
}

static int pack_on_visit(void *ctx, const struct tree_entry *e)
{
	struct export *x = ctx;

	switch (pack_choose(x->job, e->path)) {
	case OUTSIDE:
		return 1;
	case ABOVE:
		return 0;
	case CHOSEN:
		break;
	}
	if (S_ISREG(e->sb.st_mode))
		return pack_put_file(x, e);
	if (S_ISLNK(e->sb.st_mode))
		return pack_put_link(x, e);
	if (!S_ISDIR(e->sb.st_mode)) {
		pack_skip(x, e->path, take_special(e->sb.st_mode));
		return 0;
	}
	if (x->job->files_only)
		return 0;
	x->report->directories++;
	return pack_put_header(x, e->path, &e->sb, NULL);
}

static int pack_on_omit(void *ctx, const char *path, enum omit_reason reason)
{
	struct export *x = ctx;

	if (pack_choose(x->job, path) != OUTSIDE)
		pack_skip(x, path, reason);
	return 0;
}

/* --- the archive ---------------------------------------------------------------------------------------- */

static const struct {
	int (*format)(struct archive *);
	int (*filter)(struct archive *);
	const char *options;
} formats[] = {
	[ARCHIVE_TAR] = { archive_write_set_format_pax_restricted, archive_write_add_filter_none,
			  NULL },
	[ARCHIVE_TAR_GZ] = { archive_write_set_format_pax_restricted, archive_write_add_filter_gzip,
			     "gzip:!timestamp,gzip:compression-level=3" },
	[ARCHIVE_TAR_ZST] = { archive_write_set_format_pax_restricted,
			      archive_write_add_filter_zstd, "zstd:compression-level=1" },
	[ARCHIVE_ZIP] = { archive_write_set_format_zip, archive_write_add_filter_none,
			  "zip:compression=deflate,zip:compression-level=3" },
};

/* torn: libarchive flushes its buffers on close, and none of that may come out after an error. */
static la_ssize_t pack_on_write(struct archive *a, void *ctx, const void *p, size_t n)
{
	struct export *x = ctx;
	int r;

	if (x->torn)
		return (la_ssize_t)n;
	r = file_write_all(x->out, p, n);
	if (r < 0) {
		x->out_error = r;
		archive_set_error(a, -r, "%s", strerror(-r));
		return -1;
	}
	x->report->archive_bytes += n;
	return (la_ssize_t)n;
}

static int pack_begin(struct export *x)
{
	const char *options = formats[x->job->format].options;

	x->archive = archive_write_new();
	x->entry = archive_entry_new();
	x->piece = malloc(PIECE);
	if (!x->archive || !x->entry || !x->piece)
		return fail_with(x->v, -ENOMEM, NULL, "making an archive");
	if (formats[x->job->format].format(x->archive) != ARCHIVE_OK ||
	    formats[x->job->format].filter(x->archive) != ARCHIVE_OK ||
	    archive_write_set_options(x->archive, options) != ARCHIVE_OK ||
	    archive_write_set_bytes_per_block(x->archive, BLOCK) != ARCHIVE_OK ||
	    archive_write_set_bytes_in_last_block(x->archive, 1) != ARCHIVE_OK ||
	    archive_write_open(x->archive, x, NULL, pack_on_write, NULL) != ARCHIVE_OK)
		return fail_archive(x, NULL);
	return 0;
}

/* The manifest of a bundle, which is in no tree, so that a reader has it before any member. */
static int put_lead(struct export *x)
{
	const struct stat sb = { .st_mode = S_IFREG | 0600,
				 .st_mtim.tv_sec = (time_t)(clock_real_ms() / 1000),
				 .st_size = (off_t)x->job->lead_text.n };
	int r = pack_put_header(x, x->job->lead, &sb, NULL);

	if (r == 0 && archive_write_data(x->archive, x->job->lead_text.p, x->job->lead_text.n) < 0)
		r = fail_archive(x, x->job->lead);
	return r;
}

static int pack_run(struct export *x)
{
	const struct tree_visitor visitor = { .visit = pack_on_visit,
					      .omit = pack_on_omit,
					      .ctx = x };
	const struct tree_walk_options options = {
		.gitignore = x->job->gitignore,
		.without_git = x->job->gitignore,
		.entries = x->job->entries,
		.deadline_ms = x->job->deadline_ms,
	};
	int r = pack_begin(x);

	if (r == 0 && x->job->lead)
		r = put_lead(x);
	if (r == 0)
		r = tree_walk(x->job->root, &options, &visitor, x->v);
	if (r == 0)
		return archive_write_close(x->archive) != ARCHIVE_OK ? fail_archive(x, NULL) : 0;
	/* closing finishes it, as if it were whole; without closing the filters keep their memory */
	x->torn = true;
	if (x->archive)
		archive_write_close(x->archive);
	return r;
}

int tree_pack_write(const struct tree_pack_job *job, int out, struct tree_pack_report *report,
		    struct verdict *v)
{
	struct export x = {
		.job = job, .report = report, .v = v, .out = out, .extra_left = EXPORT_EXTRA_MAX
	};
	int r;

	*report = (struct tree_pack_report){ 0 };
	r = pack_run(&x);
	archive_write_free(x.archive);
	archive_entry_free(x.entry);
	free(x.piece);
	return r;
}

void tree_pack_report_done(struct tree_pack_report *report)
{
	omitted_done(&report->skipped);
	omitted_done(&report->changed);
}
