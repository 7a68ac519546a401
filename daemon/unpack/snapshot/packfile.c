/*
 * packfile.c - appends contents to the pack of a snapshot directory, and reads them back.
 *
 * Only the bytes up to the length that an index names belong to it. The bytes after them were left by a snapshot that
 * died before its index was in place; the next snapshot cuts them off, and readers ignore them.
 *
 * Nothing is overwritten: an index that is in place names only bytes before the end at which it was
 * written. So a snapshot that dies leaves a tail that no index refers to. A content that does not
 * shrink is written raw over its own frame. Every read verifies the SHA-256 of the content.
 */
#include "unpack/snapshot/packfile.h"

#include "base/os/file.h"
#include "base/util.h"

#include <zstd.h>

#define PIECE (128 * KIB)

#define LEVEL 1
#define LEAST 128 /* bytes: the frame of a smaller one saves nothing worth the time */
#define SAMPLE (64 * KIB)
#define SAVED_PART 8 /* a frame has to save one of so many bytes */

/* --- frames ------------------------------------------------------------------------------------------ */

/* zstd's context, ready for one more frame; NULL: no memory. */
static void *packer_ready(struct packer *p)
{
	if (!p->zstd) {
		p->zstd = ZSTD_createCCtx();
		if (p->zstd)
			ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_compressionLevel, LEVEL);
	} else {
		ZSTD_CCtx_reset(p->zstd, ZSTD_reset_session_only);
	}
	return p->zstd;
}

void packer_pack(struct packer *p, struct slice content, struct packed *ret)
{
	size_t room = content.n - content.n / SAVED_PART, n;

	ret->bytes = content;
	buf_reset(&ret->frame);
	ret->frame.max = SNAPSHOT_FILE_MAX;
	if (content.n < LEAST || !packer_ready(p) || buf_reserve(&ret->frame, room) < 0)
		return;
	n = ZSTD_compress2(p->zstd, ret->frame.data, room, content.p, content.n);
	if (ZSTD_isError(n)) /* does not fit */
		return;
	ret->frame.len = n;
	ret->bytes = buf_slice(&ret->frame);
}

/* Whether a frame would be worth it, by a part of the content. */
static bool packer_pays(struct packer *p, struct slice content)
{
	struct packed part = { .bytes = SLICE_NONE };
	bool pays;

	packer_pack(p, (struct slice){ content.p, MIN(content.n, (size_t)SAMPLE) }, &part);
	pays = part.frame.len > 0;
	buf_done(&part.frame);
	return pays;
}

void packer_done(struct packer *p)
{
	ZSTD_freeCCtx(p->zstd);
	p->zstd = NULL;
}

/* --- the file ---------------------------------------------------------------------------------------- */

void packfile_init(struct packfile *p, int fd, uint64_t end, uint64_t max)
{
	*p = (struct packfile){ .fd = fd, .end = end, .max = max };
}

void packfile_done(struct packfile *p)
{
	packer_done(&p->packer);
	ZSTD_freeDCtx(p->inflate);
	buf_done(&p->piece);
}

int packfile_cut(struct packfile *p)
{
	struct stat sb;

	if (fstat(p->fd, &sb) < 0)
		return -errno;
	if ((uint64_t)sb.st_size < p->end)
		return -EBADMSG;
	return ftruncate(p->fd, (off_t)p->end) < 0 ? -errno : 0;
}

/* --- writing ----------------------------------------------------------------------------------------- */

static int pack_put(struct packfile *p, struct slice bytes, uint64_t *at)
{
	int r = file_write_at(p->fd, bytes.p, bytes.n, *at);

	if (r < 0)
		return r;
	*at += bytes.n;
	return *at > p->max ? -EFBIG : 0;
}

/* Piece by piece: the frame of a large content must not stand beside it in memory. */
static int pack_put_frame(struct packfile *p, struct slice content, uint64_t *at)
{
	ZSTD_CCtx *zstd = packer_ready(&p->packer);
	ZSTD_inBuffer in = { content.p, content.n, 0 };
	size_t left = 1;
	int r = zstd && buf_reserve(&p->piece, PIECE) == 0 ? 0 : -ENOMEM;

	if (r == 0)
		ZSTD_CCtx_setPledgedSrcSize(zstd, content.n);
	while (r == 0 && left) {
		ZSTD_outBuffer out = { p->piece.data, PIECE, 0 };

		left = ZSTD_compressStream2(zstd, &out, &in, ZSTD_e_end);
		r = ZSTD_isError(left) ? -ENOMEM :
					 pack_put(p, (struct slice){ p->piece.data, out.pos }, at);
	}
	return r;
}

