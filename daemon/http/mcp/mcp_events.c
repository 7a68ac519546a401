/*
 * mcp_events.c - a queue of MCP messages as a stream of server-sent events.
 *
 * Messages are added at any time. The driver of the socket empties the queue when the socket has
 * space, by exchanging two buffers. Above MCP_HTTP_BACKLOG_MAX unread bytes the stream ends with an
 * error, so that the client notices the loss. The last message is exempt: it is the answer to the
 * request. After HTTP_COMMENT_MS without a message the stream gets a comment.
 */
#include "http/mcp/mcp_http_internal.h"

#include "base/limits.h"

static void on_mcp_events_quiet(void *ctx)
{
	struct mcp_events *s = ctx;

	s->is_comment_due = true;
	http_stream_wake(&s->base);
}

/* The queue and the empty buffer change places: no byte is copied. */
static void mcp_events_hand_over(struct mcp_events *s, struct buf *out)
{
	struct buf queue = s->out;

	s->out = *out;
	*out = queue;
	buf_reset(&s->out);
	buf_trim(&s->out, 0);
}

static enum http_fill mcp_events_fill(struct http_stream *base, struct buf *out,
				      size_t room _unused_)
{
	struct mcp_events *s = container_of(base, struct mcp_events, base);

	if (s->broken || s->out.failed)
		return HTTP_FILL_ERROR;
	if (buf_len(&s->out))
		mcp_events_hand_over(s, out);
	else if (s->is_comment_due)
		buf_puts(out, ":\n\n");
	s->is_comment_due = false;
	if (s->ended)
		return HTTP_FILL_END;
	loop_timer_set(s->loop, &s->quiet, HTTP_COMMENT_MS, on_mcp_events_quiet, s);
	return HTTP_FILL_WAIT;
}

static void mcp_events_free_stream(struct http_stream *base)
{
	struct mcp_events *s = container_of(base, struct mcp_events, base);

	loop_timer_cancel(&s->quiet);
	s->gone(s);
}

static const struct http_stream_ops ops = { .fill = mcp_events_fill,
					    .free = mcp_events_free_stream };

void mcp_events_init(struct mcp_events *s, struct loop *loop, void (*gone)(struct mcp_events *s))
{
	*s = (struct mcp_events){ .base = { .ops = &ops }, .loop = loop, .gone = gone };
}

void mcp_events_done(struct mcp_events *s)
{
	loop_timer_cancel(&s->quiet);
	buf_done(&s->out);
}

bool mcp_events_put(struct mcp_events *s, struct slice message, bool last)
{
	if (!last && buf_len(&s->out) > MCP_HTTP_BACKLOG_MAX)
		s->broken = true;
	if (s->broken) {
		buf_done(&s->out);
		http_stream_wake(&s->base);
		return false;
	}
	buf_puts(&s->out, "event: message\ndata: ");
	buf_add_slice(&s->out, message);
	buf_puts(&s->out, "\n\n");
	s->ended |= last;
	http_stream_wake(&s->base);
	return true;
}

void mcp_events_end(struct mcp_events *s)
{
	s->ended = true;
	http_stream_wake(&s->base);
}

void mcp_events_reply(struct mcp_events *s, struct http_reply *ret)
{
	ret->content_type = "text/event-stream";
	http_reply_header(ret, "Cache-Control:", "no-store");
	/* nginx would otherwise hold the stream back in its buffer. */
	http_reply_header(ret, "X-Accel-Buffering:", "no");
	ret->stream = &s->base;
}
