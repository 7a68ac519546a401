/*
 * source.c - a tar as a stream of bytes: the producers that turn a tar, tar.gz or tar.zst into the bytes of the tar, on
 * a ring's thread, and the source that reads them.
 *
 * gzip: we read every member's header (all its flags, and its CRC), and compare CRC32 and size of its trailer. Members
 * follow one another; after the last one there may only be zero bytes. The framing (RFC 1952) is parsed here and not by
 * zlib, because zlib does not report everything that must be refused: reserved flags, a wrong header CRC, data after the
 * last member. zstd: frames and skippable frames follow one another, with nothing else; checksums are verified; windows
 * are at most UNPACK_ZSTD_WINDOW_LOG; no dictionary. One layer only: the bytes that come out are not inspected.
 *
 * A producer returns 0, not an error, when the consumer stops early: then ring_space returns NULL. Its errors are in the
 * feed's verdict. They are copied to the job's verdict only when the consumer has consumed all bytes before them, and
 * only if it has none: a rule broken by earlier bytes is the reason that is reported.
 */
#include "unpack/bytes/source.h"

#include "unpack/bytes/inflater.h"

#include <zstd.h>
#include <zstd_errors.h>

#define GZIP_TEXT_MAX (64 * KIB) /* of a name or a comment in a header */

#define GZ_DEFLATED 8

enum gzip_flag { GZ_HCRC = 2, GZ_EXTRA = 4, GZ_NAME = 8, GZ_COMMENT = 16, GZ_RESERVED = 0xe0 };

/* --- plain ------------------------------------------------------------------------------------------------ */

static int inflate_plain(void *feed, struct ring *r)
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

/* One member after the other. */
struct gzip {
	struct feed *f;
	struct ring *r;
	struct deflated d;
	uint32_t crc; /* of the header */
};

static int gzip_byte(struct gzip *g)
{
	int c = feed_byte(g->f);
	uint8_t b = (uint8_t)c;

	if (c >= 0)
		g->crc = g->d.i.ops->crc(g->crc, &b, 1);
	return c;
}

/* n little-endian bytes. */
static int64_t gzip_number(struct gzip *g, unsigned n)
{
	int64_t v = 0;

	for (unsigned i = 0; i < n; i++) {
		int c = gzip_byte(g);

		if (c < 0)
			return c;
		v |= (int64_t)c << (8 * i);
	}
	return v;
}

static int gzip_skip_text(struct gzip *g)
{
	size_t n = 0;
	int c;

	while ((c = gzip_byte(g)) > 0)
		if (++n > GZIP_TEXT_MAX)
			return refuse_over(&g->f->v, "HEADER_TOO_LARGE", NULL, GZIP_TEXT_MAX, n,
					   "bytes of a name or comment in a gzip header");
	return c;
}

static int gzip_skip_extra(struct gzip *g)
{
	int64_t n = gzip_number(g, 2);

	while (n > 0) {
		int c = gzip_byte(g);

		if (c < 0)
			return c;
		n--;
	}
	return (int)n;
}

static int gzip_check_crc(struct gzip *g)
{
	int64_t want = (int64_t)(g->crc & 0xffff), said = gzip_number(g, 2);

	if (said >= 0 && said != want)
		return refuse(&g->f->v, "CRC_MISMATCH", NULL, "the CRC of a gzip header is wrong");
	return said < 0 ? (int)said : 0;
}

static int gzip_header(struct gzip *g)
{
	int64_t head, rest;
	unsigned flags;
	int r = 0;

	g->crc = 0;
	head = gzip_number(g, 4);
	flags = (unsigned)(head >> 24) & 0xff;
	if (head < 0)
		return (int)head;
	if ((head & 0xffff) != 0x8b1f || ((head >> 16) & 0xff) != GZ_DEFLATED ||
	    flags & GZ_RESERVED)
		return refuse(&g->f->v, "ARCHIVE_DAMAGED", NULL, "the gzip header is not one");
	rest = gzip_number(g, 6); /* time, level, system */
	if (rest < 0)
		return (int)rest;
	if (flags & GZ_EXTRA)
		r = gzip_skip_extra(g);
	if (r == 0 && flags & GZ_NAME)
		r = gzip_skip_text(g);
	if (r == 0 && flags & GZ_COMMENT)
		r = gzip_skip_text(g);
	return r < 0 || !(flags & GZ_HCRC) ? r : gzip_check_crc(g);
}

