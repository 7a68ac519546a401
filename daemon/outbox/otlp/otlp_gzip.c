#include "outbox/otlp/otlp_gzip.h"

#include <errno.h>
#include <zlib.h>

#define GZIP_BITS (15 + 16) /* a window of 32 KiB, with the header of gzip */

int otlp_gzip(struct slice body, struct buf *ret)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)body.p, .avail_in = (uInt)body.n };
	uLong room;
	int r;

	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_BITS, 8, Z_DEFAULT_STRATEGY) !=
	    Z_OK)
		return -ENOMEM;
	room = deflateBound(&z, body.n);
	r = buf_reserve(ret, room);
	if (r == 0) {
		z.next_out = (Bytef *)ret->data + ret->len;
		z.avail_out = (uInt)room;
		r = deflate(&z, Z_FINISH) == Z_STREAM_END ? 0 : -E2BIG;
		ret->len += z.total_out;
	}
	deflateEnd(&z);
	return r;
}
