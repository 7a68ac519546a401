/* Both inflaters: the same bytes and the same answer for every stream, however it is cut and wherever it is wrong. */
#include "unit.h"

#include "base/limits.h"
#include "unpack/bytes/inflater.h"

#include <zlib.h>

#define PLAIN 70000
#define OUT_MAX (MIB)

static uint8_t plain[PLAIN];
static struct inflater both[2];

struct answer {
	enum inflated end;
	size_t rest; /* of the input, behind the stream */
	uint32_t crc;
	struct buf out;
};

/* Compressed with that level and strategy; flush after each piece of `every` bytes. */
static void deflated(struct buf *b, size_t n, int level, int strategy, int flush, size_t every)
{
	z_stream z = { 0 };
	size_t at = 0;

	assert_int_equal(deflateInit2(&z, level, Z_DEFLATED, -15, 8, strategy), Z_OK);
	assert_int_equal(buf_reserve(b, 20 * n + 4000), 0);
	z.next_out = (Bytef *)b->data + b->len;
	z.avail_out = (uInt)(20 * n + 4000);
	do {
		z.next_in = plain + at;
		z.avail_in = (uInt)MIN(every, n - at);
		at += z.avail_in;
		deflate(&z, at < n ? flush : Z_FINISH);
	} while (at < n);
	b->len += z.total_out;
	deflateEnd(&z);
}

/* One piece of input and one room for output, each in memory of just that size. */
static size_t one_step(struct inflater *i, const uint8_t *in, size_t n, size_t room,
		       struct answer *a)
{
	_cleanup_(freep) uint8_t *from = xalloc(n + !n), *to = xalloc(room);
	struct inflater_io io = { from, n, to, room };

	memcpy(from, in, n);
	a->end = inflater_step(i, &io);
	a->crc = i->ops->crc(a->crc, to, room - io.out_n);
	buf_add(&a->out, to, room - io.out_n);
	return io.in_n;
}

/* A piece is given again until all of it was taken, as a feed does it. */
static void inflate_by(struct inflater *i, const struct buf *b, size_t piece, size_t room,
		       struct answer *a)
{
	size_t at = 0, had, left = 0;

	*a = (struct answer){ .end = INFLATED_MORE, .out = a->out };
	buf_reset(&a->out);
	inflater_reset(i);
	do {
		had = a->out.len;
		left = left ? left : MIN(piece, b->len - at);
		at += left;
		left = one_step(i, (const uint8_t *)b->data + at - left, left, room, a);
		at -= left;
	} while (a->end == INFLATED_MORE && (at < b->len || a->out.len > had) &&
		 a->out.len < OUT_MAX);
	a->rest = b->len - at;
}

static struct answer got[2];

static bool same(const struct buf *b, size_t piece, size_t room)
{
	for (size_t k = 0; k < 2; k++)
		inflate_by(&both[k], b, piece, room, &got[k]);
	return got[0].end == got[1].end && got[0].crc == got[1].crc &&
	       (got[0].end != INFLATED_END || got[0].rest == got[1].rest) &&
	       got[0].out.len == got[1].out.len &&
	       memcmp(got[0].out.data, got[1].out.data, got[0].out.len) == 0;
}

#define SAME(b, piece, room)                                                                       \
	do {                                                                                       \
		if (!same(b, piece, room))                                                         \
			fail_msg("%zu bytes in pieces of %zu, room for %zu: %d and %d, %zu and "   \
				 "%zu bytes, %zu and %zu left",                                    \
				 (b)->len, (size_t)(piece), (size_t)(room), got[0].end,            \
				 got[1].end, got[0].out.len, got[1].out.len, got[0].rest,          \
				 got[1].rest);                                                     \
	} while (0)

static const struct {
	int level, strategy, flush;
	size_t n, every;
} streams[] = {
	{ 6, Z_DEFAULT_STRATEGY, Z_NO_FLUSH, PLAIN, PLAIN },
	{ 9, Z_DEFAULT_STRATEGY, Z_NO_FLUSH, 0, 1 },
	{ 9, Z_DEFAULT_STRATEGY, Z_FULL_FLUSH, PLAIN, 20000 },
	{ 1, Z_DEFAULT_STRATEGY, Z_SYNC_FLUSH, 30000, 100 }, /* so small that zlib goes on */
	{ 6, Z_DEFAULT_STRATEGY, Z_BLOCK, PLAIN, 5000 },
	{ 6, Z_FIXED, Z_PARTIAL_FLUSH, PLAIN, 9000 },
	{ 0, Z_DEFAULT_STRATEGY, Z_BLOCK, PLAIN, 30000 },
	{ 6, Z_HUFFMAN_ONLY, Z_BLOCK, 20000, 6000 },
	{ 6, Z_RLE, Z_BLOCK, PLAIN, 40000 },
};

