/*
 * sse.h - the event stream of an HTTP answer (text/event-stream), one whole event at a time. Pure.
 *
 * base/http/sse_lines.h takes it apart; here the data of an event is put together. The id of the last event and the wait
 * that the server asked for are kept, for the next connection. Bounded: a value or the data of an event above max bytes
 * ends the parsing.
 */
#pragma once

#include "base/buf.h"
#include "base/http/sse_lines.h"

struct sse {
	size_t max;
	struct sse_lines lines;
	struct buf value, data;
	struct buf id; /* of the last event; empty: none. Goes into a header: no control bytes. */
	uint64_t retry_ms; /* 0: not said */
};

/* event: data of one event; the rest is parsed only while it returns true. -EMSGSIZE: too large. */
int sse_feed(struct sse *s, struct slice bytes, bool (*event)(void *ctx, struct slice data),
	     void *ctx);
void sse_reader_done(struct sse *s);
