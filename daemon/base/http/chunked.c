/*
 * chunked.c - the state machine of the chunked decoder (RFC 9112, section 7.1), one byte of framing
 * at a time.
 *
 * Framing bytes can be cut anywhere between two reads, so all of the state is in struct chunked.
 * Data are returned as slices of the input, without a copy. CHUNK_LINE_MAX bounds each line and
 * CHUNK_TRAILERS_MAX all trailers, since the peer decides how much framing it sends. CHUNKED_BAD is
 * final.
 */
#include "base/http/chunked.h"

#include "base/format/digits.h"
#include "base/limits.h"
#include "base/util.h"

#define SIZE_DIGITS_MAX 15

static enum chunked_state after_size(struct chunked *c, char b)
{
	int digit = hex_digit(b);

	if (digit >= 0) {
		c->left = c->left << 4 | (unsigned)digit;
		return ++c->digits > SIZE_DIGITS_MAX ? CHUNKED_BAD : CHUNKED_SIZE;
	}
	if (!c->digits)
		return CHUNKED_BAD;
	return b == '\r' ? CHUNKED_SIZE_LF : b == ';' ? CHUNKED_EXTENSION : CHUNKED_BAD;
}

/* The state after a byte of text that is dropped, or of the end of its line. */
static enum chunked_state after_text(char b, enum chunked_state same, enum chunked_state end)
{
	if (b == '\r')
		return end;
	return (unsigned char)b < 0x20 && b != '\t' ? CHUNKED_BAD : same;
}

static enum chunked_state expect(char b, char want, enum chunked_state next)
{
	return b == want ? next : CHUNKED_BAD;
}

static enum chunked_state chunked_step(struct chunked *c, char b)
{
	switch (c->state) {
	case CHUNKED_SIZE:
		return after_size(c, b);
	case CHUNKED_EXTENSION:
		return after_text(b, CHUNKED_EXTENSION, CHUNKED_SIZE_LF);
	case CHUNKED_SIZE_LF:
		return expect(b, '\n', c->left ? CHUNKED_DATA : CHUNKED_TRAILER);
	case CHUNKED_DATA_CR:
		return expect(b, '\r', CHUNKED_DATA_LF);
	case CHUNKED_DATA_LF:
		return expect(b, '\n', CHUNKED_SIZE);
	case CHUNKED_TRAILER:
		return after_text(b, CHUNKED_TRAILER_TEXT, CHUNKED_LAST_LF);
	case CHUNKED_TRAILER_TEXT:
		return after_text(b, CHUNKED_TRAILER_TEXT, CHUNKED_TRAILER_LF);
	case CHUNKED_TRAILER_LF:
		return expect(b, '\n', CHUNKED_TRAILER);
	case CHUNKED_LAST_LF:
		return expect(b, '\n', CHUNKED_END);
	case CHUNKED_DATA:
	case CHUNKED_END:
	case CHUNKED_BAD:
		break;
	}
	return CHUNKED_BAD;
}

static bool in_trailers(enum chunked_state s)
{
	return s >= CHUNKED_TRAILER && s <= CHUNKED_LAST_LF;
}

static int take_frame_byte(struct chunked *c, char b)
{
	enum chunked_state before = c->state;

	c->state = chunked_step(c, b);
	c->line++;
	if (in_trailers(before))
		c->trailers++;
	if (c->line > CHUNK_LINE_MAX || c->trailers > CHUNK_TRAILERS_MAX)
		c->state = CHUNKED_BAD;
	if (b == '\n')
		c->line = 0;
	if (before == CHUNKED_DATA_LF) {
		c->left = 0;
		c->digits = 0;
	}
	return c->state == CHUNKED_BAD ? -EINVAL : 0;
}

int chunked_next(struct chunked *c, struct slice *in, struct slice *data)
{
	while (in->n && c->state != CHUNKED_END) {
		if (c->state == CHUNKED_DATA) {
			*data = (struct slice){ in->p, (size_t)MIN(c->left, (uint64_t)in->n) };
			c->left -= data->n;
			if (!c->left)
				c->state = CHUNKED_DATA_CR;
			in->p += data->n;
			in->n -= data->n;
			return 1;
		}
		if (take_frame_byte(c, *in->p) < 0)
			return -EINVAL;
		in->p++;
		in->n--;
	}
	return c->state == CHUNKED_BAD ? -EINVAL : 0;
}