/* One deflate stream; 1: the consumer needs no more. */
static int gzip_body(struct gzip *g)
{
	struct feed *f = g->f;
	uint64_t most = feed_left(f);

	switch (deflated_read(&g->d, f, g->r, most)) {
	case DEFLATED_WHOLE:
		return 0;
	case DEFLATED_LEFT:
		return 1;
	case DEFLATED_REFUSED:
		return -EBADMSG;
	case DEFLATED_LONG:
		return feed_made(f, 1);
	case DEFLATED_CUT:
		return refuse(&f->v, "ARCHIVE_TRUNCATED", NULL, "the gzip stream ends too early");
	default:
		return refuse(&f->v, "ARCHIVE_DAMAGED", NULL, "the gzip stream is damaged");
	}
}

static int gzip_trailer(struct gzip *g)
{
	int64_t said_crc = gzip_number(g, 4), said_size;

	said_size = said_crc < 0 ? said_crc : gzip_number(g, 4);
	if (said_size < 0)
		return (int)said_size;
	if ((uint32_t)said_crc != g->d.crc)
		return refuse(&g->f->v, "CRC_MISMATCH", NULL,
			      "the CRC of the gzip stream is wrong");
	if ((uint32_t)said_size != (uint32_t)g->d.made)
		return refuse(&g->f->v, "SIZE_MISMATCH", NULL,
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

static int inflate_gzip(void *feed, struct ring *r)
{
	struct gzip g = { .f = feed, .r = r };
	int result;

	if (inflater_open(&g.d.i, inflater_choose()) < 0)
		return fail_with(&g.f->v, -ENOMEM, NULL, "inflating");
	do {
		result = gzip_header(&g);
		if (result == 0)
			result = gzip_body(&g);
		if (result == 0)
			result = gzip_trailer(&g);
		else if (result > 0)
			break;
		if (result == 0)
			result = gzip_next(g.f);
	} while (result > 0);
	inflater_close(&g.d.i);
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

static int inflate_zstd(void *feed, struct ring *r)
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

/* --- the source ------------------------------------------------------------------------------------------- */

struct source {
	struct ring *ring;
	struct verdict *v;
	struct feed feed;
};

/* The producer starts at once, and waits when the ring is full. */
int source_open(int fd, enum archive_format format, struct feed_limits limits,
		struct intact *intact, struct source **ret, struct verdict *v)
{
	static const ring_producer_fn producers[] = {
		[ARCHIVE_TAR] = inflate_plain,
		[ARCHIVE_TAR_GZ] = inflate_gzip,
		[ARCHIVE_TAR_ZST] = inflate_zstd,
	};
	struct source *s;
	struct stat sb;

	if (fstat(fd, &sb) < 0)
		return fail_with(v, -errno, NULL, "reading the archive");
	s = new0(struct source);
	s->v = v;
	feed_init(&s->feed, fd, (uint64_t)sb.st_size, limits);
	s->feed.intact = intact;
	s->ring = ring_start(producers[format], &s->feed);
	if (!s->ring) {
		source_close(s);
		return fail_with(v, -EAGAIN, NULL, "starting a thread");
	}
	*ret = s;
	return 0;
}

void source_close(struct source *s)
{
	if (!s)
		return;
	ring_stop(s->ring);
	free(s);
}

ssize_t source_peek(struct source *s, const uint8_t **p)
{
	ssize_t n = ring_peek(s->ring, p);

	if (n < 0 && s->v->kind == VERDICT_NONE)
		*s->v = s->feed.v;
	return n;
}

void source_take(struct source *s, size_t n)
{
	ring_take(s->ring, n);
}

void source_sums(struct source *s, struct sums *sums)
{
	ring_sums(s->ring, sums);
}

ssize_t source_read(struct source *s, void *to, size_t n)
{
	size_t done = 0;

	while (done < n) {
		const uint8_t *p;
		ssize_t have = source_peek(s, &p);
		size_t take = MIN((size_t)have, n - done);

		if (have <= 0)
			return have < 0 ? have : (ssize_t)done;
		memcpy((uint8_t *)to + done, p, take);
		source_take(s, take);
		done += take;
	}
	return (ssize_t)done;
}

int source_skip(struct source *s, uint64_t n)
{
	while (n) {
		const uint8_t *p;
		ssize_t have = source_peek(s, &p);
		size_t take = (size_t)MIN((uint64_t)have, n);

		if (have == 0)
			return refuse(s->v, "ARCHIVE_TRUNCATED", NULL,
				      "the archive ends within an entry");
		if (have < 0)
			return (int)have;
		source_take(s, take);
		n -= take;
	}
	return 0;
}
