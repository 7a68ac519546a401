/*
 * chunked.h - decoder of chunked bodies (RFC 9112, 7.1), of requests to us and answers to us. Pure; libwebsockets
 * passes the framing on as it is.
 *
 * Strict where leniency would let two readers disagree about where a body ends: CRLF only, sizes in hex without sign
 * or blanks and below 2^60. Chunk extensions and trailers are bounded, checked for control bytes, and dropped.
 */
#pragma once

#include "base/slice.h"

#include <stdint.h>

enum chunked_state {
	CHUNKED_SIZE, /* the zero state: before a chunk's size */
	CHUNKED_EXTENSION,
	CHUNKED_SIZE_LF,
	CHUNKED_DATA,
	CHUNKED_DATA_CR,
	CHUNKED_DATA_LF,
	CHUNKED_TRAILER, /* at the beginning of a line */
	CHUNKED_TRAILER_TEXT,
	CHUNKED_TRAILER_LF,
	CHUNKED_LAST_LF,
	CHUNKED_END,
	CHUNKED_BAD,
};

struct chunked {
	enum chunked_state state;
	uint64_t left;	       /* of this chunk's size or data */
	unsigned digits, line; /* of the size; bytes of this line */
	unsigned trailers;     /* bytes */
};

/* Takes framing off the front of in until there is data. 1: data is that part of in. 0: in is used up, or the body has
 * ended (state CHUNKED_END; the rest of in is not part of it). -EINVAL: in is not chunked coding. */
int chunked_next(struct chunked *c, struct slice *in, struct slice *data);
