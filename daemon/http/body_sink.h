/*
 * body_sink.h - the body of a request that is used while it arrives: the reader of the socket (net/) passes pieces on,
 * the endpoint (http/) says when it has enough for now. The mirror of body_stream.h.
 *
 * The consumer embeds struct http_sink first and puts it into http_reply.sink instead of an answer. From then on the
 * driver owns it and calls ops->free exactly once: after the answer, or when the client is gone. After WAIT the
 * consumer calls http_sink_wake once it can go on; the driver then asks check. ANSWER may be returned at any time: the
 * rest of the body is not read then. Everything runs on the loop; wake may be called from anywhere but inside these
 * functions.
 */
#pragma once

#include "base/slice.h"

#include <stddef.h>

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
