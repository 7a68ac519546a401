/*
 * route_events.c - GET /v1/sessions/{id}/events: a session's event log as server-sent events or JSON lines, once or
 * without end.
 *
 * The stream is a cursor in the log and keeps no events: a slow client costs nothing but its place. Events that the log has
 * dropped before they were read are reported as a gap. If the session is deleted, up to CONN_BATCH_BYTES of unread events are
 * copied, because the log is gone when the client reads on. A number of another incarnation begins the log from its start.
 */
#include "http/routes/handlers.h"

#include "base/format/digits.h"
#include "base/limits.h"
#include "session/core/log/reader.h"
#include "session/core/log/transcript.h"

enum events_format { FORMAT_DEFAULT, FORMAT_SSE, FORMAT_NDJSON };

struct events_args {
	uint64_t since;
	struct slice incarnation; /* of that number */
	enum query_flag follow;
	unsigned format;
};

static const char *const formats[] = { "sse", "ndjson", NULL };

static const struct query_field fields[] = {
	{ "since", QUERY_UINT, offsetof(struct events_args, since), NULL },
	{ "incarnation", QUERY_TEXT, offsetof(struct events_args, incarnation), NULL },
	{ "follow", QUERY_BOOL, offsetof(struct events_args, follow), NULL },
	{ "format", QUERY_WORD, offsetof(struct events_args, format), formats },
	{ 0 },
};

struct event_stream {
	struct http_stream base;
	struct log_reader reader;
	struct loop *loop;
	struct loop_timer quiet; /* SSE: time for a comment */
	char *session_id;
	bool is_sse, follow, is_comment_due;
	bool is_foreign; /* the client's number may mean another event here, which it is still to be told */
	uint64_t until;	 /* without follow: the newest event at the time of the request */
	struct buf rest; /* the session is deleted: what was still unread, up to a bound */
};

struct event_filling {
	struct event_stream *s;
	struct buf *out;
	size_t room;
};

/* --- framing ------------------------------------------------------------------------------------------- */

static void begin_item(const struct event_filling *f, uint64_t seq)
{
	if (f->s->is_sse && seq)
		buf_printf(f->out, "id: %llu\n", (unsigned long long)seq);
	if (f->s->is_sse)
		buf_puts(f->out, "data: ");
}

/* No "event:" line: a browser dispatches such events by name, and "error" is one of its own names. */
static void end_item(const struct event_filling *f)
{
	buf_puts(f->out, f->s->is_sse ? "\n\n" : "\n");
}

static bool events_put_event(void *ctx, const struct evlog_entry *e)
{
	struct event_filling *f = ctx;

	/* False: the reader stops here, and offers the same event in the next call. */
	if (buf_len(f->out) >= f->room || (!f->s->follow && e->seq > f->s->until))
		return false;
	begin_item(f, e->seq);
	transcript_put(f->out, f->s->session_id, e);
	end_item(f);
	return true;
}

static void write_gap(const struct event_filling *f, const struct evlog_gap *g)
{
	/* With the last number of the gap: a client that reconnects continues behind it. */
	begin_item(f, g->to);
	transcript_put_gap(f->out, f->s->session_id, g);
	end_item(f);
}

static bool events_put_gap(void *ctx, const struct evlog_gap *g)
{
	struct event_filling *f = ctx;

	if (buf_len(f->out) >= f->room)
		return false;
	write_gap(f, g);
	return true;
}

/* Without an id: what follows begins anew, and a browser that is cut off here has still read nothing of it. */
static void tell_foreign(struct event_filling *f)
{
	if (!f->s->is_foreign)
		return;
	begin_item(f, 0);
	transcript_put_gap(f->out, f->s->session_id,
			   &(struct evlog_gap){ 1, f->s->until, "incarnation" });
	end_item(f);
	f->s->is_foreign = false;
}

/* The log was deleted with its session. */
static enum http_fill put_farewell(struct event_filling *f)
{
	struct evlog_gap g = { 0 };

	buf_add_slice(f->out, buf_slice(&f->s->rest));
	if (reader_is_lost(&f->s->reader, &g.from, &g.to))
		write_gap(f, &g);
	begin_item(f, 0);
	transcript_put_deleted(f->out, f->s->session_id);
	end_item(f);
	return HTTP_FILL_END;
}

/* --- the stream ------------------------------------------------------------------------------------------- */

static void on_events_quiet(void *ctx)
{
	struct event_stream *s = ctx;

	s->is_comment_due = true;
	http_stream_wake(&s->base);
}

