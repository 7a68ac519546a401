/*
 * archive_store.h - the store of uploaded archives: files named by the SHA-256 of their bytes, in <state>/archives.
 *
 *   <hex>        a whole archive whose hash was right. Mode 0400 once it is known to be on disk (below).
 *   <hex>.part   an upload that is not finished; it can be resumed, also by a later daemon.
 *   <hex>.<hex>.tar    a file derived from an archive (its decompressed stream), and its own SHA-256; made by the
 *                workspace layer, counted and evicted by the store.
 *
 * There may also be a directory of baked archives, each named <hex>. They are found like the others, and never written,
 * counted or deleted.
 *
 * Errors are struct err with these reasons: ARCHIVE_NOT_FOUND, ARCHIVE_IN_USE, ARCHIVE_BAKED, ARCHIVE_TOO_LARGE,
 * STORE_FULL, NO_SPACE, OFFSET_MISMATCH, UPLOAD_IN_PROGRESS, UPLOAD_TAKEN_OVER, TOO_MANY_UPLOADS, DIGEST_MISMATCH,
 * FORMAT_UNKNOWN, FORMAT_MISMATCH, STORE_FAILED.
 */
#pragma once

#include "tree/archive_format.h"
#include "base/err.h"
#include "base/slice.h"
#include "digest/digest.h"
#include "loop/loop.h"

struct archive_store;

struct archive_config {
	const char *dir, *baked; /* baked: may be NULL */
	uint64_t store_max, upload_max;
};

struct archive_store *archive_store_open(struct loop *loop, const struct archive_config *cfg,
					 struct err *e);
/* Before the first upload. */
void archive_store_limit(struct archive_store *s, uint64_t store_max, uint64_t upload_max);
/* Ends all uploads; the bytes that they have are written first. */
struct archive_store *archive_store_close(struct archive_store *s);

/* --- what is there ---------------------------------------------------------------------------------------- */

struct archive_info {
	char hex[SHA256_HEX];
	bool whole;	  /* the archive is there; else only a part of it */
	bool baked;	  /* by the image, not in the store */
	uint64_t size;	  /* whole */
	uint64_t partial; /* bytes of an unfinished upload; the next has this number */
	uint64_t derived; /* bytes of the derived file; 0: none */
	struct sha256 derived_digest;
	uint64_t used_ms; /* last use, wall clock; 0 if baked */
	unsigned pins;
};

/* False: the store has nothing of it, not even a part. */
bool archive_find(struct archive_store *s, const struct sha256 *d, struct archive_info *ret);
/* All of them, in no order; fn returns false to stop. It must not change the store. */
void archive_each(struct archive_store *s, bool (*fn)(void *ctx, const struct archive_info *i),
		  void *ctx);
/* Bytes the store counts, and its limit. */
uint64_t archive_store_used(const struct archive_store *s);
uint64_t archive_store_max(const struct archive_store *s);

/* --- using it ----------------------------------------------------------------------------------------------- */

/* A pinned archive (and its derived file) is neither evicted nor deleted. Counted: each pin needs its unpin. -ENOENT
 * with ARCHIVE_NOT_FOUND unless it is whole. Counts as a use. */
int archive_pin(struct archive_store *s, const struct sha256 *d, struct err *e);
void archive_unpin(struct archive_store *s, const struct sha256 *d);
/* The path of a whole archive; NULL: there is none. The caller frees. Valid while the archive is pinned. */
char *archive_path(struct archive_store *s, const struct sha256 *d);
/* The path of its derived file; NULL: there is none. The caller frees. */
char *archive_derived_path(struct archive_store *s, const struct sha256 *d);
/* The path at which to write a derived file before it is put in place. The caller frees. */
char *archive_derived_temp(const struct archive_store *s);
/* Makes room for a derived file of so many bytes, before it is written: 0, or -ENOSPC with STORE_FULL or NO_SPACE. */
int archive_derived_reserve(struct archive_store *s, uint64_t bytes, struct err *e);
/* The file at archive_derived_temp, whose digest is given, becomes the derived file. */
int archive_derived_keep(struct archive_store *s, const struct sha256 *d,
			 const struct sha256 *digest);
/* Removes the archive, or its derived file if file is the digest of that: it was read, and its bytes have another
 * digest. */
void archive_damaged(struct archive_store *s, const struct sha256 *d, const struct sha256 *file);
/* How often that has happened. */
uint64_t archive_damaged_count(const struct archive_store *s);
/* Called for each damaged archive: its name, and a text. */
typedef void (*archive_problem_fn)(void *ctx, const char *name, const char *text);
void archive_on_problem(struct archive_store *s, archive_problem_fn fn, void *ctx);
/* Opens a whole archive for reading and marks it as used; the descriptor, or -ENOENT. */
int archive_open(struct archive_store *s, const struct sha256 *d);
/* Deletes it, whole or not. -ENOENT ARCHIVE_NOT_FOUND, -EBUSY ARCHIVE_IN_USE (pinned) or UPLOAD_IN_PROGRESS, -EPERM
 * ARCHIVE_BAKED. */
int archive_delete(struct archive_store *s, const struct sha256 *d, struct err *e);

/* --- uploading ---------------------------------------------------------------------------------------------- */

#define ARCHIVE_SIZE_UNKNOWN UINT64_MAX

struct archive_upload {
	struct sha256 digest;
	uint64_t offset; /* of the first byte that will come */
	bool resume;	 /* false: an existing part is thrown away, and offset is 0 */
	uint64_t total;	 /* of the whole archive, or ARCHIVE_SIZE_UNKNOWN */
	enum archive_format format;
};

enum archive_writer_state {
	ARCHIVE_OPEN,	/* takes bytes */
	ARCHIVE_FULL,	/* has taken enough for now: wake will be called */
	ARCHIVE_BUSY,	/* finishing: wake will be called */
	ARCHIVE_DONE,	/* the archive is in the store */
	ARCHIVE_FAILED, /* see archive_writer_error */
};

struct archive_writer;

/* NULL with e filled. With OFFSET_MISMATCH, archive_find gives the right offset. A digest has one upload at a time: a
 * second is refused (UPLOAD_IN_PROGRESS) unless the first has been silent for ARCHIVE_TAKEOVER_MS; then the first fails
 * with UPLOAD_TAKEN_OVER. wake is never called from inside a function of this header. */
struct archive_writer *archive_writer_open(struct archive_store *s,
					   const struct archive_upload *upload,
					   void (*wake)(void *ctx), void *ctx, struct err *e);
/* Copies all of it, also when FULL: the caller should then wait with the next piece. */
enum archive_writer_state archive_writer_add(struct archive_writer *w, struct slice piece);
/* The archive has no more bytes. */
enum archive_writer_state archive_writer_finish(struct archive_writer *w);
enum archive_writer_state archive_writer_state(const struct archive_writer *w);
/* Number of bytes of the archive that the store has, of this and earlier uploads. */
uint64_t archive_writer_offset(const struct archive_writer *w);
const struct err *archive_writer_error(const struct archive_writer *w);
/* The caller needs it no more; NULL is fine. An unfinished upload can be resumed, a finishing one goes on. */
void archive_writer_release(struct archive_writer *w);
