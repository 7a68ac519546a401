/*
 * derive.c - inflates an archive into an uncompressed tar in the store, in the background.
 *
 * The archive is not pinned meanwhile: it may be deleted, and then the stream is dropped. Like everything in the store
 * the file is the daemon's own: named by the digest of the archive it was made of, not writable for anybody, and on
 * disk before it gets its name. Unpacking checks it like any other tar, its digest too.
 *
 * The stream is an optimization, so every obstacle (no space, no helper, a deleted archive) only
 * means that it is not made. It may use free space only: fits() and archive_derived_reserve never
 * evict an archive. put_in_place checks the result before it gets its name. If acpd-unpack finds
 * the archive damaged, the store is notified.
 */
#include "workspace/derive.h"

#include "base/log.h"
#include "json/json.h"
#include "workspace/helper_job.h"

#include <fcntl.h>
#include <sys/statvfs.h>

#define PER_ENTRY (4 * KIB) /* header and padding, and long names */

struct derive {
	struct workspaces *ws;
	struct helper_job *helper;
	struct sha256 digest;
	char *made; /* where it is written */
};

/* The file that was being written goes, too, unless it has its final name by now. */
static void derive_free(struct derive *d)
{
	if (d->made)
		unlink(d->made);
	helper_job_free(d->helper);
	free_each(d->made, d);
}

static enum archive_format format_of(const char *path)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	char head[ARCHIVE_HEAD_BYTES];
	ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof(head));

	return n < 0 ? ARCHIVE_UNKNOWN : archive_format_of((struct slice){ head, (size_t)n });
}

/* The archive may have gone meanwhile. A tar may begin with the magic of something else, where an extended header
 * gives its name. */
static bool derive_put_in_place(struct derive *d, struct slice report)
{
	_cleanup_(freep) char *text = NULL;
	struct archive_info info;
	struct sha256 digest;

	return archive_find(d->ws->archives, &d->digest, &info) && info.whole &&
	       format_of(d->made) == ARCHIVE_TAR &&
	       jstr_decode(jobj_get(report, "digest"), SHA256_TEXT, &text) == 0 &&
	       sha256_parse(slice_of(text), &digest) == 0 &&
	       archive_derived_keep(d->ws->archives, &d->digest, &digest) == 0;
}

static void derive_on_made(void *ctx, struct slice report, const struct err *e)
{
	struct derive *d = ctx;
	struct workspaces *ws = d->ws;

	if (e || !derive_put_in_place(d, report))
		ws->derive_failed = d->digest;
	/* A refusal without a digest: the archive was damaged when it was uploaded. */
	if (e && strcmp(e->reason, "ARCHIVE_DAMAGED") == 0 &&
	    jobj_get(report, "digest").type == J_STRING)
		archive_damaged(ws->archives, &d->digest, &d->digest);
	if (e && !ws->closing)
		log_info("workspace", "an archive stays compressed", "reason", e->reason, "text",
			 e->msg);
	ws->derive = NULL;
	derive_free(d);
	ws->idle(ws->ctx);
}

static const struct helper_job_events events = { NULL, derive_on_made };

/* An upper bound of the stream, from what was unpacked. */
static uint64_t stream_max(struct slice report)
{
	return jobj_uint(report, "bytes") + jobj_uint(report, "entries") * PER_ENTRY + MIB;
}

/* True if there is room without removing anything. */
static bool derive_fits(const struct workspaces *ws, const char *dir, uint64_t bytes)
{
	uint64_t used = archive_store_used(ws->archives), max = archive_store_max(ws->archives);
	struct statvfs v;

	return used < max && bytes <= max - used && statvfs(dir, &v) == 0 &&
	       (uint64_t)v.f_bavail * v.f_frsize / 2 > bytes;
}

/* Writes the job, or returns false: it is not worth it, or not possible. */
static bool plan(struct derive *d, const char *archive, uint64_t most, struct buf *job)
{
	enum archive_format format = format_of(archive);
	_cleanup_(freep) char *dir = NULL;
	struct jw w = JW(job);

	d->made = archive_derived_temp(d->ws->archives);
	dir = xstrdup(d->made);
	*strrchr(dir, '/') = '\0';
	if ((format != ARCHIVE_TAR_GZ && format != ARCHIVE_TAR_ZST) ||
	    !derive_fits(d->ws, dir, most) ||
	    archive_derived_reserve(d->ws->archives, most, NULL) < 0)
		return false;
	unlink(d->made); /* left by a daemon that was killed */
	jw_obj(&w, NULL);
	jw_str(&w, "archive", archive);
	jw_str(&w, "digest", SHA256_TEXT_OF(&d->digest));
	jw_str(&w, "output", d->made);
	jw_uint(&w, "bytes", most);
	workspaces_put_owner(&d->ws->user, &w);
	jw_end_obj(&w);
	return true;
}

void derive_begin(struct workspaces *ws, const struct sha256 *digest, struct slice report)
{
	_cleanup_(buf_done) struct buf job = { 0 };
	_cleanup_(freep) char *archive = NULL;
	uint64_t most = stream_max(report);
	struct archive_info info;
	struct derive *d;
	struct err e;

	if (ws->closing || ws->derive || most < DERIVE_BYTES_MIN ||
	    sha256_equal(digest, &ws->derive_failed) ||
	    !archive_find(ws->archives, digest, &info) || !info.whole || info.derived)
		return;
	d = new0(struct derive);
	d->ws = ws;
	d->digest = *digest;
	archive = archive_path(ws->archives, digest);
	if (plan(d, archive, most, &job))
		d->helper = helper_job_start(ws->loop, ws->procs,
					     &(struct helper_job_spec){ .verb = "inflate",
									.job = buf_slice(&job) },
					     &events, d, &e);
	if (d->helper)
		ws->derive = d;
	else
		derive_free(d);
}

void derive_stop(struct workspaces *ws)
{
	ws->closing = true;
	if (ws->derive)
		helper_job_abort(ws->derive->helper);
}

char *derive_source(struct workspaces *ws, const struct sha256 *digest, struct sha256 *file)
{
	struct archive_info info;

	*file = *digest;
	if (archive_find(ws->archives, digest, &info) && info.whole && info.derived) {
		*file = info.derived_digest;
		return archive_derived_path(ws->archives, digest);
	}
	return archive_path(ws->archives, digest);
}
