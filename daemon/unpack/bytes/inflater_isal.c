/*
 * ISA-L decodes, and zlib judges. ISA-L accepts codes that leave a part of the code space empty, which zlib refuses; and no
 * caller sees where one block ends and the next begins. So block by block: zlib reads the header of a block and nothing
 * else (Z_TREES). If it has no objection, ISA-L gets this one block as if it were a stream of its own: its bit "final" is
 * set, what came out before is its dictionary, and it begins with the bits that were left in the last byte of the block
 * before.
 *
 * A block costs some microseconds that way, however small it is. A stream whose blocks are small on average is read to its
 * end by zlib alone, so nobody can make it slower than zlib by much.
 *
 * And what ISA-L objects to is not refused by its word, since it does not say how much was good. zlib, which stands behind
 * the block's header, goes on from where that call of ISA-L began, and finds the fault.
 */
#include "unpack/bytes/inflater.h"

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

#define WINDOW ISAL_DEF_HIST_SIZE
#define BLOCK_WORTH 4096	/* bytes out of a block that ISA-L is worth calling for */
#define BLOCK_CREDIT (64 * KIB) /* so many bytes may be missing */

enum isal_phase { PHASE_HEADER, PHASE_BODY, PHASE_ZLIB };

struct isal {
	enum isal_phase phase;
	bool last;  /* this block is */
	bool fresh; /* ISA-L has not begun with it */
	uint8_t bits,
		left; /* what the last byte of the block before has for this one; how many bits */
	uint64_t blocks, made;
	size_t head_at, head_n;
	size_t window_n;
	size_t ahead_at, ahead_n;
	const uint8_t *after; /* behind the header, where zlib stands; valid while fresh */
	size_t after_n;
	z_stream z;
	uint8_t ahead[sizeof(uint64_t)]; /* what ISA-L had read, for zlib */
	uint8_t head[ISAL_DEF_MAX_HDR_SIZE]; /* of a header that came in pieces; not all of it has been passed on */
	uint8_t window[2 * WINDOW]; /* the end of what came out */
	struct inflate_state s;
};

/* --- what came out ------------------------------------------------------------------------------------------- */

static void isal_remember(struct isal *i, const uint8_t *p, size_t n)
{
	i->made += n;
	if (n >= WINDOW) {
		p += n - WINDOW;
		n = WINDOW;
		i->window_n = 0;
	} else if (i->window_n + n > sizeof(i->window)) {
		memmove(i->window, i->window + i->window_n - WINDOW, WINDOW);
		i->window_n = WINDOW;
	}
	memcpy(i->window + i->window_n, p, n);
	i->window_n += n;
}

static uint8_t *isal_dictionary(struct isal *i, size_t *n)
{
	*n = MIN(i->window_n, (size_t)WINDOW);
	return i->window + i->window_n - *n;
}

/* --- the header of a block, by zlib ------------------------------------------------------------------------------ */

static void isal_begin_block(struct isal *i)
{
	i->phase = PHASE_HEADER;
	i->head_at = i->head_n = 0;
	inflateReset(&i->z);
	if (i->left)
		inflatePrime(&i->z, i->left, i->bits);
}

/* What is left of the stream is zlib's, from this block on. */
static enum inflated isal_begin_zlib(struct isal *i)
{
	size_t n;
	uint8_t *dict = isal_dictionary(i, &n);

	isal_begin_block(i);
	i->phase = PHASE_ZLIB;
	return n && inflateSetDictionary(&i->z, dict, (uInt)n) != Z_OK ? INFLATED_DAMAGED :
									 INFLATED_MORE;
}

static bool isal_keep_head(struct isal *i, const uint8_t *p, size_t n)
{
	if (n > sizeof(i->head) - i->head_n)
		return false; /* no header is that long */
	memcpy(i->head + i->head_n, p, n);
	i->head_n += n;
	return true;
}

/* ISA-L begins with this block, of which bytes have been seen already: at p, or first in io. */
static void isal_begin_body(struct isal *i, struct inflater_io *io)
{
	size_t n;
	uint8_t *dict = isal_dictionary(i, &n);

	i->phase = PHASE_BODY;
	i->fresh = true;
	i->last = i->z.data_type & 64;
	isal_inflate_reset(&i->s);
	if (n)
		isal_inflate_set_dict(&i->s, dict, (uint32_t)n);
	if (!i->left) {
		i->bits = i->head_n ? i->head[i->head_at++] : *io->in++;
		io->in_n -= !i->head_n;
		i->left = 8;
	}
	i->s.read_in = i->bits | 1u; /* the last block of its stream */
	i->s.read_in_length = i->left;
}

