/*
 * feed.c - reads the packed bytes of an archive, and counts the unpacked ones against size and
 * ratio limits.
 *
 * Only the inflating thread uses a feed. Its verdict becomes the job's once the consumer has taken all bytes that were
 * made before (source.h, zip.c). It checks ratio and size where the bytes are made, so a bomb ends before its bytes are
 * used. The ratio is that of all bytes made to the size of the whole archive, checked once UNPACK_RATIO_FROM bytes are
 * out.
 *
 * pread leaves the descriptor's offset alone, so the same archive can be read in parts (zip
 * entries) or again. Every read also feeds the digest check (feed.h). The limits are checked
 * here, where the bytes are produced: a decompression bomb ends before its output reaches a parser
 * or the disk.
 *
 * An archive file is read with the check that it still has the digest that names it. What unpacking skipped, and a zip, whose
 * pieces are read in another order, is read for the hash at the end. Nothing is committed before.
 */
#include "unpack/bytes/feed.h"

/* --- the digest of the file ---------------------------------------------------------------------------- */

#define PIECE (256 * KIB)

void intact_begin(struct intact *i, const struct sha256 *want)
{
	i->want = *want;
	i->at = 0;
	sha256_begin(&i->sum);
}

/* Bytes at offset. Those that do not continue what is hashed are left for the end. */
static void intact_add(struct intact *i, const void *p, size_t n, uint64_t offset)
{
	if (offset != i->at)
		return;
	sha256_add(&i->sum, p, n);
	i->at += n;
}

static int intact_hash_rest(struct intact *i, int fd, struct verdict *v)
{
	_cleanup_(freep) char *piece = xalloc(PIECE);
	ssize_t n;

	while ((n = RETRY(pread(fd, piece, PIECE, (off_t)i->at))) != 0) {
		if (n < 0)
			return fail_with(v, -errno, NULL, "reading the archive");
		intact_add(i, piece, (size_t)n, i->at);
	}
	return 0;
}

int intact_end(struct intact *i, int fd, int r, struct verdict *v)
{
	struct sha256 got;
	int read;

	/* a failure of the machine does not prove that the archive is damaged */
	if (r < 0 && v->kind != VERDICT_REFUSED)
		return r;
	read = intact_hash_rest(i, fd, v);
	sha256_end(&i->sum, &got);
	if (read < 0)
		return read;
	if (sha256_equal(&got, &i->want))
		return r;
	v->kind = VERDICT_NONE;
	v->has_limit = false;
	r = refuse(v, "ARCHIVE_DAMAGED", NULL,
		   "the stored archive is not as it was uploaded: its SHA-256 is another one");
	sha256_text(&i->want, v->digest);
	return r;
}

/* --- its bytes ------------------------------------------------------------------------------------------- */

void feed_init(struct feed *f, int fd, uint64_t size, struct feed_limits limits)
{
	f->fd = fd;
	f->size = size;
	f->made = 0;
	f->limits = limits;
	f->v.kind = VERDICT_NONE;
	f->v.has_limit = false;
	f->intact = NULL;
	feed_part(f, 0, size);
}

void feed_part(struct feed *f, uint64_t pos, uint64_t n)
{
	f->pos = pos;
	f->end = pos + n;
	f->at = f->have = 0;
}

ssize_t feed_fill(struct feed *f)
{
	size_t n = (size_t)MIN(f->end - f->pos, sizeof(f->in));
	ssize_t got;

	if (f->at < f->have || !n)
		return (ssize_t)(f->have - f->at);
	got = RETRY(pread(f->fd, f->in, n, (off_t)f->pos));
	if (got < 0)
		return fail_with(&f->v, -errno, NULL, "reading the archive");
	if (f->intact)
		intact_add(f->intact, f->in, (size_t)got, f->pos);
	f->at = 0;
	f->have = (size_t)got;
	f->pos += (uint64_t)got;
	return got;
}

int feed_byte(struct feed *f)
{
	ssize_t n = feed_fill(f);

	if (n < 0)
		return (int)n;
	if (n == 0) {
		refuse(&f->v, "ARCHIVE_TRUNCATED", NULL, "the compressed stream ends too early");
		return -ENODATA;
	}
	return f->in[f->at++];
}

/* As many as the ratio allows: once more than that are out, they are too many for the archive's size. */
static uint64_t feed_most_by_ratio(const struct feed *f)
{
	uint64_t most;

	if (__builtin_mul_overflow(f->size + 1, f->limits.ratio, &most))
		return UINT64_MAX;
	return MAX(most - 1, (uint64_t)UNPACK_RATIO_FROM);
}

uint64_t feed_left(const struct feed *f)
{
	return MIN(f->limits.bytes, feed_most_by_ratio(f)) - f->made;
}

int feed_made(struct feed *f, size_t n)
{
	f->made += n;
	if (f->made > f->limits.bytes)
		return refuse_over(&f->v, "TOO_LARGE", NULL, f->limits.bytes, f->made,
				   "unpacked bytes");
	if (f->made > UNPACK_RATIO_FROM && f->made / f->limits.ratio > f->size)
		return refuse_over(&f->v, "RATIO_TOO_HIGH", NULL, f->limits.ratio,
				   f->made / (f->size ? f->size : 1),
				   "unpacked bytes for each packed byte");
	return 0;
}
