/* Raw deflate through both inflaters: the same bytes, the same answer, the same place in the input. */
#include "fuzz.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/util.h"
#include "unpack/bytes/inflater.h"

#define OUT_MAX (4 * MIB)

struct answer {
	enum inflated end;
	size_t rest;
	struct buf out;
};

/* From a copy without a byte behind it, into as much room as is said. */
static size_t one_step(struct inflater *i, const uint8_t *in, size_t n, size_t room,
		       struct answer *a)
{
	_cleanup_(freep) uint8_t *from = xalloc(n + !n), *to = xalloc(room);
	struct inflater_io io = { from, n, to, room };

	memcpy(from, in, n);
	a->end = inflater_step(i, &io);
	FUZZ_CHECK(io.in_n <= n && io.out_n <= room);
	buf_add(&a->out, to, room - io.out_n);
	return io.in_n;
}

static void inflate_by(const struct inflater_ops *ops, const uint8_t *in, size_t n, size_t piece,
		       size_t room, struct answer *a)
{
	size_t at = 0, had, left = 0;
	struct inflater i;

	FUZZ_CHECK(inflater_open(&i, ops) == 0);
	do {
		had = a->out.len;
		left = left ? left : MIN(piece, n - at);
		at += left;
		left = one_step(&i, in + at - left, left, room, a);
		at -= left;
	} while (a->end == INFLATED_MORE && (at < n || a->out.len > had) && a->out.len < OUT_MAX);
	a->rest = n - at;
	inflater_close(&i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct answer z = { .rest = 0 }, x = { .rest = 0 };
	size_t piece, room;

	if (size < 2)
		return 0;
	piece = data[0] < 128 ? 1u + data[0] : size;
	room = data[1] < 128 ? 1u + data[1] : 256u * data[1];
	inflate_by(&inflater_zlib, data + 2, size - 2, piece, room, &z);
	inflate_by(inflater_choose(), data + 2, size - 2, piece, room, &x);
	FUZZ_CHECK(z.end == x.end && z.out.len == x.out.len);
	FUZZ_CHECK(z.out.len == 0 || memcmp(z.out.data, x.out.data, z.out.len) == 0);
	FUZZ_CHECK(z.end != INFLATED_END || z.rest == x.rest);
	buf_done(&z.out);
	buf_done(&x.out);
	return 0;
}