static enum inflated isal_header(struct isal *i, struct inflater_io *io)
{
	uint8_t nothing;
	struct inflater_io head = { io->in, io->in_n, &nothing, 0 };
	int code = inflater_zlib_call(&i->z, &head, Z_TREES);
	bool whole = i->z.data_type & 256;

	if (code != Z_OK && code != Z_BUF_ERROR)
		return INFLATED_DAMAGED;
	if ((i->head_n || !whole) && !isal_keep_head(i, io->in, io->in_n - head.in_n))
		return INFLATED_DAMAGED;
	if (i->head_n)
		*io = (struct inflater_io){ head.in, head.in_n, io->out, io->out_n };
	i->after = head.in;
	i->after_n = head.in_n;
	if (whole)
		isal_begin_body(i, io);
	return INFLATED_MORE;
}

/* --- its symbols, by ISA-L ----------------------------------------------------------------------------------------- */

/* What it has made and had no room for. True: all of that is out. */
static bool isal_drain(struct isal *i, struct inflater_io *io)
{
	struct inflate_state *s = &i->s;
	size_t n = (size_t)(s->tmp_out_valid - s->tmp_out_processed), take = MIN(n, io->out_n);

	if (!n)
		return true;
	memcpy(io->out, s->tmp_out_buffer + s->tmp_out_processed, take);
	isal_remember(i, io->out, take);
	io->out += take;
	io->out_n -= take;
	s->tmp_out_processed += (int32_t)take;
	if (take == n &&
	    s->tmp_out_valid > WINDOW) { /* it wants no more there than it looks back */
		memmove(s->tmp_out_buffer, s->tmp_out_buffer + s->tmp_out_valid - WINDOW, WINDOW);
		s->tmp_out_valid = s->tmp_out_processed = WINDOW;
	}
	return take == n;
}

/* From here on the stream is zlib's: from these bits, and the byte that io begins with. */
static void isal_to_zlib(struct isal *i, struct inflater_io *io, uint64_t bits, int n)
{
	size_t dict_n;
	uint8_t *dict = isal_dictionary(i, &dict_n);

	i->phase = PHASE_ZLIB;
	if (dict_n)
		inflateSetDictionary(&i->z, dict, (uInt)dict_n);
	if (i->fresh) {
		io->in = i->after;
		io->in_n = i->after_n;
		return;
	}
	inflatePrime(&i->z, -1, 0);
	if (n % 8)
		inflatePrime(&i->z, n % 8, (int)(bits & ((1u << n % 8) - 1)));
	for (bits >>= n % 8; n >= 8; n -= 8, bits >>= 8)
		i->ahead[i->ahead_n++] = (uint8_t)bits;
}

/* One call. False: it neither took nor made anything, or the stream is zlib's now. */
static bool isal_call(struct isal *i, struct inflater_io *io, const uint8_t **in, size_t *in_n)
{
	size_t made, had = *in_n;
	uint64_t bits = i->s.read_in;
	int bits_n = i->s.read_in_length;

	i->s.next_in = (uint8_t *)*in;
	i->s.avail_in = (uint32_t)*in_n;
	i->s.next_out = io->out;
	i->s.avail_out = (uint32_t)io->out_n;
	if (isal_inflate(&i->s) != ISAL_DECOMP_OK) {
		isal_to_zlib(i, io, bits, bits_n);
		return false;
	}
	i->fresh = false;
	made = io->out_n - i->s.avail_out;
	isal_remember(i, io->out, made);
	io->out += made;
	io->out_n -= made;
	*in = i->s.next_in;
	*in_n = i->s.avail_in;
	return made || *in_n != had;
}

/* It reads up to eight bytes ahead. Once it wants no more of them, whole ones go back: what follows the stream is the caller's, and in may
 * be other memory next time. */
static void isal_give_back(struct isal *i, struct inflater_io *io)
{
	unsigned bytes = (unsigned)i->s.read_in_length / 8;

	io->in -= bytes;
	io->in_n += bytes;
	i->s.read_in_length %= 8;
	i->s.read_in &= (1u << i->s.read_in_length) - 1;
}

static enum inflated isal_end_block(struct isal *i)
{
	i->left = (uint8_t)i->s.read_in_length;
	i->bits = (uint8_t)i->s.read_in;
	if (i->last)
		return INFLATED_END;
	i->blocks++;
	if (i->blocks * BLOCK_WORTH > i->made + BLOCK_CREDIT)
		return isal_begin_zlib(i);
	isal_begin_block(i);
	return INFLATED_MORE;
}

static bool isal_in_block(const struct isal *i)
{
	return i->phase == PHASE_BODY && i->s.block_state != ISAL_BLOCK_FINISH;
}

