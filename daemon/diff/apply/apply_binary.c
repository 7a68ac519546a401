/*
 * apply_binary.c - the "GIT binary patch" part of a patch: base 85, zlib, and git's delta format.
 *
 * The patch is untrusted text of a model or client. Two checks guard the result: the old file must
 * have the blob id of the index line, and so must the result. Declared sizes bound every buffer
 * before it is filled, so a small patch cannot inflate without limit. The second part (the reverse
 * patch) is skipped unread.
 */
#include "diff/apply/apply_internal.h"

#include "diff/git_patch.h"
#include "digest/digest.h"

#include <zlib.h>

static int binary_broken(const struct patch_file *f, const char *what, struct err *e)
{
	return err_set(e, -EINVAL, RPC_INVALID_PARAMS, "PATCH_CORRUPT",
		       "patch, line %zu: binary contents: %s", f->line, what);
}

/* --- reading ------------------------------------------------------------------------------------------- */

/* "literal N" or "delta N", and lines up to an empty one. */
/* A part without an empty line after it ends with the patch. */
static bool part_skip(struct patch_reader *r)
{
	struct slice line = reader_line(r);

	if (!slice_starts(line, "literal ") && !slice_starts(line, "delta "))
		return false;
	for (reader_skip(r, line.n); r->p < r->end; reader_skip(r, line.n)) {
		line = reader_line(r);
		if (slice_is(line, "\n")) {
			reader_skip(r, line.n);
			return true;
		}
	}
	return true;
}

int binary_skip(struct patch_reader *r, struct patch_file *f, struct err *e)
{
	reader_skip(r, reader_line(r).n);
	f->binary = true;
	f->payload = (struct slice){ r->p, (size_t)(r->end - r->p) };
	if (!part_skip(r))
		return binary_broken(f, "neither literal nor delta", e);
	f->payload.n = (size_t)(r->p - f->payload.p);
	part_skip(r); /* the way back is not needed */
	if (!f->old_id[0])
		return err_set(e, -EINVAL, RPC_INVALID_PARAMS, "PATCH_BINARY",
			       "patch, line %zu: a binary patch needs an index line with whole ids",
			       f->line);
	return 0;
}

/* --- base 85 ------------------------------------------------------------------------------------------- */

static int base85_digit(char c)
{
	const char *at = c ? strchr(base85_digits, c) : NULL;

	return at ? (int)(at - base85_digits) : -1;
}

/* Five digits can stand for more than 32 bits; such a group is damaged. */
static int base85_group(const char *p, unsigned char out[4])
{
	uint64_t v = 0;

	for (size_t i = 0; i < 5; i++) {
		int d = base85_digit(p[i]);

		if (d < 0)
			return -EINVAL;
		v = v * 85 + (uint64_t)d;
	}
	if (v > UINT32_MAX)
		return -EINVAL;
	for (size_t i = 4; i-- > 0; v >>= 8)
		out[i] = (unsigned char)v;
	return 0;
}

static int base85_line(struct slice line, struct buf *out)
{
	size_t n;

	if (line.n && line.p[line.n - 1] == '\n')
		line.n--;
	if (!line.n)
		return -EINVAL;
	if (line.p[0] >= 'A' && line.p[0] <= 'Z')
		n = (size_t)(line.p[0] - 'A') + 1;
	else if (line.p[0] >= 'a' && line.p[0] <= 'z')
		n = (size_t)(line.p[0] - 'a') + 27;
	else
		return -EINVAL;
	if (line.n - 1 != (n + 3) / 4 * 5)
		return -EINVAL;
	for (size_t i = 0; i < n; i += 4) {
		unsigned char bytes[4];

		if (base85_group(line.p + 1 + i / 4 * 5, bytes) < 0)
			return -EINVAL;
		buf_add(out, bytes, MIN(n - i, 4u));
	}
	return 0;
}

/* The room for one byte more than declared shows a stream that is too long; none is read beyond it. */
static int inflate_to(struct slice packed, size_t size, struct buf *out)
{
	z_stream z = { .next_in = (unsigned char *)(uintptr_t)packed.p,
		       .avail_in = (uInt)packed.n };
	int r;

	if (buf_reserve(out, size + 1) < 0)
		return -EFBIG;
	if (inflateInit(&z) != Z_OK)
		return -ENOMEM;
	z.next_out = (unsigned char *)out->data + out->len;
	z.avail_out = (uInt)size + 1; /* one more, to see what is too long */
	r = inflate(&z, Z_FINISH);
	inflateEnd(&z);
	if (r != Z_STREAM_END || z.total_out != size)
		return -EINVAL;
	out->len += size;
	return 0;
}