/* What was put, up to at, is the entry's, or is cut off again. */
static int pack_put_end(struct packfile *p, int r, uint64_t at, size_t n, struct index_entry *e)
{
	e->size = n;
	e->at = e->packed = 0;
	if (r < 0) {
		/* if this fails, the next snapshot cuts off what is left after the end */
		return ftruncate(p->fd, (off_t)p->end) < 0 && r == -EFBIG ? -errno : r;
	}
	if (n) {
		e->at = p->end;
		e->packed = at - p->end;
	}
	p->end = at;
	return 0;
}

int packfile_append_packed(struct packfile *p, struct slice packed, size_t n, struct index_entry *e)
{
	uint64_t at = p->end;
	int r = pack_put(p, packed, &at);

	return pack_put_end(p, r, at, n, e);
}

int packfile_append(struct packfile *p, struct slice content, struct index_entry *e)
{
	uint64_t at = p->end;
	int r = packer_pays(&p->packer, content) ? pack_put_frame(p, content, &at) : 0;

	/* it did not become smaller: as it is, over it */
	if ((r == 0 || r == -EFBIG) && (at == p->end || at - p->end >= content.n)) {
		at = p->end;
		r = pack_put(p, content, &at);
	}
	return pack_put_end(p, r, at, content.n, e);
}

/* --- reading ----------------------------------------------------------------------------------------- */

static int pack_inflate_piece(struct packfile *p, size_t n, ZSTD_outBuffer *out, size_t *left)
{
	ZSTD_inBuffer in = { p->piece.data, n, 0 };

	while (in.pos < in.size) {
		size_t in_before = in.pos, out_before = out->pos;

		*left = ZSTD_decompressStream(p->inflate, out, &in);
		if (ZSTD_isError(*left) || (in.pos == in_before && out->pos == out_before))
			return -EBADMSG;
	}
	return 0;
}

static int pack_inflate(struct packfile *p, const struct index_entry *e, char *to)
{
	ZSTD_outBuffer out = { to, e->size, 0 };
	size_t left = 1;

	ZSTD_DCtx_reset(p->inflate, ZSTD_reset_session_only);
	for (uint64_t done = 0; done < e->packed;) {
		size_t want = (size_t)MIN(e->packed - done, (uint64_t)PIECE);
		ssize_t got = RETRY(pread(p->fd, p->piece.data, want, (off_t)(e->at + done)));

		if (got <= 0)
			return got < 0 ? -errno : -EBADMSG;
		if (pack_inflate_piece(p, (size_t)got, &out, &left) < 0)
			return -EBADMSG;
		done += (uint64_t)got;
	}
	return left || out.pos != e->size ? -EBADMSG : 0;
}

static int pack_check(const struct index_entry *e, const char *content)
{
	struct sha256 digest;

	sha256_of((struct slice){ content, e->size }, &digest);
	return sha256_equal(&digest, &e->digest) ? 0 : -EBADMSG;
}

static int pack_read_frame(struct packfile *p, const struct index_entry *e, char *to)
{
	int r;

	if (!p->inflate)
		p->inflate = ZSTD_createDCtx();
	if (!p->inflate || buf_reserve(&p->piece, PIECE) < 0)
		return -ENOMEM;
	r = pack_inflate(p, e, to);
	return r < 0 ? r : pack_check(e, to);
}

static int pack_read(struct packfile *p, const struct index_entry *e, char *to)
{
	int r = -EBADMSG;

	if (e->packed == e->size) {
		r = file_read_at(p->fd, to, e->size, e->at);
		if (r == 0)
			r = pack_check(e, to);
	}
	return r == -EBADMSG ? pack_read_frame(p, e, to) : r;
}

int packfile_read(struct packfile *p, const struct index_entry *e, struct buf *ret)
{
	int r;

	buf_reset(ret);
	if (!e->size)
		return 0;
	ret->max = e->size; /* whatever it was used for before */
	if (buf_reserve(ret, e->size) < 0)
		return -ENOMEM;
	r = pack_read(p, e, ret->data);
	if (r == 0)
		ret->len = e->size;
	return r;
}
