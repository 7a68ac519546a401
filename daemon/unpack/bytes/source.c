/*
 * source.c - a tar as a stream of bytes: selects the producer for the format and runs it behind a
 * ring.
 *
 * Errors of the inflating thread are in the feed's verdict. They are copied to the job's verdict
 * only when the consumer reaches them, and only if it has none: a rule broken by earlier bytes is
 * the reason that is reported.
 */
#include "unpack/bytes/source.h"

#include "unpack/bytes/inflate.h"

#include <errno.h>
#include <sys/stat.h>

struct source {
	struct ring *ring;
	struct verdict *v;
	struct feed feed;
};

int source_open(int fd, enum source_format format, struct feed_limits limits, struct intact *intact,
		struct source **ret, struct verdict *v)
{
	static const ring_producer_fn producers[] = {
		[FORMAT_TAR] = inflate_plain,
		[FORMAT_TAR_GZ] = inflate_gzip,
		[FORMAT_TAR_ZST] = inflate_zstd,
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