static int part_decode(struct slice payload, bool *delta, struct buf *out)
{
	_cleanup_(buf_done) struct buf packed = { 0 };
	struct patch_reader r = { payload.p, payload.p + payload.n, 1 };
	struct slice line = reader_line(&r), s = line;
	uint64_t size = 0;

	*delta = slice_skip(&s, "delta ");
	if (!*delta)
		slice_skip(&s, "literal ");
	for (; s.n && s.p[0] >= '0' && s.p[0] <= '9' && size <= DIFF_SIDE_MAX; s.p++, s.n--)
		size = size * 10 + (uint64_t)(s.p[0] - '0');
	if (!slice_is(s, "\n"))
		return -EINVAL;
	if (size > BUF_MAX_DEFAULT - KIB)
		return -EFBIG;
	for (reader_skip(&r, line.n); r.p < r.end; reader_skip(&r, line.n)) {
		line = reader_line(&r);
		if (slice_is(line, "\n"))
			break;
		if (base85_line(line, &packed) < 0)
			return -EINVAL;
	}
	return packed.failed ? -EFBIG : inflate_to(buf_slice(&packed), size, out);
}

/* --- deltas -------------------------------------------------------------------------------------------- */

static bool delta_size(struct slice *s, uint64_t *ret)
{
	unsigned shift = 0;

	for (*ret = 0; s->n && shift < 63; shift += 7) {
		unsigned char c = (unsigned char)*s->p++;

		s->n--;
		*ret |= (uint64_t)(c & 0x7f) << shift;
		if (!(c & 0x80))
			return true;
	}
	return false;
}

/* A number of n bytes at most, low first: a byte is there where op has its bit. */
static bool delta_number(struct slice *s, unsigned char op, unsigned bit, unsigned n, size_t *ret)
{
	*ret = 0;
	for (unsigned i = 0; i < n; i++) {
		if (!(op & (1u << (bit + i))))
			continue;
		if (!s->n)
			return false;
		*ret |= (size_t)(unsigned char)*s->p++ << (8 * i);
		s->n--;
	}
	return true;
}

/* Copies from the old file, or takes bytes of the delta. Both lengths are checked against what is left of their source. */
static bool delta_step(struct slice *s, struct slice old, struct buf *out)
{
	unsigned char op = (unsigned char)*s->p++;
	size_t at, n;

	s->n--;
	if (op & 0x80) {
		if (!delta_number(s, op, 0, 4, &at) || !delta_number(s, op, 4, 3, &n))
			return false;
		n = n ? n : 0x10000;
		return at <= old.n && n <= old.n - at && buf_add(out, old.p + at, n) == 0;
	}
	if (!op || op > s->n || buf_add(out, s->p, op) < 0)
		return false;
	s->p += op;
	s->n -= op;
	return true;
}

/* The size of the result is checked after each step: a delta of a few bytes could copy the old file any number of times. */
static int delta_apply(struct slice delta, struct slice old, struct buf *out)
{
	uint64_t old_size, new_size;

	if (!delta_size(&delta, &old_size) || !delta_size(&delta, &new_size) || old_size != old.n)
		return -EINVAL;
	while (delta.n)
		if (!delta_step(&delta, old, out) || buf_len(out) > new_size)
			return -EINVAL;
	return buf_len(out) == new_size ? 0 : -EINVAL;
}

/* --- applying ------------------------------------------------------------------------------------------ */

static bool is_blob(struct slice data, const char *id)
{
	char have[GIT_ID_HEX];

	return git_blob_id(data, have) == 0 && strcmp(have, id) == 0;
}

int binary_apply(const struct patch_file *f, struct slice old, struct buf *out, struct err *e)
{
	_cleanup_(buf_done) struct buf part = { 0 };
	bool delta;
	int r;

	if (f->from ? !is_blob(old, f->old_id) : strspn(f->old_id, "0") != 40)
		return err_set(e, -EINVAL, RPC_INVALID_PARAMS, "PATCH_MISMATCH",
			       "%.120s is not the file that the binary patch was made for",
			       f->from ? f->from : f->to);
	r = part_decode(f->payload, &delta, &part);
	if (r == 0 && delta)
		r = delta_apply(buf_slice(&part), old, out);
	else if (r == 0 && buf_add_slice(out, buf_slice(&part)) < 0)
		r = -EFBIG;
	if (r == -EFBIG)
		return err_set(e, -EFBIG, RPC_INVALID_PARAMS, "PATCH_TOO_LARGE",
			       "the patched file is too large");
	if (r < 0)
		return binary_broken(f, "they cannot be read", e);
	if (f->to ? !is_blob(buf_slice(out), f->new_id) : buf_len(out) > 0)
		return binary_broken(f, "what they make is not what the index line says", e);
	return 0;
}
