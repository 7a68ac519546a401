/*
 * sse_lines.h - an event stream (text/event-stream), taken apart while its bytes pass. Pure; it keeps nothing of them.
 *
 * Lines end with LF, CRLF or CR, and may be cut anywhere. Comments and unknown fields are dropped; an event without data
 * is none. The value of a field comes in pieces, so that whoever reads it decides how much of it is kept. All zeros is
 * right to begin with.
 */
#pragma once

#include "base/slice.h"

enum sse_field { SSE_OTHER, SSE_DATA, SSE_ID, SSE_RETRY };

struct sse_lines {
	char name[9]; /* one byte more than the longest that is known, behind a byte order mark */
	unsigned char nname, part;
	enum sse_field field;
	bool after_cr, started, has_data;
};

struct sse_lines_ops {
	/* A piece of the value of the line's field. */
	void (*value)(void *ctx, enum sse_field field, struct slice piece);
	/* The line ends, and with it the value; also where no piece of it came. */
	void (*line)(void *ctx, enum sse_field field);
	/* The event ends, which had data. False: no more is wanted. */
	bool (*event)(void *ctx);
};

/* False: event said so, and what came behind it was not read. */
bool sse_lines_feed(struct sse_lines *s, struct slice bytes, const struct sse_lines_ops *ops,
		    void *ctx);
