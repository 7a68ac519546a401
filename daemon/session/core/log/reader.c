/*
 * reader.c - passive cursors on a session's event log, for HTTP streams and bundles.
 *
 * A reader owns nothing but its next sequence number: events stay in the log, and a slow reader
 * costs no memory. It reads only events that evlog_readable permits, so no reader sees an event
 * that evlog_rollback can still remove. Gaps of the log go to the sink in order. `leaving` is the
 * last call before the log is freed.
 */
#include "session/core/log/reader.h"

#include "session/core/session_internal.h"

void reader_attach(struct log_reader *r, struct session *s, uint64_t from,
		   const struct log_reader_ops *ops, void *ctx)
{
	*r = (struct log_reader){ .session = s, .next = from ? from : 1, .ops = ops, .ctx = ctx };
	r->finished = s->store->stopping && !s->store->stopped;
	list_add_tail(&s->log.readers, &r->link);
}

void reader_detach(struct log_reader *r)
{
	if (r->session)
		list_del(&r->link);
	r->session = NULL;
}

bool reader_behind(const struct log_reader *r)
{
	return r->session && r->next <= evlog_readable(&r->session->log.events);
}

bool reader_lost(const struct log_reader *r, uint64_t *from, uint64_t *to)
{
	*from = r->next;
	*to = r->last;
	/* Events up to `last` existed when the session was deleted. */
	return !r->session && r->next <= r->last;
}

struct reader_pumping {
	struct log_reader *r;
	const struct watcher_sink *sink;
};

static bool reader_pump_event(void *ctx, const struct evlog_entry *e)
{
	struct reader_pumping *o = ctx;

	if (e->seq > evlog_readable(&o->r->session->log.events) || !o->sink->event(o->sink->ctx, e))
		return false;
	o->r->next = e->seq + 1;
	return true;
}

int reader_pump(struct log_reader *r, const struct watcher_sink *sink)
{
	struct reader_pumping o = { r, sink };
	struct evlog_gap g;
	struct evlog *l;
	int ret;

	if (r->session)
		evlog_flush_for_reader(
			&r->session->log.events); /* nothing goes out that is not in it */
	if (!reader_behind(r))
		return 0;
	l = &r->session->log.events;
	/* Gaps and runs of events alternate. Each gap is reported at its place in the order. */
	do {
		if (evlog_gap(l, r->next, &g)) {
			if (!sink->gap(sink->ctx, &g))
				return 0;
			r->next = g.to + 1;
		}
		ret = evlog_read(l, r->next, reader_pump_event, &o);
	} while (ret == 0 && evlog_gap(l, r->next, &g));
	/* A client can acknowledge what it has got from a stream, too. */
	event_handed(r->session, r->next);
	return ret;
}

void readers_wake(struct session *s)
{
	list_each(r, &s->log.readers, struct log_reader, link)
		r->ops->wake(r->ctx);
}

void readers_finish(struct session *s)
{
	list_each(r, &s->log.readers, struct log_reader, link) {
		r->finished = true;
		r->ops->wake(r->ctx);
	}
}

void readers_drop(struct session *s)
{
	while (!list_empty(&s->log.readers)) {
		struct log_reader *r = list_first(&s->log.readers, struct log_reader, link);

		/* While r is attached: the owner can still pump it here. */
		r->ops->leaving(r->ctx);
		list_del(&r->link);
		r->last = s->log.events.last;
		r->session = NULL;
		/* After session is NULL: the owner reads from reader_lost which events it did not get. */
		r->ops->wake(r->ctx);
	}
}
