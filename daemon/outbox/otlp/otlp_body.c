/*
 * otlp_body.c - compresses bodies, and reads the partial_success of an OTLP answer, in protobuf or JSON.
 *
 * The answer is untrusted: parsing allocates nothing and stops at the first malformed field. The
 * three services use the same field numbers, so the signal need not be known. In JSON the members
 * have different names, which are tried in turn. Unknown fields are skipped; of repeated ones the
 * last is used, as protobuf specifies.
 */
#include "outbox/otlp/otlp_body.h"

#include "base/format/digits.h"
#include "json/jdec.h"

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
	/* An upper limit, so one call with Z_FINISH completes the stream. */
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

/* --- answers -------------------------------------------------------------------------------------------------- */

/* The number of the member in the answers, and of what it has: partial_success 1 {rejected 1, error_message 2}. */
enum { PARTIAL = 1, REJECTED = 1, MESSAGE = 2 };

/* --- protobuf ------------------------------------------------------------------------------------------------ */

static bool take_varint(struct slice *s, uint64_t *ret)
{
	*ret = 0;
	for (unsigned shift = 0; s->n && shift < 64; shift += 7) {
		unsigned char c = (unsigned char)*s->p;

		*s = slice_after(*s, 1);
		*ret |= (uint64_t)(c & 0x7f) << shift;
		if (!(c & 0x80))
			return true;
	}
	return false;
}

static bool otlp_body_take_bytes(struct slice *s, uint64_t n, struct slice *ret)
{
	if (n > s->n)
		return false;
	*ret = (struct slice){ s->p, (size_t)n };
	*s = slice_after(*s, (size_t)n);
	return true;
}

struct field {
	uint64_t number, value;
	struct slice bytes;
};

static bool otlp_body_take_value(struct slice *s, unsigned wire, struct field *f)
{
	switch (wire) {
	case 0:
		return take_varint(s, &f->value);
	case 1:
		return otlp_body_take_bytes(s, 8, &f->bytes);
	case 2:
		return take_varint(s, &f->value) && otlp_body_take_bytes(s, f->value, &f->bytes);
	case 5:
		return otlp_body_take_bytes(s, 4, &f->bytes);
	/* Groups (3 and 4) do not occur in proto3. */
	default:
		return false;
	}
}

static bool otlp_body_take_field(struct slice *s, struct field *f)
{
	uint64_t tag;

	*f = (struct field){ 0 };
	if (!s->n || !take_varint(s, &tag))
		return false;
	f->number = tag >> 3;
	return otlp_body_take_value(s, tag & 7, f);
}

static uint64_t from_protobuf(struct slice body, struct slice *message)
{
	struct slice partial = SLICE_NONE;
	uint64_t rejected = 0;
	struct field f;

	while (otlp_body_take_field(&body, &f))
		if (f.number == PARTIAL)
			partial = f.bytes;
	while (otlp_body_take_field(&partial, &f)) {
		if (f.number == REJECTED)
			rejected = f.value;
		else if (f.number == MESSAGE)
			*message = f.bytes;
	}
	return rejected;
}

/* --- JSON ---------------------------------------------------------------------------------------------------- */

/* 64 bits are a string there, but not all write it so. */
static uint64_t otlp_body_number_of(struct jval v)
{
	struct slice digits = v.raw;
	uint64_t n = 0;

	if (v.type == J_STRING && digits.n >= 2)
		digits = (struct slice){ digits.p + 1, digits.n - 2 };
	return u64_parse(digits, &n) ? n : 0;
}

static uint64_t from_json(struct slice body, struct slice *message)
{
	static const char *const names[] = { "rejectedSpans", "rejectedDataPoints",
					     "rejectedLogRecords" };
	struct slice partial;
	uint64_t rejected = 0;

	if (jscan_value(body, NULL) != JSCAN_OK)
		return 0;
	partial = jobj_get(body, "partialSuccess").raw;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !rejected; i++)
		rejected = otlp_body_number_of(jobj_get(partial, names[i]));
	*message = jobj_get(partial, "errorMessage").raw;
	return rejected;
}

uint64_t otlp_answer_rejected(struct slice body, bool json, struct slice *message)
{
	uint64_t rejected;

	*message = SLICE_NONE;
	rejected = json ? from_json(body, message) : from_protobuf(body, message);
	/* The count is an int64 in OTLP; a negative one is ignored. */
	return rejected <= INT64_MAX ? rejected : 0;
}
