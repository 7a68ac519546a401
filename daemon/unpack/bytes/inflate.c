#include "unpack/bytes/inflate.h"

#include <errno.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#define GZIP_TEXT_MAX (64 * KIB) /* of a name or a comment in a header */

enum gzip_flag { GZ_HCRC = 2, GZ_EXTRA = 4, GZ_NAME = 8, GZ_COMMENT = 16, GZ_RESERVED = 0xe0 };

int inflate_plain(void *feed, struct ring *r)
{
	struct feed *f = feed;
	ssize_t n;

	while ((n = feed_fill(f)) > 0) {
		size_t room;
		uint8_t *to = ring_space(r, &room);
		size_t take = MIN((size_t)n, room);

		if (!to)
			return 0;
		memcpy(to, f->in + f->at, take);
		f->at += take;
		ring_put(r, take);
	}
	return (int)n;
}

/* --- gzip ------------------------------------------------------------------------------------------------ */

static int header_byte(struct feed *f, uLong *crc)
{
	int c = feed_byte(f);
	Bytef b = (Bytef)c;

	if (c >= 0)
		*crc = crc32(*crc, &b, 1);
	return c;
}

/* n little-endian bytes. */
static int64_t header_number(struct feed *f, uLong *crc, unsigned n)
{
	int64_t v = 0;

	for (unsigned i = 0; i < n; i++) {
		int c = header_byte(f, crc);

		if (c < 0)
			return c;
		v |= (int64_t)c << (8 * i);
	}
	return v;
}

static int skip_text(struct feed *f, uLong *crc)
{
	size_t n = 0;
	int c;

	while ((c = header_byte(f, crc)) > 0)
		if (++n > GZIP_TEXT_MAX)
			return refuse_over(&f->v, "HEADER_TOO_LARGE", NULL, GZIP_TEXT_MAX, n,
					   "bytes of a name or comment in a gzip header");
	return c;
}

static int skip_extra(struct feed *f, uLong *crc)
{
	int64_t n = header_number(f, crc, 2);

	while (n > 0) {
		int c = header_byte(f, crc);

		if (c < 0)
			return c;
		n--;
	}
	return (int)n;
}

static int gzip_header(struct feed *f)
{
	uLong crc = crc32(0, NULL, 0);
	int64_t head = header_number(f, &crc, 4), rest, want;
	unsigned flags = (unsigned)(head >> 24) & 0xff;
	int r = 0;

	if (head < 0)
		return (int)head;
	if ((head & 0xffff) != 0x8b1f || ((head >> 16) & 0xff) != Z_DEFLATED || flags & GZ_RESERVED)
		return refuse(&f->v, "ARCHIVE_DAMAGED", NULL, "the gzip header is not one");
	rest = header_number(f, &crc, 6); /* time, level, system */
	if (rest < 0)
		return (int)rest;
	if (flags & GZ_EXTRA)
		r = skip_extra(f, &crc);
	if (r == 0 && flags & GZ_NAME)
		r = skip_text(f, &crc);
	if (r == 0 && flags & GZ_COMMENT)
		r = skip_text(f, &crc);
	if (r < 0 || !(flags & GZ_HCRC))
		return r;
	want = (int64_t)(crc & 0xffff);
	rest = header_number(f, &crc, 2);
	if (rest >= 0 && rest != want)
		return refuse(&f->v, "CRC_MISMATCH", NULL, "the CRC of a gzip header is wrong");
	return rest < 0 ? (int)rest : 0;
}

/* One deflate stream; 1: the consumer needs no more. */
static int gzip_body(struct feed *f, struct ring *r, z_stream *z, uLong *crc, uint32_t *size)
{
	int code = Z_OK;

	*crc = crc32(0, NULL, 0);
	*size = 0;
	while (code != Z_STREAM_END) {
		size_t room, made;
		uint8_t *to = ring_space(r, &room);
		ssize_t n = feed_fill(f);

		if (!to || n < 0)
			return to ? (int)n : 1;
		if (n == 0)
			return refuse(&f->v, "ARCHIVE_TRUNCATED", NULL,
				      "the gzip stream ends too early");
		z->next_in = f->in + f->at;
		z->avail_in = (uInt)n;
		z->next_out = to;
		z->avail_out = (uInt)room;
		code = inflate(z, Z_NO_FLUSH);
		if (code != Z_OK && code != Z_STREAM_END)
			return refuse(&f->v, "ARCHIVE_DAMAGED", NULL,
				      "the gzip stream is damaged: %s",
				      z->msg ? z->msg : "it needs a dictionary");
		f->at = f->have - z->avail_in;
		made = room - z->avail_out;
		*crc = crc32(*crc, to, (uInt)made);
		*size += (uint32_t)made;
		if (feed_made(f, made) < 0)
			return -EBADMSG;
		ring_put(r, made);
	}
	return 0;
}

