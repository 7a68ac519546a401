#include "unpack/snapshot/packfile.h"

#include "base/util.h"

#include <errno.h>
#include <sys/stat.h>
#include <zstd.h>

#define PIECE (128 * KIB)
#define LEVEL 1

void packfile_init(struct packfile *p, int fd, uint64_t end, uint64_t max)
{
	*p = (struct packfile){ .fd = fd, .end = end, .max = max };
}

void packfile_done(struct packfile *p)
{
	ZSTD_freeCCtx(p->deflate);
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

static int ready_deflate(struct packfile *p)
{
	if (p->deflate)
		return 0;
	p->deflate = ZSTD_createCCtx();
	if (!p->deflate || buf_reserve(&p->piece, PIECE) < 0)
		return -ENOMEM;
	ZSTD_CCtx_setParameter(p->deflate, ZSTD_c_compressionLevel, LEVEL);
	return 0;
}

static int put(struct packfile *p, size_t n, uint64_t *at)
{
	for (size_t done = 0; done < n;) {
		ssize_t w = pwrite(p->fd, p->piece.data + done, n - done, (off_t)(*at + done));

		if (w < 0 && errno != EINTR)
			return -errno;
		done += w > 0 ? (size_t)w : 0;
	}
	*at += n;
	return *at > p->max ? -EFBIG : 0;
}

static int append(struct packfile *p, struct slice content, uint64_t *at)
{
	ZSTD_inBuffer in = { content.p, content.n, 0 };
	size_t left;
	int r = 0;

	ZSTD_CCtx_reset(p->deflate, ZSTD_reset_session_only);
	ZSTD_CCtx_setPledgedSrcSize(p->deflate, content.n);
	do {
		ZSTD_outBuffer out = { p->piece.data, PIECE, 0 };

		left = ZSTD_compressStream2(p->deflate, &out, &in, ZSTD_e_end);
		r = ZSTD_isError(left) ? -ENOMEM : put(p, out.pos, at);
	} while (r == 0 && left);
	return r;
}

int packfile_append(struct packfile *p, struct slice content, struct index_entry *e)
{
	uint64_t at = p->end;
	int r = content.n ? ready_deflate(p) : 0;

	e->size = content.n;
	e->at = e->packed = 0;
	if (r < 0 || !content.n)
		return r;
	r = append(p, content, &at);
	if (r < 0) {
		/* if this fails, the next snapshot cuts off what is left after the end */
		return ftruncate(p->fd, (off_t)p->end) < 0 && r == -EFBIG ? -errno : r;
	}
	e->at = p->end;
	e->packed = at - p->end;
	p->end = at;
	return 0;
}

/* --- reading ----------------------------------------------------------------------------------------- */

static int ready_inflate(struct packfile *p)
{
	if (!p->inflate)
		p->inflate = ZSTD_createDCtx();
	return p->inflate && buf_reserve(&p->piece, PIECE) == 0 ? 0 : -ENOMEM;
}

static int inflate_piece(struct packfile *p, size_t n, ZSTD_outBuffer *out, size_t *left)
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

static int inflate_entry(struct packfile *p, const struct index_entry *e, char *to)
{
	ZSTD_outBuffer out = { to, e->size, 0 };
	size_t left = 1;

	ZSTD_DCtx_reset(p->inflate, ZSTD_reset_session_only);
	for (uint64_t done = 0; done < e->packed;) {
		size_t want = (size_t)MIN(e->packed - done, (uint64_t)PIECE);
		ssize_t got = pread(p->fd, p->piece.data, want, (off_t)(e->at + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EBADMSG;
		if (inflate_piece(p, (size_t)got, &out, &left) < 0)
			return -EBADMSG;
		done += (uint64_t)got;
	}
	return left || out.pos != e->size ? -EBADMSG : 0;
}

int packfile_read(struct packfile *p, const struct index_entry *e, struct buf *ret)
{
	struct sha256 digest;
	int r;

	buf_reset(ret);
	if (!e->size)
		return 0;
	ret->max = e->size; /* whatever it was used for before */
	if (buf_reserve(ret, e->size) < 0)
		return -ENOMEM;
	r = ready_inflate(p);
	if (r == 0)
		r = inflate_entry(p, e, ret->data);
	if (r < 0)
		return r;
	ret->len = e->size;
	sha256_of(buf_slice(ret), &digest);
	return sha256_equal(&digest, &e->digest) ? 0 : -EBADMSG;
}
