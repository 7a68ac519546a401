/*
 * inflater.c - raw deflate by zlib, the choice between the two libraries, and whole streams by either.
 *
 * zlib is what every verdict rests on: inflater_isal.c asks it about each block, so both give the same answer after the
 * same byte. Whatever is right in a stream is passed on before its fault is reported: what a consumer sees of a bad
 * stream depends on the stream alone, not on the sizes of the buffers.
 */
#include "unpack/bytes/inflater.h"

/* --- zlib ------------------------------------------------------------------------------------------------- */

int inflater_zlib_call(z_stream *z, struct inflater_io *io, int flush)
{
	int code;

	z->next_in = (Bytef *)io->in;
	z->avail_in = (uInt)io->in_n;
	z->next_out = io->out;
	z->avail_out = (uInt)io->out_n;
	code = inflate(z, flush);
	*io = (struct inflater_io){ z->next_in, z->avail_in, z->next_out, z->avail_out };
	return code;
}

enum inflated inflater_zlib_step(void *z, struct inflater_io *io)
{
	int code = inflater_zlib_call(z, io, Z_NO_FLUSH);

	if (code == Z_STREAM_END)
		return INFLATED_END;
	/* Z_BUF_ERROR: nothing could be made of that input */
	return code == Z_OK || code == Z_BUF_ERROR ? INFLATED_MORE : INFLATED_DAMAGED;
}

static void *zlib_make(void)
{
	z_stream *z = new0(z_stream);

	if (inflateInit2(z, -MAX_WBITS) == Z_OK)
		return z;
	free(z);
	return NULL;
}

static void zlib_reset(void *state)
{
	inflateReset(state);
}

static void zlib_free(void *state)
{
	inflateEnd(state);
	free(state);
}

static uint32_t zlib_crc(uint32_t crc, const void *p, size_t n)
{
	return (uint32_t)crc32(crc, p, (uInt)n);
}

const struct inflater_ops inflater_zlib = {
	.name = "zlib",
	.make = zlib_make,
	.reset = zlib_reset,
	.step = inflater_zlib_step,
	.free = zlib_free,
	.crc = zlib_crc,
};

/* --- either ----------------------------------------------------------------------------------------------- */

const struct inflater_ops *inflater_choose(void)
{
	const char *wanted = getenv("ACPD_INFLATE");

	if (wanted && strcmp(wanted, inflater_zlib.name) == 0)
		return &inflater_zlib;
	return &inflater_isal && inflater_isal.usable() ? &inflater_isal : &inflater_zlib;
}

int inflater_open(struct inflater *i, const struct inflater_ops *ops)
{
	i->ops = ops;
	i->state = ops->make();
	return i->state ? 0 : -ENOMEM;
}

void inflater_close(struct inflater *i)
{
	if (i->state)
		i->ops->free(i->state);
	i->state = NULL;
}

/* --- whole streams ---------------------------------------------------------------------------------------- */

static int deflated_take(struct deflated *d, struct feed *f, struct ring *r, const uint8_t *p,
			 size_t n)
{
	if (feed_made(f, n) < 0)
		return -1;
	d->crc = d->i.ops->crc(d->crc, p, n);
	d->made += n;
	ring_put(r, n);
	return 0;
}

/* One step; its answer, if it was not the last one, is *more. */
static enum deflated_end deflated_step(struct deflated *d, struct feed *f, struct ring *r,
				       uint64_t most, bool *more)
{
	size_t room, made;
	uint8_t spare, *to = ring_space(r, &room);
	ssize_t n = feed_fill(f);
	struct inflater_io io;
	enum inflated done;

	if (!to || n < 0)
		return to ? DEFLATED_REFUSED : DEFLATED_LEFT;
	room = (size_t)MIN((uint64_t)room, most - d->made);
	/* one byte more than allowed shows that it has too many */
	io = (struct inflater_io){ f->in + f->at, (size_t)n, room ? to : &spare, room ? room : 1 };
	made = io.out_n;
	done = inflater_step(&d->i, &io);
	f->at = f->have - io.in_n;
	made -= io.out_n;
	if (made > room)
		return DEFLATED_LONG;
	if (deflated_take(d, f, r, to, made) < 0)
		return DEFLATED_REFUSED;
	*more = done == INFLATED_MORE && (n || made);
	if (*more || done == INFLATED_END)
		return DEFLATED_WHOLE;
	return done == INFLATED_DAMAGED ? DEFLATED_DAMAGED : DEFLATED_CUT;
}

enum deflated_end deflated_read(struct deflated *d, struct feed *f, struct ring *r, uint64_t most)
{
	enum deflated_end end;
	bool more;

	inflater_reset(&d->i);
	d->crc = 0;
	d->made = 0;
	do {
		more = false;
		end = deflated_step(d, f, r, most, &more);
	} while (more);
	return end;
}
