/*
 * cursors.c - who follows the event log of a session: watchers, one for each connection, of which the newest drives the
 * session, and passive readers, for HTTP streams and bundles.
 *
 * Both own nothing but their next sequence number: events stay in the log, and a slow one costs no memory. They read
 * only events that evlog_readable permits, so none of them sees an event that evlog_rollback can still remove. Gaps of
 * the log go to the sink in order. `leaving` is a reader's last call before the log is freed.
 */
#include "session/core/session_internal.h"

#include "base/limits.h"
#include "session/core/log/reader.h"
#include "session/core/session_part.h"

/* A client has had the events before next. */
static void event_handed(struct session *s, uint64_t next)
{
	s->log.handed = MAX(s->log.handed, next - 1);
}

struct watcher *session_driver(struct session *s)
{
	return list_empty(&s->watchers) ? NULL : list_entry(s->watchers.prev, struct watcher, link);
}

void session_wake(struct session *s)
{
	/* Only a notice: each client reads at its own pace, by watcher_pump. */
	list_each(w, &s->watchers, struct watcher, link)
		w->ops->wake(w->ctx);
	list_each(o, &s->observers, struct watcher, link)
		o->ops->wake(o->ctx);
	list_each(r, &s->log.readers, struct log_reader, link)
		r->ops->wake(r->ctx);
}

static void unlink_watcher(struct watcher *w)
{
	struct session *s = w->session;

	list_del(&w->link);
	w->session = NULL;
	PARTS_CALL(driver_gone, s, w);
}

static void fence(struct watcher *w, const char *reason)
{
	session_log(w->session, "client detached", "reason", reason, NULL);
	PARTS_CALL(driver_mute, w->session, w);
	unlink_watcher(w);
	w->ops->detached(w->ctx, reason);
}

void session_detach_all(struct session *s, const char *reason)
{
	while (!list_empty(&s->watchers))
		fence(list_first(&s->watchers, struct watcher, link), reason);
}

void session_drop_observers(struct session *s)
{
	list_drain(w, &s->observers, struct watcher, link) {
		unlink_watcher(w);
		w->ops->detached(w->ctx, "deleted");
	}
}

/* The same connection again. */
static void leave_before(struct watcher *w)
{
	if (w->session)
		PARTS_CALL(driver_mute, w->session, w);
	watcher_detach(w);
}

void watcher_observe(struct watcher *w, struct session *s, uint64_t from)
{
	leave_before(w);
	w->session = s;
	w->observes = true;
	w->next = from ? from : 1;
	w->live_from = s->log.events.last + 1;
	list_add_tail(&s->observers, &w->link);
}

void watcher_attach(struct watcher *w, struct session *s, uint64_t from)
{
	leave_before(w);
	w->observes = false;
	/* A session has one driver at a time: the newest client takes over. */
	session_detach_all(s, "taken_over");
	/* The session has a driver again: its turns are not cancelled. */
	loop_timer_cancel(&s->detach_timer);
	w->session = s;
	w->next = from ? from : 1;
	event_handed(s, w->next);
	/* Events up to here are replayed to the client. Later ones are live: its own prompts are left out. */
	w->live_from = s->log.events.last + 1;
	session_log(s, "client attached", "from", NUMBER_TEXT(w->next), NULL);
	list_add_tail(&s->watchers, &w->link);
	session_advance(s);
}

void watcher_ready(struct watcher *w)
{
	if (w->session)
		PARTS_CALL(driver_ready, w->session, w);
}

void watcher_detach(struct watcher *w)
{
	struct session *s = w->session;

	if (!s)
		return;
	unlink_watcher(w);
	/* Observers do not drive: nothing depends on them. */
	if (w->observes)
		return;
	session_log(s, "client left", NULL);
	session_advance(s);
	if (s->when_detached == DETACHED_CANCEL && list_empty(&s->watchers))
		loop_timer_set(s->store->loop, &s->detach_timer, DETACH_CANCEL_MS,
			       session_cancel_undriven, s);
}

uint64_t watcher_backlog(const struct watcher *w)
{
	return w->session ? evlog_behind(&w->session->log.events, w->next) : 0;
}

