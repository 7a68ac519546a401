#include "unpack/bytes/inflater_zlib.h"

#include "base/util.h"

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

enum inflated inflater_zlib_step(z_stream *z, struct inflater_io *io)
{
	int code = inflater_zlib_call(z, io, Z_NO_FLUSH);

	if (code == Z_STREAM_END)
		return INFLATED_END;
	/* Z_BUF_ERROR: nothing could be made of that input */
	return code == Z_OK || code == Z_BUF_ERROR ? INFLATED_MORE : INFLATED_DAMAGED;
}

static bool usable(void)
{
	return true;
}

static void *make(void)
{
	z_stream *z = new0(z_stream);

	if (inflateInit2(z, -MAX_WBITS) == Z_OK)
		return z;
	free(z);
	return NULL;
}

static void reset(void *state)
{
	inflateReset(state);
}

static enum inflated step(void *state, struct inflater_io *io)
{
	return inflater_zlib_step(state, io);
}

static void discard(void *state)
{
	inflateEnd(state);
	free(state);
}

static uint32_t crc(uint32_t crc, const void *p, size_t n)
{
	return (uint32_t)crc32(crc, p, (uInt)n);
}

const struct inflater_ops inflater_zlib = {
	.name = "zlib",
	.usable = usable,
	.make = make,
	.reset = reset,
	.step = step,
	.free = discard,
	.crc = crc,
};