static enum inflated isal_body(struct isal *i, struct inflater_io *io)
{
	const uint8_t *head = i->head + i->head_at;
	size_t head_n = i->head_n - i->head_at;
	bool going = true;

	if (!isal_drain(i, io))
		return INFLATED_MORE;
	if (head_n) {
		going = isal_call(i, io, &head, &head_n);
		i->head_at = i->head_n;
	}
	while (going && io->out_n && isal_in_block(i))
		going = isal_call(i, io, &io->in, &io->in_n);
	if (i->phase == PHASE_ZLIB)
		return INFLATED_MORE;
	if (io->out_n && io->in_n && isal_in_block(i))
		return INFLATED_DAMAGED; /* it hangs */
	if (!io->out_n || !isal_in_block(i))
		isal_give_back(i, io);
	return isal_in_block(i) ? INFLATED_MORE : isal_end_block(i);
}

/* --- the rest, by zlib --------------------------------------------------------------------------------------------- */

static enum inflated isal_rest(struct isal *i, struct inflater_io *io)
{
	struct inflater_io ahead = { i->ahead + i->ahead_at, i->ahead_n - i->ahead_at, io->out,
				     io->out_n };
	enum inflated done;

	if (!ahead.in_n)
		return inflater_zlib_step(&i->z, io);
	done = inflater_zlib_step(&i->z, &ahead);
	i->ahead_at = i->ahead_n - ahead.in_n;
	io->out = ahead.out;
	io->out_n = ahead.out_n;
	if (done == INFLATED_END) /* where ISA-L saw a fault */
		return INFLATED_DAMAGED;
	return done == INFLATED_MORE && io->out_n ? inflater_zlib_step(&i->z, io) : done;
}

/* --- a stream ------------------------------------------------------------------------------------------------------ */

static enum inflated isal_advance(struct isal *i, struct inflater_io *io)
{
	switch (i->phase) {
	case PHASE_HEADER:
		return isal_header(i, io);
	case PHASE_BODY:
		return isal_body(i, io);
	default:
		return isal_rest(i, io);
	}
}

static enum inflated isal_step(void *state, struct inflater_io *io)
{
	struct isal *i = state;
	enum inflated done;
	enum isal_phase before;

	do {
		before = i->phase;
		done = isal_advance(i, io);
	} while (done == INFLATED_MORE && i->phase != before && io->out_n);
	return done;
}

static void isal_reset_stream(void *state)
{
	struct isal *i = state;

	i->left = 0;
	i->blocks = i->made = 0;
	i->window_n = 0;
	i->ahead_at = i->ahead_n = 0;
	isal_begin_block(i);
}

static void isal_free(void *state)
{
	struct isal *i = state;

	inflateEnd(&i->z);
	free(i);
}

static void *isal_make(void)
{
	struct isal *i = new0(struct isal);

	if (inflateInit2(&i->z, -MAX_WBITS) != Z_OK) {
		free(i);
		return NULL;
	}
	isal_inflate_init(&i->s);
	isal_reset_stream(i);
	return i;
}

static uint32_t isal_crc(uint32_t crc, const void *p, size_t n)
{
	return crc32_gzip_refl(crc, p, n);
}

/* --- where ---------------------------------------------------------------------------------------------------------- */

/* On an older processor the library works too, in plain C, and is no faster than zlib. */
static bool isal_has_processor(void)
{
#if defined(__x86_64__)
	return __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("pclmul");
#elif defined(__aarch64__)
	return getauxval(AT_HWCAP) & HWCAP_PMULL;
#else
	return false;
#endif
}

/* From 2.32.1 on the library drops the bits that are left behind a stream, and then blocks cannot be told apart. */
static bool isal_keeps_bits(void)
{
	static const uint8_t two_blocks[] = { 0x4a, 0x4, 0x2c, 0x9, 0x0 };
	uint8_t out[3] = { 0 };
	struct inflater_io io = { two_blocks, sizeof(two_blocks), out, sizeof(out) };
	struct isal *i = isal_make();
	enum inflated done = i ? isal_step(i, &io) : INFLATED_DAMAGED;

	if (i)
		isal_free(i);
	return done == INFLATED_END && io.in_n == 0 && memcmp(out, "ab", sizeof(out)) == 0;
}

static bool isal_usable(void)
{
	return isal_has_processor() && isal_keeps_bits();
}

const struct inflater_ops inflater_isal = {
	.name = "isal",
	.usable = isal_usable,
	.make = isal_make,
	.reset = isal_reset_stream,
	.step = isal_step,
	.free = isal_free,
	.crc = isal_crc,
};