bool watcher_is_behind(const struct watcher *w)
{
	return w->session && w->next <= evlog_readable(&w->session->log.events);
}

bool watcher_waits(const struct watcher *w)
{
	return w->session && w->session->log.events.large;
}

void watcher_settle(const struct watcher *w)
{
	if (w->session)
		evlog_flush(&w->session->log.events);
}

/* --- readers -------------------------------------------------------------------------------------------- */

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

bool reader_is_behind(const struct log_reader *r)
{
	return r->session && r->next <= evlog_readable(&r->session->log.events);
}

bool reader_is_lost(const struct log_reader *r, uint64_t *from, uint64_t *to)
{
	*from = r->next;
	*to = r->last;
	/* Events up to `last` existed when the session was deleted. */
	return !r->session && r->next <= r->last;
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
	list_drain(r, &s->log.readers, struct log_reader, link) {
		/* While r is attached: the owner can still pump it here. */
		r->ops->leaving(r->ctx);
		list_del(&r->link);
		r->last = s->log.events.last;
		r->session = NULL;
		/* After session is NULL: the owner reads from reader_is_lost which events it did not get. */
		r->ops->wake(r->ctx);
	}
}

/* --- what they get -------------------------------------------------------------------------------------- */

/* A cursor on its way through the log. */
struct log_pumping {
	struct session *session;
	uint64_t *next;
	const struct watcher *watcher; /* NULL: a reader, which sees all events */
	const struct watcher_sink *sink;
};

static bool meant_for(const struct watcher *w, const struct evlog_entry *e)
{
	const struct event_kind_row *row = event_kind_row(e->kind);

	/* Not sent, but passed: the cursor moves on, and the client sees no gap. */
	if ((row->needs & w->client) != row->needs)
		return false;
	if (e->seq < w->live_from) /* replay: everything but what is only news */
		return !(row->flags & EVENT_F_LIVE);
	return !e->origin || e->origin != w->origin;
}

static bool pump_event(void *ctx, const struct evlog_entry *e)
{
	const struct log_pumping *o = ctx;

	/* Memory has events that the journal does not have yet, and that a rollback can remove. */
	if (e->seq > evlog_readable(&o->session->log.events))
		return false;
	if ((!o->watcher || meant_for(o->watcher, e)) && !o->sink->event(o->sink->ctx, e))
		return false;
	*o->next = e->seq + 1;
	return true;
}

/* max: bytes of large events for which the journal is read. */
static int pump_log(struct log_pumping *o, size_t max)
{
	struct evlog *l = &o->session->log.events;
	struct evlog_gap g;
	int r;

	/* Gaps and runs of events alternate. Each gap is reported at its place in the order. */
	do {
		if (evlog_gap(l, *o->next, &g)) {
			/* The sink is full: the gap is reported at the next call. */
			if (!o->sink->gap(o->sink->ctx, &g))
				return 0;
			*o->next = g.to + 1;
		}
		r = evlog_read_some(l, *o->next, max, pump_event, o);
	} while (r == 0 && evlog_gap(l, *o->next, &g));
	/* What the driver and a client of a stream have had may be given up. */
	if (!o->watcher || !o->watcher->observes)
		event_handed(o->session, *o->next);
	return r;
}

/* There is something to read; what goes out is in the journal. */
static bool log_is_ahead(struct session *s, uint64_t next)
{
	if (!s)
		return false;
	evlog_flush_for_reader(&s->log.events);
	return next <= evlog_readable(&s->log.events);
}

int watcher_pump(struct watcher *w, const struct watcher_sink *sink)
{
	struct log_pumping o = { w->session, &w->next, w, sink };

	return log_is_ahead(w->session, w->next) ? pump_log(&o, CONN_BATCH_BYTES) : 0;
}

int reader_pump(struct log_reader *r, const struct watcher_sink *sink)
{
	struct log_pumping o = { r->session, &r->next, NULL, sink };

	return log_is_ahead(r->session, r->next) ? pump_log(&o, SIZE_MAX) : 0;
}
