/*
 * mcp_events.h - messages of MCP as a stream of events: a queue that the producer of messages fills, and the socket
 * empties.
 *
 * Embedded by its owner, who passes &s->base on in a reply (mcp_events_reply) and learns once, by gone, that the driver
 * needs it no more. With more than MCP_HTTP_BACKLOG_MAX unread bytes the queue is thrown away and the stream breaks
 * off, so that the client sees it. The last message is always taken.
 */
#pragma once

#include "http/endpoints.h"

struct mcp_events {
	struct http_stream base;
	struct loop *loop;
	void (*gone)(struct mcp_events *s);
	struct buf out;
	struct loop_timer quiet; /* time for a comment */
	bool comment, ended, broken;
};

void mcp_events_init(struct mcp_events *s, struct loop *loop, void (*gone)(struct mcp_events *s));
void mcp_events_done(struct mcp_events *s);
/* False: the reader was too slow and has lost the stream. */
bool mcp_events_put(struct mcp_events *s, struct slice message, bool last);
/* No more messages follow those in the queue. */
void mcp_events_end(struct mcp_events *s);
void mcp_events_reply(struct mcp_events *s, struct http_reply *ret);
