/*
 * feed.c - reads the packed bytes of an archive, and counts the unpacked ones against size and
 * ratio limits.
 *
 * pread leaves the descriptor's offset alone, so the same archive can be read in parts (zip
 * entries) or again. Every read also feeds the digest check (intact.h). The limits are checked
 * here, where the bytes are produced: a decompression bomb ends before its output reaches a parser
 * or the disk.
 */
#include "unpack/bytes/feed.h"

#include <errno.h>

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
static uint64_t most_by_ratio(const struct feed *f)
{
	uint64_t most;

	if (__builtin_mul_overflow(f->size + 1, f->limits.ratio, &most))
		return UINT64_MAX;
	return MAX(most - 1, (uint64_t)UNPACK_RATIO_FROM);
}

uint64_t feed_left(const struct feed *f)
{
	return MIN(f->limits.bytes, most_by_ratio(f)) - f->made;
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