static void on_events_wake(void *ctx)
{
	struct event_stream *s = ctx;

	http_stream_wake(&s->base);
}

static void on_leaving(void *ctx)
{
	struct event_stream *s = ctx;
	struct event_filling f = { s, &s->rest, CONN_BATCH_BYTES };

	/* unreadable events are reported as a gap */
	(void)reader_pump(&s->reader,
			  &(struct watcher_sink){ events_put_event, events_put_gap, &f });
}

static const struct log_reader_ops reader_ops = { on_events_wake, on_leaving };

static enum http_fill wait(struct event_filling *f)
{
	struct event_stream *s = f->s;

	/* Bytes that are sent anyway make the comment unnecessary. */
	if (s->is_comment_due && !buf_len(f->out))
		buf_puts(f->out, ":\n\n");
	s->is_comment_due = false;
	if (s->is_sse)
		loop_timer_set(s->loop, &s->quiet, HTTP_COMMENT_MS, on_events_quiet, s);
	return HTTP_FILL_WAIT;
}

static enum http_fill events_fill(struct http_stream *base, struct buf *out, size_t room)
{
	struct event_stream *s = container_of(base, struct event_stream, base);
	struct event_filling f = { s, out, room };
	const struct watcher_sink sink = { events_put_event, events_put_gap, &f };

	tell_foreign(&f);
	if (!s->reader.session)
		return put_farewell(&f);
	if (reader_pump(&s->reader, &sink) < 0 || out->failed)
		return HTTP_FILL_ERROR;
	if (!s->follow && s->reader.next > s->until)
		return HTTP_FILL_END;
	if (reader_is_behind(&s->reader))
		return HTTP_FILL_MORE;
	return s->reader.finished ? HTTP_FILL_END : wait(&f);
}

static void event_stream_free(struct http_stream *base)
{
	struct event_stream *s = container_of(base, struct event_stream, base);

	loop_timer_cancel(&s->quiet);
	reader_detach(&s->reader);
	buf_done(&s->rest);
	free_each(s->session_id, s);
}

static const struct http_stream_ops ops = { .fill = events_fill, .free = event_stream_free };

/* --- the request ------------------------------------------------------------------------------------------- */

static bool wants_sse(const struct http_call *c, const struct events_args *a)
{
	if (a->format)
		return a->format == FORMAT_SSE;
	return route_accepts(c->rq->accept, "text/event-stream");
}

/* A browser that reconnects repeats the URL as it was: its header is newer. */
static bool events_take_since(const struct http_call *c, bool sse, struct events_args *a,
			      struct http_reply *ret)
{
	if (!sse || !c->rq->last_event_id.n || u64_parse(c->rq->last_event_id, &a->since))
		return true;
	http_reply_error(ret, 400, "LAST_EVENT_ID_INVALID",
			 "Last-Event-ID must be an event's number");
	return false;
}

static bool events_is_foreign(const struct session *s, const struct events_args *a)
{
	const struct slice *named = &a->incarnation;
	_cleanup_(freep) char *text = named->n ? xstrndup(named->p, named->n) : NULL;

	return session_is_foreign(s, text, a->since);
}

void http_get_events(const struct http_call *c, struct http_reply *ret)
{
	struct events_args a = { 0 };
	struct event_stream *s;
	struct session *session;
	bool sse, foreign;

	if (!http_query(c, fields, &a, ret))
		return;
	sse = wants_sse(c, &a);
	if (!events_take_since(c, sse, &a, ret))
		return;
	session = http_session(c, ret);
	if (!session)
		return;
	foreign = events_is_foreign(session, &a);
	if (!foreign && a.since > session_last_seq(session)) {
		http_reply_error(ret, 400, "SINCE_AHEAD", "the session has no such event yet");
		return;
	}
	s = new0(struct event_stream);
	s->base.ops = &ops;
	s->loop = c->ctx->loop;
	s->is_sse = sse;
	s->follow = a.follow ? a.follow == QUERY_YES : sse;
	s->until = session_last_seq(session);
	s->is_foreign = foreign && s->until > 0;
	s->session_id = xstrdup(session_id(session));
	reader_attach(&s->reader, session, foreign ? 1 : a.since + 1, &reader_ops, s);
	ret->content_type = sse ? "text/event-stream" : "application/x-ndjson";
	http_reply_header(ret, "Cache-Control:", "no-store");
	http_reply_header(ret, "Acpd-Incarnation:", store_incarnation(c->ctx->store));
	ret->stream = &s->base;
}