static int gzip_trailer(struct feed *f, uLong crc, uint32_t size)
{
	uLong ignored = 0;
	int64_t said_crc = header_number(f, &ignored, 4), said_size;

	said_size = said_crc < 0 ? said_crc : header_number(f, &ignored, 4);
	if (said_size < 0)
		return (int)said_size;
	if ((uint32_t)said_crc != (uint32_t)crc)
		return refuse(&f->v, "CRC_MISMATCH", NULL, "the CRC of the gzip stream is wrong");
	if ((uint32_t)said_size != size)
		return refuse(&f->v, "SIZE_MISMATCH", NULL,
			      "the size in the gzip trailer is wrong");
	return 0;
}

/* Reads what follows a member. 1: another one. */
static int gzip_next(struct feed *f)
{
	ssize_t n = feed_fill(f);

	if (n > 0 && f->in[f->at] == 0x1f)
		return 1;
	for (; n > 0; n = feed_fill(f))
		while (f->at < f->have)
			if (f->in[f->at++] != 0)
				return refuse(&f->v, "TRAILING_DATA", NULL,
					      "something follows the gzip stream");
	return (int)n;
}

int inflate_gzip(void *feed, struct ring *r)
{
	struct feed *f = feed;
	z_stream z = { 0 };
	uint32_t size = 0;
	uLong crc = 0;
	int result;

	if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
		return fail_with(&f->v, -ENOMEM, NULL, "inflating");
	do {
		inflateReset(&z);
		result = gzip_header(f);
		if (result == 0)
			result = gzip_body(f, r, &z, &crc, &size);
		if (result == 0)
			result = gzip_trailer(f, crc, size);
		else if (result > 0)
			break;
		if (result == 0)
			result = gzip_next(f);
	} while (result > 0);
	inflateEnd(&z);
	return result < 0 ? -EBADMSG : 0;
}

/* --- zstd ------------------------------------------------------------------------------------------------- */

static const struct {
	ZSTD_ErrorCode code;
	const char *reason, *message;
} zstd_faults[] = {
	{ ZSTD_error_frameParameter_windowTooLarge, "ZSTD_WINDOW_TOO_LARGE",
	  "the window of the zstd frame is larger than 8 MiB" },
	{ ZSTD_error_dictionary_wrong, "ZSTD_DICTIONARY", "the zstd frame needs a dictionary" },
	{ ZSTD_error_checksum_wrong, "CRC_MISMATCH", "the checksum of a zstd frame is wrong" },
};

static int zstd_fault(struct feed *f, size_t code, bool between)
{
	ZSTD_ErrorCode error = ZSTD_getErrorCode(code);

	if (between && error == ZSTD_error_prefix_unknown)
		return refuse(&f->v, "TRAILING_DATA", NULL, "something follows the zstd stream");
	for (size_t i = 0; i < ARRAY_SIZE(zstd_faults); i++)
		if (zstd_faults[i].code == error)
			return refuse(&f->v, zstd_faults[i].reason, NULL, "%s",
				      zstd_faults[i].message);
	return refuse(&f->v, "ARCHIVE_DAMAGED", NULL, "the zstd stream is damaged: %s",
		      ZSTD_getErrorName(code));
}

static int zstd_frames(struct feed *f, struct ring *r, ZSTD_DCtx *d)
{
	bool between = false, more = false;

	for (;;) {
		ZSTD_inBuffer in = { f->in, 0, 0 };
		ZSTD_outBuffer out = { NULL, 0, 0 };
		ssize_t n = more ? 0 : feed_fill(f);
		size_t code;

		if (n < 0)
			return (int)n;
		if (n == 0 && !more)
			return between ? 0 :
					 refuse(&f->v, "ARCHIVE_TRUNCATED", NULL,
						"the zstd stream ends too early");
		out.dst = ring_space(r, &out.size);
		if (!out.dst)
			return 0;
		in.pos = f->at;
		in.size = f->have;
		code = ZSTD_decompressStream(d, &out, &in);
		if (ZSTD_isError(code))
			return zstd_fault(f, code, between);
		f->at = in.pos;
		between = code == 0;
		more = !between && out.pos == out.size; /* it may still have bytes */
		if (feed_made(f, out.pos) < 0)
			return -EBADMSG;
		ring_put(r, out.pos);
	}
}

int inflate_zstd(void *feed, struct ring *r)
{
	struct feed *f = feed;
	ZSTD_DCtx *d = ZSTD_createDCtx();
	int result;

	if (!d)
		return fail_with(&f->v, -ENOMEM, NULL, "unpacking zstd");
	ZSTD_DCtx_setParameter(d, ZSTD_d_windowLogMax, UNPACK_ZSTD_WINDOW_LOG);
	result = zstd_frames(f, r, d);
	ZSTD_freeDCtx(d);
	return result;
}
