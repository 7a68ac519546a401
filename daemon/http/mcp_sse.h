/*
 * mcp_sse.h - messages of MCP as a stream of events: a queue that is filled by whoever has messages, and emptied as the socket takes.
 *
 * Embedded by its owner, who hands &s->base over in a reply (sse_reply) and is told once, by gone, that the driver is through with it.
 * More than MCP_HTTP_BACKLOG_MAX unread bytes are too many: the queue is thrown away and the stream ends in the middle, so that the client
 * sees it. The last message is always taken.
 */
#pragma once

#include "http/endpoints.h"

struct sse {
	struct http_stream base;
	struct loop *loop;
	void (*gone)(struct sse *s);
	struct buf out;
	struct loop_timer quiet; /* time for a comment */
	bool comment, ended, broken;
};

void sse_init(struct sse *s, struct loop *loop, void (*gone)(struct sse *s));
void sse_done(struct sse *s);
/* False: the reader was too slow and has lost the stream. */
bool sse_put(struct sse *s, struct slice message, bool last);
/* What is queued is the rest. */
void sse_end(struct sse *s);
void sse_reply(struct sse *s, struct http_reply *ret);
