/*
 * bodies.h - bodies that pass in pieces: of a reply that is made while it is sent, and of a request that is used while it
 * arrives. The socket is net/'s, which drives both; what is in them is the endpoint's.
 *
 * A stream (of a reply) fills a buffer when asked, and is asked only when the socket takes more. So a slow reader holds one
 * buffer and a stalled one costs nothing else. A sink (of a request) takes pieces, and says when it has enough for now.
 *
 * The endpoint embeds struct http_stream or http_sink first and puts it into http_reply.stream, or into http_reply.sink
 * instead of an answer. From then on the driver owns it and calls ops->free exactly once: at its end, after the answer, or
 * when the client is gone; of a stream it calls ops->left before in that case, where there is one. After WAIT the endpoint
 * calls http_stream_wake or http_sink_wake once it can go on; the driver then asks fill or check. ANSWER may be returned at
 * any time: the rest of the body is not read then. Everything runs on the loop; wake may be called from anywhere but inside
 * these functions.
 */
#pragma once

#include "base/buf.h"

#include <stddef.h>

/* --- the body of a reply ---------------------------------------------------------------------------------------- */

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

/* --- the body of a request ----------------------------------------------------------------------------------------- */

struct http_reply;

enum http_take {
	HTTP_TAKE_MORE,	  /* go on */
	HTTP_TAKE_WAIT,	  /* nothing more for now: wake will be called */
	HTTP_TAKE_ANSWER, /* there is an answer */
};

struct http_sink;

struct http_sink_ops {
	/* The next bytes, at most BODY_READ_BYTES. They are consumed with every return value. */
	enum http_take (*take)(struct http_sink *s, struct slice piece);
	/* The body is complete. WAIT or ANSWER. */
	enum http_take (*end)(struct http_sink *s);
	enum http_take (*check)(struct http_sink *s);
	/* Fills the answer (of status 200, JSON, empty); asked once. */
	void (*answer)(struct http_sink *s, struct http_reply *ret);
	void (*free)(struct http_sink *s);
};

struct http_sink {
	const struct http_sink_ops *ops;
	void (*wake)(void *ctx); /* the driver's; NULL: not asked yet */
	void *ctx;
};

static inline void http_sink_wake(struct http_sink *s)
{
	if (s->wake)
		s->wake(s->ctx);
}

static inline struct http_sink *http_sink_free(struct http_sink *s)
{
	if (s)
		s->ops->free(s);
	return NULL;
}
