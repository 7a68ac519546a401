/*
 * body_stream.h - the body of a reply that is made while it is sent: the endpoint (http/) fills a buffer when
 * asked, the sender (net/) asks only when the socket takes more. So a slow reader holds one buffer and a
 * stalled one costs nothing else.
 *
 * The producer embeds struct http_stream first and puts it into http_reply.stream. From then on the driver owns it and
 * calls ops->free exactly once, at its end or when the client is gone; in the latter case it calls ops->left before,
 * where there is one. After WAIT the producer calls http_stream_wake
 * once there is more; the driver then asks again. Everything runs on the loop; wake may be called from anywhere but
 * inside fill.
 */
#pragma once

#include "base/buf.h"

enum http_fill {
	HTTP_FILL_MORE,	 /* ask again when that is sent; it may be nothing */
	HTTP_FILL_WAIT,	 /* nothing more for now: wake will be called */
	HTTP_FILL_END,	 /* that was the last */
	HTTP_FILL_ERROR, /* the body stays incomplete, and the client sees that */
};

struct http_stream;

struct http_stream_ops {
	/* out is empty. Appends whole items until room bytes are reached; a single item may be larger. */
	enum http_fill (*fill)(struct http_stream *s, struct buf *out, size_t room);
	void (*free)(struct http_stream *s);
	/* Optional. The client closed the connection, or it broke; free follows. Not called where the daemon ends it: its
	 * token is over, the machine was restored. */
	void (*left)(struct http_stream *s);
};

struct http_stream {
	const struct http_stream_ops *ops;
	void (*wake)(void *ctx); /* the driver's; NULL: not asked yet */
	void *ctx;
};

static inline void http_stream_wake(struct http_stream *s)
{
	if (s->wake)
		s->wake(s->ctx);
}

static inline struct http_stream *http_stream_free(struct http_stream *s)
{
	if (s)
		s->ops->free(s);
	return NULL;
}