static void make(struct buf *b, size_t row)
{
	buf_reset(b);
	deflated(b, streams[row].n, streams[row].level, streams[row].strategy, streams[row].flush,
		 streams[row].every);
}

static void test_pieces(void **state)
{
	static const size_t pieces[] = { 7, 331, 4096, 1 << 20 }, rooms[] = { 258, 5000, 32768 };
	_cleanup_(buf_done) struct buf b = { 0 };

	(void)state;
	for (size_t row = 0; row < ARRAY_SIZE(streams); row++) {
		make(&b, row);
		buf_puts(&b, "behind it");
		for (size_t k = 0; k < ARRAY_SIZE(pieces) * ARRAY_SIZE(rooms); k += stride(5)) {
			SAME(&b, pieces[k / ARRAY_SIZE(rooms)], rooms[k % ARRAY_SIZE(rooms)]);
			assert_int_equal(got[1].end, INFLATED_END);
			assert_int_equal(got[1].rest, 9);
			assert_int_equal(got[1].out.len, streams[row].n);
			assert_memory_equal(got[1].out.data, plain, streams[row].n);
			assert_int_equal(got[1].crc, crc32(0, plain, (uInt)streams[row].n));
		}
	}
}

/* Small ones, of the same kinds. */
static void make_small(struct buf *b, size_t row)
{
	buf_reset(b);
	deflated(b, 900, streams[row].level, streams[row].strategy, streams[row].flush, 300);
}

static void test_cut(void **state)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	(void)state;
	for (size_t row = 0; row < ARRAY_SIZE(streams); row++) {
		make_small(&b, row);
		SAME(&b, 1, 1);
		for (unsigned step = stride(23); b.len >= step; b.len -= step) {
			SAME(&b, 1 << 20, 4096);
			SAME(&b, b.len / 2 + 1,
			     100); /* in two pieces: a cut within is at every place */
		}
	}
}

/* Every bit of them wrong: headers of blocks above all. */
static void test_wrong_bits(void **state)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	size_t ends[3] = { 0 };

	(void)state;
	for (size_t row = 0; row < ARRAY_SIZE(streams); row++) {
		make_small(&b, row);
		for (size_t bit = 0; bit < 8 * b.len; bit += stride(37) * 3) {
			b.data[bit / 8] ^= (char)(1 << bit % 8);
			SAME(&b, 1 << 20, 4096);
			ends[got[0].end]++;
			b.data[bit / 8] ^= (char)(1 << bit % 8);
		}
	}
	assert_true(ends[INFLATED_MORE] && ends[INFLATED_END] && ends[INFLATED_DAMAGED]);
}

/* And wrong ones far behind the beginning, where there is enough to look back to. */
static void test_wrong_late(void **state)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	(void)state;
	for (size_t row = 0; row < ARRAY_SIZE(streams); row++) {
		make(&b, row);
		for (size_t bit = 5 * b.len; bit < 8 * b.len; bit += b.len / 30 * stride(10) + 1) {
			b.data[bit / 8] ^= (char)(1 << bit % 8);
			SAME(&b, 5000, 1 << 16);
			SAME(&b, 1 << 20, 900);
			b.data[bit / 8] ^= (char)(1 << bit % 8);
		}
	}
}

/* --- what the two libraries think of codes --------------------------------------------------------------------- */

struct bits {
	struct buf b;
	unsigned n;
};

static void put(struct bits *w, unsigned value, unsigned n)
{
	for (unsigned i = 0; i < n; i++, w->n++) {
		if (w->n % 8 == 0)
			buf_putc(&w->b, '\0');
		w->b.data[w->b.len - 1] |= (char)((value >> i & 1) << w->n % 8);
	}
}

/* Codes of lengths are 00 for 0, 01 for 1, 10 for 2, 11 for 18; the first bit comes first. */
static void put_zeros(struct bits *w, unsigned n)
{
	put(w, 3, 2);
	put(w, n - 11, 7);
}

/* A last block whose literals 'a' and the end have codes of these lengths, and no other code but those of one distance. */
static void block_of_codes(struct bits *w, unsigned a, unsigned end, unsigned distance)
{
	static const uint8_t order[] = { 16, 17, 18, 0,	 8, 7,	9, 6,  10,
					 5,  11, 4,  12, 3, 13, 2, 14, 1 };
	static const uint8_t codes[] = { 0, 2, 1 };

	put(w, 1 | 2 << 1, 3);
	put(w, 0, 5); /* 257 lengths, one distance */
	put(w, 0, 5);
	put(w, 18 - 4, 4);
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) /* 0, 1, 2 and 18 have two bits each */
		put(w, order[i] <= 2 || order[i] == 18 ? 2 : 0, 3);
	put_zeros(w, 97);
	put(w, codes[a], 2);
	put_zeros(w, 138);
	put_zeros(w, 256 - 98 - 138);
	put(w, codes[end], 2);
	put(w, codes[distance], 2);
	put(w, 0xffffff << 1 & 0xff, 8);
}

static const struct {
	unsigned a, end, distance;
	enum inflated want;
} codes[] = {
	{ 1, 1, 1, INFLATED_END },     /* 'a' is 0, the end is 1 */
	{ 1, 1, 0, INFLATED_END },     /* no distance at all */
	{ 1, 2, 1, INFLATED_DAMAGED }, /* a part of the space is nobody's */
	{ 2, 2, 1, INFLATED_DAMAGED },
	{ 1, 1, 2, INFLATED_DAMAGED }, /* only a single distance of one bit may leave some */
	{ 1, 0, 1, INFLATED_DAMAGED }, /* no end */
};

static void test_codes(void **state)
{
	(void)state;
	for (size_t row = 0; row < ARRAY_SIZE(codes); row++) {
		struct bits w = { .n = 0 };

		block_of_codes(&w, codes[row].a, codes[row].end, codes[row].distance);
		if (!same(&w.b, 1 << 20, 4096) || got[1].end != codes[row].want)
			fail_row(row,
				 got[1].end == codes[row].want ? "they differ" : "another answer");
		if (codes[row].want == INFLATED_END)
			assert_int_equal(got[1].out.len, 1);
		buf_done(&w.b);
	}
}

/* Millions of blocks with nothing in them cost what they cost with zlib, since zlib goes on with them. */
static void test_tiny_blocks(void **state)
{
	struct bits w = { .n = 0 };

	(void)state;
	for (unsigned i = 0; i < 4000; i++)
		put(&w, 2, 10); /* fixed codes, and the end */
	put(&w, 3, 10);
	SAME(&w.b, 1000, 1000);
	assert_int_equal(got[1].end, INFLATED_END);
	assert_int_equal(got[1].out.len, 0);
	buf_done(&w.b);
}

static void test_choice(void **state)
{
	(void)state;
	setenv("ACPD_INFLATE", "zlib", 1);
	assert_ptr_equal(inflater_choose(), &inflater_zlib);
	unsetenv("ACPD_INFLATE");
	assert_ptr_equal(inflater_choose(), both[1].ops);
}

static void fill_plain(void)
{
	for (uint32_t i = 0, x = 1; i < PLAIN; i++) {
		x = x * 1664525 + 1013904223;
		plain[i] = x >> 24 < 200 && i > 40000 ? plain[i - 32768] :
			   x >> 24 < 160 && i > 900   ? plain[i - 700 - (x >> 14 & 63)] :
							(uint8_t)("etaoin shrdlu<>=/"[x >> 20 & 15]);
	}
}

static int open_both(void **state)
{
	(void)state;
	fill_plain();
	return inflater_open(&both[0], &inflater_zlib) | inflater_open(&both[1], inflater_choose());
}

static int close_both(void **state)
{
	(void)state;
	for (size_t k = 0; k < 2; k++) {
		inflater_close(&both[k]);
		buf_done(&got[k].out);
	}
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces),	   cmocka_unit_test(test_cut),
		cmocka_unit_test(test_wrong_bits), cmocka_unit_test(test_wrong_late),
		cmocka_unit_test(test_codes),	   cmocka_unit_test(test_tiny_blocks),
		cmocka_unit_test(test_choice),
	};

	return RUN(tests, open_both, close_both);
}
